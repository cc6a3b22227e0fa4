#include "server/embedded.h"

#include <string.h>

const EmbeddedFile *embedded_find(const char *path)
{
    for (const EmbeddedFile *file = embedded_file; file->path; file++)
        if (strcmp(file->path, path) == 0)
            return file;
    return NULL;
}
