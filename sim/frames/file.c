#include "frames/codec.h"

#include <string.h>

/* A walk over the good records of a file. */
typedef struct Walk {
    Bytes file;
    size_t offset;
    FrameRecord record;
} Walk;

static bool walk_next(Walk *walk)
{
    Error err = {0};
    if (frame_record_parse(bytes_from(walk->file, walk->offset), &walk->record, &err) ||
        walk->record.size == 0)
        return false;
    walk->offset += walk->record.size;
    return true;
}

size_t frames_cut(Bytes file)
{
    Walk walk = {.file = file};

    if (!walk_next(&walk) || walk.record.type != RECORD_HEADER)
        return 0;
    while (walk_next(&walk))
        continue;
    return walk.offset;
}

static bool is_key_start(const Walk *walk, int last_key)
{
    return record_has_channel(&walk->record) && (walk->record.flags & FRAME_FLAG_KEY) &&
           walk->record.frame > last_key;
}

static int count_keys(Bytes file)
{
    Walk walk = {.file = file};
    int last = -1;
    int count = 0;

    while (walk_next(&walk))
        if (is_key_start(&walk, last)) {
            last = walk.record.frame;
            count++;
        }
    return count;
}

static void take_end(const FrameRecord *record, FrameIndex *out)
{
    out->has_end = record->payload.size >= 8;
    if (out->has_end)
        out->end = record->payload.data[4] == FRAMES_COMPLETE ? FRAMES_COMPLETE
                   : record->payload.data[4] == FRAMES_CUT    ? FRAMES_CUT
                                                              : FRAMES_STOPPED;
}

/* Walks the records behind the header. A frame counts when all its channels are there. */
static void fill_index(Walk *walk, const FrameHeader *header, FrameKey *key, FrameIndex *out)
{
    int last_key = -1;
    int have = 0;
    int next = header->first_frame;

    while (walk_next(walk)) {
        const FrameRecord *record = &walk->record;

        if (is_key_start(walk, last_key)) {
            last_key = record->frame;
            key[out->key_count++] = (FrameKey){last_key, walk->offset - record->size};
        }
        if (record_has_channel(record) && record->frame == next &&
            ++have == header->channel_count) {
            have = 0;
            next++;
        } else if (record->type == RECORD_MEASURES) {
            out->measures = record->payload;
        } else if (record->type == RECORD_END) {
            take_end(record, out);
        }
        out->size = walk->offset;
    }
    out->frame_count = next - header->first_frame;
}

Status frames_index(Bytes file, Arena *arena, FrameIndex *out, Error *err)
{
    Walk walk = {.file = file};
    FrameHeader header;
    const uint32_t *id;

    if (!walk_next(&walk) || walk.record.type != RECORD_HEADER)
        return error_set(err, STATUS_INVALID, "not a file of baked frames: no header first");
    size_t mark = arena_mark(arena);
    if (header_parse(walk.record.payload, arena, &header, &id, err))
        return err->status;
    arena_rewind(arena, mark);

    int key_count = count_keys(file);
    FrameKey *key = arena_array(arena, FrameKey, key_count);
    if (!key)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d keys", key_count);
    FrameIndex index = {.size = walk.offset, .header_size = walk.offset, .key = key};
    fill_index(&walk, &header, key, &index);
    *out = index;
    return STATUS_OK;
}

const FrameKey *frame_index_find(const FrameIndex *index, int frame)
{
    int low = 0, high = index->key_count;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (index->key[middle].frame <= frame)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &index->key[low - 1] : NULL;
}

Status frame_file_open(Bytes bytes, const bool *wanted, Arena *arena, FrameFile *out, Error *err)
{
    FrameFile file = {.bytes = bytes};
    FrameEvent event;

    if (frames_index(bytes, arena, &file.index, err) ||
        frame_reader_open(wanted, arena, &file.reader, err) ||
        frame_reader_next(file.reader, bytes, &file.offset, &event, err))
        return err->status;
    file.header = event.header;
    file.next = file.header->first_frame;
    *out = file;
    return STATUS_OK;
}

Status frame_file_read(FrameFile *file, int frame, FrameData *out, Error *err)
{
    int first = file->header->first_frame;
    const FrameKey *key = frame_index_find(&file->index, frame);
    FrameEvent event = {.kind = FRAME_EVENT_NONE};

    if (frame < first || frame - first >= file->index.frame_count || !key)
        return error_set(err, STATUS_NOT_FOUND, "frame %d is not among %d from %d on", frame,
                         file->index.frame_count, first);
    if (frame < file->next || key->frame > file->next) {
        frame_reader_seek(file->reader, key->frame);
        file->offset = key->offset;
        file->next = key->frame;
    }
    while (event.kind != FRAME_EVENT_FRAME || event.data.frame != frame) {
        Bytes rest = bytes_from((Bytes){file->bytes.data, file->index.size}, file->offset);
        size_t used = 0;

        if (frame_reader_next(file->reader, rest, &used, &event, err))
            return error_context(err, "at byte %zu", file->offset);
        if (used == 0)
            return error_set(err, STATUS_INVALID, "frame %d is cut off", frame);
        file->offset += used;
        if (event.kind == FRAME_EVENT_FRAME)
            file->next = event.data.frame + 1;
    }
    *out = event.data;
    return STATUS_OK;
}
