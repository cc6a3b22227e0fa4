/* Any bytes as a message of a job's process, whose memory may be damaged. */
#include "server/jobs/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_SIZE = 16 << 20 };

/* Every text that a reader gives can be read to its end. */
static size_t length_of(const Measures *measures)
{
    size_t length = 0;

    for (int i = 0; i < measures->row_count; i++)
        length += strlen(measures->row[i].name) + strlen(measures->row[i].target) +
                  strlen(measures->row[i].unit);
    return length;
}

static void read_as(WireKind kind, Bytes payload, Arena *arena)
{
    Error err = {0};
    Measures measures = {0};
    RunProgress progress;
    RunPiece piece;
    WireOrder order;
    WireEnd end;
    const char *key = "";
    int frame_count = 0;

    switch (kind) {
    case WIRE_ORDER:
        if (!wire_read_order(payload, arena, &order, &err) && strlen(order.model.id) > payload.size)
            abort();
        break;
    case WIRE_STARTED:
        if (!wire_read_started(payload, arena, &frame_count, &key, &err) &&
            strlen(key) > payload.size)
            abort();
        break;
    case WIRE_PIECE:
        if (!wire_read_piece(payload, &piece, &err) && piece.bytes.size > payload.size)
            abort();
        break;
    case WIRE_PROGRESS:
        if (!wire_read_progress(payload, arena, &progress, &measures, &err) &&
            length_of(&measures) > payload.size)
            abort();
        break;
    case WIRE_END:
        if (wire_read_end(payload, arena, &end, &err) == STATUS_OK &&
            length_of(&end.result.measures) > payload.size)
            abort();
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Error err = {0};
    Arena arena;

    if (size == 0 || arena_create(&arena, ARENA_SIZE, &err))
        return 0;
    read_as((WireKind)(data[0] % (WIRE_END + 1)), (Bytes){data + 1, size - 1}, &arena);
    arena_destroy(&arena);
    return 0;
}
