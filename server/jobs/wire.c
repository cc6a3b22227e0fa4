#include "server/jobs/wire.h"

#include <math.h>
#include <string.h>

/* --- writing --- */

static size_t begin(WireKind kind, ByteWriter *out)
{
    write_u8(out, (uint8_t)kind);
    write_u32(out, 0);
    return out->size;
}

/* The size of what has been written since `start`, into its place. */
static void finish(size_t start, ByteWriter *out)
{
    size_t size = out->size - start;

    if (out->err->status)
        return;
    for (int i = 0; i < 4; i++)
        out->data[start - 4 + (size_t)i] = (uint8_t)(size >> (8 * i));
}

static void write_blob(Bytes bytes, ByteWriter *out)
{
    write_u32(out, (uint32_t)bytes.size);
    if (bytes.size)
        write_bytes(out, bytes.data, bytes.size);
}

static void write_text(const char *text, ByteWriter *out)
{
    write_blob((Bytes){(const uint8_t *)text, strlen(text)}, out);
}

static void write_f64(double value, ByteWriter *out)
{
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof bits);
    write_u64(out, bits);
}

static void write_int(int value, ByteWriter *out)
{
    write_u32(out, (uint32_t)value);
}

static void write_asset(const WireAsset *asset, ByteWriter *out)
{
    write_text(asset->id, out);
    write_text(asset->sha256, out);
    write_text(asset->name, out);
    write_f64(asset->unit, out);
    write_u8(out, asset->is_z_up);
}

/* Rows alone: series and histograms are in the JSON of the end. */
static void write_rows(const Measures *measures, ByteWriter *out)
{
    write_int(measures->row_count, out);
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];

        write_text(row->name, out);
        write_int(row->simulation, out);
        write_text(row->target, out);
        write_f64(row->is_missing ? 0 : row->value, out);
        write_u8(out, row->is_missing);
        write_text(row->unit, out);
    }
}

void wire_write_order(const WireOrder *order, ByteWriter *out)
{
    size_t start = begin(WIRE_ORDER, out);

    write_blob(order->body, out);
    write_int(order->limits.frames, out);
    write_u64(out, order->limits.memory);
    write_u64(out, (uint64_t)order->asset_limits.file_size);
    write_int(order->asset_limits.joints, out);
    write_int(order->asset_limits.vertices, out);
    write_asset(&order->model, out);
    write_u8(out, order->has_animation);
    if (order->has_animation)
        write_asset(&order->animation, out);
    finish(start, out);
}

void wire_write_started(int frame_count, const char *key, ByteWriter *out)
{
    size_t start = begin(WIRE_STARTED, out);

    write_int(frame_count, out);
    write_text(key, out);
    finish(start, out);
}

void wire_write_piece(const RunPiece *piece, ByteWriter *out)
{
    size_t start = begin(WIRE_PIECE, out);

    write_int(piece->frame, out);
    write_u8(out, piece->is_key);
    write_blob(piece->bytes, out);
    finish(start, out);
}

void wire_write_progress(const RunProgress *progress, ByteWriter *out)
{
    size_t start = begin(WIRE_PROGRESS, out);

    write_f64(progress->progress, out);
    write_int(progress->frame, out);
    write_int(progress->frame_count, out);
    write_f64(progress->seconds, out);
    write_f64(progress->simulated, out);
    write_u8(out, progress->measures != NULL);
    if (progress->measures)
        write_rows(progress->measures, out);
    finish(start, out);
}

void wire_write_end(const WireEnd *end, ByteWriter *out)
{
    const RunResult *result = &end->result;
    size_t start = begin(WIRE_END, out);

    write_u8(out, (uint8_t)end->failure.status);
    write_text(end->failure.message, out);
    write_int(result->frames, out);
    write_u64(out, (uint64_t)result->bytes);
    write_text(result->sha256, out);
    write_f64(result->seconds, out);
    write_f64(result->simulated, out);
    write_u64(out, result->memory);
    write_u8(out, result->has_gates);
    write_u8(out, result->passed);
    write_text(result->reason, out);
    write_rows(&result->measures, out);
    write_blob(end->measures, out);
    finish(start, out);
}

/* --- reading --- */

static Bytes read_blob(ByteReader *reader, const char *what)
{
    uint32_t size = read_u32(reader, what);

    return read_bytes(reader, size, what);
}

static const char *read_text(ByteReader *reader, Arena *arena, const char *what)
{
    Bytes bytes = read_blob(reader, what);
    const char *text = reader->err->status ? NULL : arena_text(arena, bytes.data, bytes.size);

    if (!text && !reader->err->status)
        error_set(reader->err, STATUS_NO_MEMORY, "no room for a message");
    return text ? text : "";
}

/* Into an array of `size`; longer ones are cut. */
static void copy_text(ByteReader *reader, char *out, size_t size, const char *what)
{
    Bytes bytes = read_blob(reader, what);
    size_t length = bytes.size < size ? bytes.size : size - 1;

    if (reader->err->status)
        length = 0;
    if (length)
        memcpy(out, bytes.data, length);
    out[length] = '\0';
}

static double read_f64(ByteReader *reader, const char *what)
{
    uint64_t bits = read_u64(reader, what);
    double value = 0;

    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        error_set(reader->err, STATUS_INVALID, "%s is not finite", what);
        return 0;
    }
    return value;
}

static int read_int(ByteReader *reader, const char *what)
{
    return (int)read_u32(reader, what);
}

static WireAsset read_asset(ByteReader *reader, Arena *arena)
{
    WireAsset asset = {0};

    asset.id = read_text(reader, arena, "a file's id");
    asset.sha256 = read_text(reader, arena, "a file's hash");
    asset.name = read_text(reader, arena, "a file's name");
    asset.unit = read_f64(reader, "a file's unit");
    asset.is_z_up = read_u8(reader, "a file's axis") != 0;
    return asset;
}

static void read_rows(ByteReader *reader, Arena *arena, Measures *out)
{
    enum { ROW_MIN = 25 }; // bytes of a row without its texts
    uint32_t count = read_u32(reader, "the measures");

    *out = (Measures){0};
    if (count > reader->bytes.size / ROW_MIN)
        error_set(reader->err, STATUS_INVALID, "%u measures are more than the message", count);
    if (reader->err->status)
        return;
    MeasureRow *row = arena_array(arena, MeasureRow, count);
    if (!row) {
        error_set(reader->err, STATUS_NO_MEMORY, "no room for measures");
        return;
    }
    for (uint32_t i = 0; i < count && !reader->err->status; i++) {
        row[i].name = read_text(reader, arena, "a measure's name");
        row[i].simulation = read_int(reader, "a measure's simulation");
        row[i].target = read_text(reader, arena, "a measure's target");
        row[i].value = read_f64(reader, "a measure's value");
        row[i].is_missing = read_u8(reader, "a measure's value") != 0;
        row[i].unit = read_text(reader, arena, "a measure's unit");
    }
    out->row = row;
    out->row_count = reader->err->status ? 0 : (int)count;
}

/* Nothing may be left over. */
static Status settle(const ByteReader *reader)
{
    if (!reader->err->status && reader->offset != reader->bytes.size)
        error_set(reader->err, STATUS_INVALID, "a message has %zu bytes too many",
                  reader->bytes.size - reader->offset);
    return reader->err->status;
}

Status wire_read_head(const uint8_t *head, WireKind *out_kind, size_t *out_size, Error *err)
{
    ByteReader reader = byte_reader((Bytes){head, WIRE_HEAD}, err);
    uint8_t kind = read_u8(&reader, "a message");
    uint32_t size = read_u32(&reader, "a message");

    if (kind > WIRE_END || size > WIRE_MAX)
        return error_set(err, STATUS_INVALID, "a message of kind %u and %u bytes", kind, size);
    *out_kind = (WireKind)kind;
    *out_size = size;
    return STATUS_OK;
}

Status wire_read_order(Bytes payload, Arena *arena, WireOrder *out, Error *err)
{
    ByteReader reader = byte_reader(payload, err);

    *out = (WireOrder){.limits = job_limits_default(), .asset_limits = asset_limits_default()};
    out->body = read_blob(&reader, "the job");
    out->limits.frames = read_int(&reader, "the limits");
    out->limits.memory = read_u64(&reader, "the limits");
    out->asset_limits.file_size = (int64_t)read_u64(&reader, "the limits");
    out->asset_limits.joints = read_int(&reader, "the limits");
    out->asset_limits.vertices = read_int(&reader, "the limits");
    out->model = read_asset(&reader, arena);
    out->has_animation = read_u8(&reader, "the animation") != 0;
    if (out->has_animation)
        out->animation = read_asset(&reader, arena);
    return settle(&reader);
}

Status wire_read_started(Bytes payload, Arena *arena, int *out_frame_count, const char **out_key,
                         Error *err)
{
    ByteReader reader = byte_reader(payload, err);

    *out_frame_count = read_int(&reader, "the frame count");
    *out_key = read_text(&reader, arena, "the key");
    return settle(&reader);
}

Status wire_read_piece(Bytes payload, RunPiece *out, Error *err)
{
    ByteReader reader = byte_reader(payload, err);

    out->frame = read_int(&reader, "a frame");
    out->is_key = read_u8(&reader, "a frame") != 0;
    out->bytes = read_blob(&reader, "a frame");
    return settle(&reader);
}

Status wire_read_progress(Bytes payload, Arena *arena, RunProgress *out, Measures *measures,
                          Error *err)
{
    ByteReader reader = byte_reader(payload, err);

    *out = (RunProgress){0};
    out->progress = read_f64(&reader, "the progress");
    out->frame = read_int(&reader, "the progress");
    out->frame_count = read_int(&reader, "the progress");
    out->seconds = read_f64(&reader, "the progress");
    out->simulated = read_f64(&reader, "the progress");
    if (read_u8(&reader, "the progress")) {
        read_rows(&reader, arena, measures);
        out->measures = measures;
    }
    return settle(&reader);
}

Status wire_read_end(Bytes payload, Arena *arena, WireEnd *out, Error *err)
{
    ByteReader reader = byte_reader(payload, err);
    RunResult *result = &out->result;

    *out = (WireEnd){0};
    uint8_t status = read_u8(&reader, "the end");
    copy_text(&reader, out->failure.message, sizeof out->failure.message, "the failure");
    result->frames = read_int(&reader, "the end");
    result->bytes = (int64_t)read_u64(&reader, "the end");
    copy_text(&reader, result->sha256, sizeof result->sha256, "the hash");
    result->seconds = read_f64(&reader, "the end");
    result->simulated = read_f64(&reader, "the end");
    result->memory = read_u64(&reader, "the end");
    result->has_gates = read_u8(&reader, "the gates") != 0;
    result->passed = read_u8(&reader, "the gates") != 0;
    copy_text(&reader, result->reason, sizeof result->reason, "the reason");
    read_rows(&reader, arena, &result->measures);
    out->measures = read_blob(&reader, "the measures");
    if (status >= STATUS_COUNT)
        error_set(err, STATUS_INVALID, "status %u", status);
    else
        out->failure.status = (Status)status;
    return settle(&reader);
}
