#include "server/http/frame_stream.h"

#include "server/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WINDOW = 16 << 10, /* bytes read at once for a filter; more where one record is larger */
    PIECE_MAX = FRAME_RECORD_MAX + WINDOW,
    FILTER_ARENA = 64 << 20,
    READER_ARENA = 512 << 20,
    INDEX_ARENA = 64 << 20,
    TURN = 32 << 10 /* bytes after which others that wait for their turn come first */
};

struct FrameStream {
    App *app;
    char job[STORE_ID_SIZE];
    Segment *segment; /* NULL: nothing more comes */
    Waiter waiter;
    size_t turn; /* bytes sent since its turn began */
    SegmentCursor cursor;
    int file; /* -1 before there is one */
    int file_attempt;
    int64_t end;      /* of what may be read */
    int64_t key_skip; /* where to go on behind the header; 0: right there */
    int first;        /* frame it begins with */
    bool is_done;
    /* of filtered and text streams */
    FrameQuery query;
    FrameFilter *filter;
    FrameReader *reader;
    Arena filter_arena, reader_arena;
    ByteWriter input, records;
    Text piece; /* what goes out */
    size_t sent;
    Error err;
};

static bool is_filtered(const FrameQuery *query)
{
    return query->is_text || query->has_channels || query->from > 0 || query->to >= 0;
}

static Status open_file(FrameStream *stream, int attempt, Error *err)
{
    int file = -1;
    int64_t size = 0;

    if (result_open(stream->app->blobs, stream->job, attempt, "frames", &file, &size, err))
        return err->status;
    if (stream->file >= 0)
        (void)close(stream->file);
    stream->file = file;
    stream->file_attempt = attempt;
    if (stream->end > size)
        stream->end = size;
    return STATUS_OK;
}

/* The last key at or before the frame asked for, among what there is. */
static Status find_key(FrameStream *stream, Error *err)
{
    Bytes bytes;
    Arena arena;
    FrameIndex index;
    Error nothing = {0};

    if (stream->query.from <= 0 || stream->file < 0 || stream->end <= 0)
        return STATUS_OK;
    if (file_map(stream->file, stream->end, &bytes, err))
        return err->status;
    if (!arena_create(&arena, INDEX_ARENA, err)) {
        // without even a header there is no key yet: the stream begins at frame 0
        if (!frames_index(bytes, &arena, &index, &nothing)) {
            const FrameKey *key = frame_index_find(&index, stream->query.from);

            stream->first = key ? key->frame : 0;
            stream->key_skip = key ? (int64_t)key->offset : 0;
        }
        arena_destroy(&arena);
    }
    file_unmap(bytes);
    return err->status;
}

static Status open_filter(FrameStream *stream, Error *err)
{
    const FrameQuery *query = &stream->query;

    if (!is_filtered(query))
        return STATUS_OK;
    stream->input = byte_writer(PIECE_MAX, &stream->err);
    stream->records = byte_writer(PIECE_MAX, &stream->err);
    if (find_key(stream, err) || arena_create(&stream->filter_arena, FILTER_ARENA, err) ||
        frame_filter_open(query->has_channels ? query->channel : NULL, stream->first, query->to,
                          &stream->filter_arena, &stream->filter, err))
        return err->status;
    if (!query->is_text)
        return STATUS_OK;
    if (arena_create(&stream->reader_arena, READER_ARENA, err) ||
        frame_reader_open(NULL, &stream->reader_arena, &stream->reader, err))
        return err->status;
    return STATUS_OK;
}

Status frame_stream_open(App *app, const Job *job, const FrameQuery *query, Segment *segment,
                         FrameStream **out, Error *err)
{
    FrameStream *stream = calloc(1, sizeof *stream);

    if (!stream) {
        segment_release(&app->segments, segment);
        return error_set(err, STATUS_NO_MEMORY, "no room for a stream");
    }
    *stream = (FrameStream){.app = app, .segment = segment, .file = -1, .query = *query};
    atomic_fetch_add(&app->streams, 1);
    stream->piece = text_open((size_t)PIECE_MAX * 4, &stream->err);
    // a job that is run again gives the same bytes again: what the attempt before has left is
    // served
    bool has_result = job->result_attempt && job->result_size > 0;
    (void)snprintf(stream->job, sizeof stream->job, "%s", has_result ? job->result_job : job->id);
    if (has_result) {
        stream->end = job->result_size;
        open_file(stream, job->result_attempt, err);
    }
    if (err->status == STATUS_NOT_FOUND && segment)
        *err = (Error){0};
    if (err->status || open_filter(stream, err)) {
        frame_stream_close(stream);
        return err->status;
    }
    *out = stream;
    return STATUS_OK;
}

int frame_stream_first(const FrameStream *stream)
{
    return stream->first;
}

void frame_stream_attach(FrameStream *stream, struct MHD_Connection *connection)
{
    stream->waiter = (Waiter){.connection = connection, .deadline_ns = INT64_MAX};
}

void frame_stream_close(void *stream_)
{
    FrameStream *stream = stream_;

    (void)waiter_arrived(&stream->waiter);
    segment_release(&stream->app->segments, stream->segment);
    if (stream->file >= 0)
        (void)close(stream->file);
    byte_writer_close(&stream->input);
    byte_writer_close(&stream->records);
    text_close(&stream->piece);
    arena_destroy(&stream->filter_arena);
    arena_destroy(&stream->reader_arena);
    atomic_fetch_sub(&stream->app->streams, 1);
    free(stream);
}

/* --- filtering --- */

/* `size` bytes of the file from the cursor into `input`. */
static Status read_window(FrameStream *stream, size_t size)
{
    size_t done = 0;

    byte_writer_clear(&stream->input);
    uint8_t *to = byte_writer_extend(&stream->input, size);
    while (to && done < size) {
        ssize_t got = pread(stream->file, to + done, size - done,
                            (off_t)(stream->cursor.offset + (int64_t)done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(&stream->err, STATUS_IO, "the file of the frames is cut off");
        done += (size_t)got;
    }
    return stream->err.status;
}

/* The filter's records as text. */
static Status add_text(FrameStream *stream)
{
    Bytes bytes = byte_writer_bytes(&stream->records);
    FrameEvent event = {.kind = FRAME_EVENT_HEADER};

    while (event.kind != FRAME_EVENT_NONE) {
        size_t used = 0;

        if (frame_reader_next(stream->reader, bytes, &used, &event, &stream->err))
            return stream->err.status;
        bytes.data += used;
        bytes.size -= used;
        if (event.kind == FRAME_EVENT_HEADER)
            frames_write_text_header(event.header, &stream->piece);
        else if (event.kind == FRAME_EVENT_FRAME && event.data.frame >= stream->query.from)
            frames_write_text_frame(event.header, &event.data, &stream->piece);
    }
    return stream->err.status;
}

static void drop_records(FrameStream *stream)
{
    byte_writer_close(&stream->input);
    byte_writer_close(&stream->records);
    stream->input = byte_writer(PIECE_MAX, &stream->err);
    stream->records = byte_writer(PIECE_MAX, &stream->err);
}

/* The next whole records through the filter into `piece`. */
static Status filter_more(FrameStream *stream)
{
    size_t left = (size_t)(stream->end - stream->cursor.offset);
    size_t window = left < WINDOW ? left : WINDOW;
    size_t used = 0;

    while (!used) {
        if (read_window(stream, window) ||
            frame_filter_add(stream->filter, byte_writer_bytes(&stream->input), &used,
                             &stream->records, &stream->err))
            return stream->err.status;
        if (!used && window == left)
            return error_set(&stream->err, STATUS_INVALID, "the frames end within a record");
        window = window * 4 < left ? window * 4 : left;
        if (window > PIECE_MAX)
            window = PIECE_MAX;
    }
    stream->cursor.offset += (int64_t)used;
    stream->is_done = frame_filter_is_done(stream->filter);
    if (stream->reader)
        add_text(stream);
    else
        text_add_bytes(&stream->piece, (const char *)stream->records.data, stream->records.size);
    drop_records(stream);
    return stream->err.status;
}

/* Behind the header, on to the key. */
static Status filter_header(FrameStream *stream)
{
    int64_t end = stream->end;
    FrameRecord record = {0};
    size_t window = end < WINDOW ? (size_t)end : WINDOW;

    while (!record.size) {
        if (read_window(stream, window) ||
            frame_record_parse(byte_writer_bytes(&stream->input), &record, &stream->err))
            return stream->err.status;
        if (!record.size && (int64_t)window == end)
            return error_set(&stream->err, STATUS_INVALID, "the frames end within their header");
        window = (int64_t)window * 4 < end ? window * 4 : (size_t)end;
    }
    stream->end = (int64_t)record.size; // this record alone, first
    filter_more(stream);
    stream->end = end;
    stream->cursor.offset = stream->key_skip;
    stream->key_skip = 0;
    return stream->err.status;
}

/* --- to the connection --- */

static ssize_t send_piece(FrameStream *stream, char *buffer, size_t size)
{
    size_t left = text_length(&stream->piece) - stream->sent;
    size_t part = left < size ? left : size;

    memcpy(buffer, text_string(&stream->piece) + stream->sent, part);
    stream->sent += part;
    stream->turn += part;
    if (stream->sent == text_length(&stream->piece)) {
        text_close(&stream->piece); // of streams that wait, buffers would add up
        stream->piece = text_open((size_t)PIECE_MAX * 4, &stream->err);
        stream->sent = 0;
    }
    return (ssize_t)part;
}

static void add_heartbeat(FrameStream *stream)
{
    ByteWriter record = byte_writer(64, &stream->err);

    if (stream->query.is_text) {
        text_add(&stream->piece, "\n");
        return;
    }
    frames_write_heartbeat(&record);
    text_add_bytes(&stream->piece, (const char *)record.data, record.size);
    byte_writer_close(&record);
}

/* At the end of what may be read: more, an end, a heartbeat, or sleep. */
static SegmentLook look(FrameStream *stream)
{
    if (!stream->segment)
        return SEGMENT_ENDED;
    SegmentLook found =
        segment_look(&stream->app->segments, stream->segment, &stream->cursor, &stream->waiter);
    if (found == SEGMENT_BEAT)
        add_heartbeat(stream);
    if (found != SEGMENT_DATA)
        return found;
    stream->end = stream->cursor.end;
    if (stream->file < 0 || stream->file_attempt != stream->cursor.attempt) {
        (void)snprintf(stream->job, sizeof stream->job, "%s", stream->segment->job);
        open_file(stream, stream->cursor.attempt, &stream->err);
    }
    return found;
}

static ssize_t send_raw(FrameStream *stream, char *buffer, size_t size)
{
    int64_t left = stream->end - stream->cursor.offset;
    size_t part = (int64_t)size < left ? size : (size_t)left;
    ssize_t got = pread(stream->file, buffer, part, (off_t)stream->cursor.offset);

    if (got <= 0) {
        error_set(&stream->err, STATUS_IO, "the file of the frames is cut off");
        return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    stream->cursor.offset += got;
    stream->turn += (size_t)got;
    return got;
}

static ssize_t fail(const FrameStream *stream)
{
    log_event(LOG_WARN, "frames.failed", "job=%s message=%s", stream->job,
              log_quote(stream->err.message).text);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

ssize_t frame_stream_read(void *stream_, uint64_t position, char *buffer, size_t size)
{
    FrameStream *stream = stream_;

    (void)position;
    if (waiter_arrived(&stream->waiter))
        stream->turn = 0;
    if (stream->turn >= TURN && waiter_yield(&stream->app->pace, &stream->waiter))
        return 0;
    for (;;) {
        if (stream->err.status)
            return fail(stream);
        if (text_length(&stream->piece) > stream->sent)
            return send_piece(stream, buffer, size);
        if (stream->is_done)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->cursor.offset < stream->end) {
            if (!stream->filter)
                return send_raw(stream, buffer, size);
            (void)(stream->key_skip ? filter_header(stream) : filter_more(stream));
            continue;
        }
        switch (look(stream)) {
        case SEGMENT_WAITING:
            return 0;
        case SEGMENT_ENDED:
        case SEGMENT_CLOSING:
            return MHD_CONTENT_READER_END_OF_STREAM;
        case SEGMENT_DATA:
        case SEGMENT_BEAT:
            break;
        }
    }
}
