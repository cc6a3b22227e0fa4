/* Model: what the fuzz targets of model files share: read any bytes under small limits, and look at
 * every part of what comes back through its summary, which must be JSON. */
#pragma once

#include "sim/assets.h"

#include <stdlib.h>

static inline void fuzz_write_summary(const Rig *rig)
{
    Error err = {0};
    Text text = text_open((size_t)1 << 26, &err);
    JsonWriter writer = json_writer(&text, 0);
    JsonDocument document = {0};

    asset_write_summary(rig, &writer);
    if (!err.status && json_open(byte_writer_bytes(&text.buffer), 64, &document, &err))
        abort();
    json_close(&document);
    text_close(&text);
}

/* What is refused says why in one line; what is read has a summary. */
static inline void fuzz_read_model(Bytes file, const AssetOptions *options)
{
    Error err = {0};
    Arena arena;
    const Rig *rig = NULL;

    if (arena_create(&arena, asset_arena_size(file.size, &options->limits), &err))
        return;
    Status status = asset_read(file, options, &arena, &rig, &err);
    if (status != err.status || (status == STATUS_OK) != (rig != NULL))
        abort();
    // the arena has room for every file within its limits
    if (status == STATUS_NO_MEMORY || (status && !err.message[0]))
        abort();
    if (rig)
        fuzz_write_summary(rig);
    arena_destroy(&arena);
}

static inline AssetOptions fuzz_model_options(void)
{
    AssetOptions options = {.limits = asset_limits_default(), .name = "fuzz"};

    options.limits.file_size = (int64_t)1 << 20;
    options.limits.vertices = 2000;
    options.limits.joints = 256;
    return options;
}
