/* Reading: what tests of file formats share: a glTF text and the bytes of its buffer, read as a
 * person's upload would be.
 *
 *     Reading reading = reading_open();
 *     reading_text(&reading, "{'asset':{'version':'2.0'}, ...}", data, sizeof data);
 *     ... reading.rig, or reading.err ...
 *     reading_close(&reading);
 *
 * Texts have single quotes where JSON has double ones; the buffer is the side file "b.bin". */
#pragma once

#include "sim/assets.h"

typedef struct Reading {
    Arena arena;
    AssetOptions options; /* may be changed before reading */
    Error err;
    const Rig *rig; /* NULL after a failure */
} Reading;

Reading reading_open(void);
void reading_close(Reading *reading);
/* Both return the status of asset_read. */
Status reading_bytes(Reading *reading, const void *file, size_t size);
Status reading_text(Reading *reading, const char *text, const void *buffer, size_t buffer_size);
/* A file of the shared test data, with the side files that it asks for. */
Status reading_file(Reading *reading, const char *name);

/* How many warnings have this code. */
int reading_warnings(const Reading *reading, const char *code);
/* The detail of the first warning with this code, "" where there is none. */
const char *reading_warning(const Reading *reading, const char *code);
