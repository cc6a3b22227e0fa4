#include "formats/glb.h"

bool glb_matches(Bytes file)
{
    return file.size >= 4 && file.data[0] == 'g' && file.data[1] == 'l' && file.data[2] == 'T' &&
           file.data[3] == 'F';
}

/* Magic, version and length. A file may be longer than it says (padding by transports is common and
 * harmless), never shorter. */
static void read_header(ByteReader *reader)
{
    Error *err = reader->err;
    uint32_t magic = read_u32(reader, "magic");
    uint32_t version = read_u32(reader, "version");
    uint32_t length = read_u32(reader, "length");

    if (err->status)
        return;
    if (magic != GLB_MAGIC)
        error_set(err, STATUS_INVALID, "not a GLB file");
    else if (version != 2)
        error_set(err, STATUS_INVALID,
                  "the container has version %u, only 2 is read: export it as glTF 2.0", version);
    else if (length > reader->bytes.size)
        error_set(err, STATUS_INVALID, "the file is cut off: it says %u bytes and has %zu", length,
                  reader->bytes.size);
    else if (length < reader->offset)
        error_set(err, STATUS_INVALID, "the length at byte 8 is %u, less than the header", length);
    else
        reader->bytes.size = length;
}

Status glb_parse(Bytes file, Glb *out, Error *err)
{
    ByteReader reader = byte_reader(file, err);
    Glb glb = {0};

    read_header(&reader);
    while (!err->status && reader.offset < reader.bytes.size) {
        uint32_t size = read_u32(&reader, "chunk length");
        uint32_t type = read_u32(&reader, "chunk type");
        Bytes chunk = read_bytes(&reader, size, "chunk");

        // chunks of other types are extensions: skip them
        if (type == GLB_CHUNK_JSON && !glb.json.size)
            glb.json = chunk;
        else if (type == GLB_CHUNK_BIN && !glb.binary.size)
            glb.binary = chunk;
    }
    if (!err->status && !glb.json.size)
        error_set(err, STATUS_INVALID, "the file has no JSON chunk");
    if (err->status)
        return error_context(err, "glb");
    *out = glb;
    return STATUS_OK;
}
