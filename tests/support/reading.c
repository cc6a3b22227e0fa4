#include "support/reading.h"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

Reading reading_open(void)
{
    AssetOptions options = {.limits = asset_limits_default(), .name = "test"};

    return (Reading){.arena = test_arena(asset_arena_size(1 << 20, &options.limits)),
                     .options = options};
}

void reading_close(Reading *reading)
{
    arena_destroy(&reading->arena);
}

Status reading_bytes(Reading *reading, const void *file, size_t size)
{
    reading->err = (Error){0};
    reading->rig = NULL;
    Status status = asset_read((Bytes){file, size}, &reading->options, &reading->arena,
                               &reading->rig, &reading->err);

    CHECK_INT(status, ==, reading->err.status);
    CHECK((status == STATUS_OK) == (reading->rig != NULL));
    return status;
}

Status reading_text(Reading *reading, const char *text, const void *buffer, size_t buffer_size)
{
    char *json = arena_text(&reading->arena, text, strlen(text));
    SideFile file = {"b.bin", {buffer, buffer_size}};

    CHECK(json != NULL);
    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (buffer) {
        reading->options.side_file = &file;
        reading->options.side_file_count = 1;
    }
    Status status = reading_bytes(reading, json, strlen(json));
    reading->options.side_file = NULL;
    reading->options.side_file_count = 0;
    return status;
}

Status reading_file(Reading *reading, const char *name)
{
    enum { MAX_SIDE_FILES = 8 };
    const char *side_name[MAX_SIDE_FILES];
    SideFile side[MAX_SIDE_FILES];
    char path[1024];
    Bytes file = test_read_file(test_data_path(name));
    int count =
        asset_side_names(file, &reading->options, &reading->arena, side_name, MAX_SIDE_FILES);

    for (int i = 0; i < count; i++) {
        const char *slash = strrchr(name, '/');
        (void)snprintf(path, sizeof path, "%.*s%s", (int)(slash ? slash + 1 - name : 0), name,
                       side_name[i]);
        side[i] = (SideFile){side_name[i], test_read_file(test_data_path(path))};
    }
    reading->options.side_file = side;
    reading->options.side_file_count = count;
    Status status = reading_bytes(reading, file.data, file.size);
    for (int i = 0; i < count; i++)
        test_close_file(side[i].bytes);
    reading->options.side_file = NULL;
    reading->options.side_file_count = 0;
    test_close_file(file);
    return status;
}

int reading_warnings(const Reading *reading, const char *code)
{
    int count = 0;

    for (int i = 0; reading->rig && i < reading->rig->warnings.count; i++)
        count += strcmp(reading->rig->warnings.warning[i].code, code) == 0;
    return count;
}

const char *reading_warning(const Reading *reading, const char *code)
{
    for (int i = 0; reading->rig && i < reading->rig->warnings.count; i++)
        if (strcmp(reading->rig->warnings.warning[i].code, code) == 0)
            return reading->rig->warnings.warning[i].detail;
    return "";
}
