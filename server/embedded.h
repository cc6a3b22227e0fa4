/* Embedded: the files of schema/ and server/page/ that the binary carries, by their path in the
 * tree. Constant data; the table ends with a NULL path. */
#pragma once

#include <stddef.h>

typedef struct EmbeddedFile {
    const char *path;          /* "schema/openapi.json" */
    const unsigned char *data; /* followed by a zero that is not counted */
    size_t size;
} EmbeddedFile;

extern const EmbeddedFile embedded_file[];

/* NULL when there is no such file. */
const EmbeddedFile *embedded_find(const char *path);
