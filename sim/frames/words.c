#include "frames/words.h"

#include <meshoptimizer.h>
#include <string.h>

enum {
    BLOCK_VERTICES = 256, /* as many as 8 KiB hold, at most 256: so it is for 4 and 8 bytes */
    GROUP = 16,
    MAX_WORDS = 4,
    MAGIC = 0xA0,
    TAIL = 32, /* bytes; the last ones are the vertex before the first */
    MAX_GROUP_SIZE = 8 + GROUP
};

/* Differences of one byte of the vertices to the ones before, small ones of either sign folded to
 * small numbers: one plane for the low and one for the high bytes of a word. */
static void fold_planes(const uint16_t *plane, uint16_t before, int count, uint8_t *low,
                        uint8_t *high)
{
    uint16_t shifted[BLOCK_VERTICES];

    shifted[0] = before;
    memcpy(shifted + 1, plane, sizeof(uint16_t) * (size_t)(count - 1));
    for (int i = 0; i < count; i++) {
        uint8_t d = (uint8_t)(plane[i] - shifted[i]);
        uint8_t e = (uint8_t)((plane[i] >> 8) - (shifted[i] >> 8));
        low[i] = (uint8_t)((uint8_t)(d << 1) ^ (uint8_t)(0 - (d >> 7)));
        high[i] = (uint8_t)((uint8_t)(e << 1) ^ (uint8_t)(0 - (e >> 7)));
    }
}

/* Sixteen values in `bits` (2 or 4) each, then a byte for every one that is too large for them. */
static uint8_t *pack_group(const uint8_t *value, int bits, uint8_t *out)
{
    uint8_t full = (uint8_t)((1 << bits) - 1);
    uint64_t packed = 0;

    for (int i = 0; i < GROUP; i++)
        packed = packed << bits | (value[i] < full ? value[i] : full);
    for (int i = 0; i < 2 * bits; i++)
        out[i] = (uint8_t)(packed >> (8 * (2 * bits - 1 - i)));
    out += 2 * bits;
    for (int i = 0; i < GROUP; i++) {
        *out = value[i];
        out += value[i] >= full;
    }
    return out;
}

/* The smallest of the four ways; the group's 2 bits in `*kind`. */
static uint8_t *encode_group(const uint8_t *value, int *kind, uint8_t *out)
{
    int any = 0, above_two = 0, above_four = 0;

    for (int i = 0; i < GROUP; i++) {
        any |= value[i];
        above_two += value[i] >= 3;
        above_four += value[i] >= 15;
    }
    int size_two = 4 + above_two, size_four = 8 + above_four;
    if (any == 0) {
        *kind = 0;
        return out;
    }
    if (size_two < 16 && size_two <= size_four) {
        *kind = 1;
        return pack_group(value, 2, out);
    }
    if (size_four < 16) {
        *kind = 2;
        return pack_group(value, 4, out);
    }
    *kind = 3;
    memcpy(out, value, GROUP);
    return out + GROUP;
}

/* One byte of a block's vertices; values behind the last vertex are zeroes. */
static uint8_t *encode_plane(uint8_t *value, int count, uint8_t *out)
{
    int groups = (count + GROUP - 1) / GROUP;
    uint8_t *header = out;
    size_t header_size = (size_t)(groups + 3) / 4;

    memset(value + count, 0, (size_t)(groups * GROUP - count));
    memset(header, 0, header_size);
    out += header_size;
    for (int g = 0; g < groups; g++) {
        int kind;
        out = encode_group(value + (size_t)g * GROUP, &kind, out);
        header[g / 4] = (uint8_t)(header[g / 4] | kind << (g % 4 * 2));
    }
    return out;
}

static uint8_t *encode_block(const uint16_t *word, const uint16_t *before, int count, int words,
                             uint8_t *out)
{
    uint16_t plane[BLOCK_VERTICES];
    uint8_t low[BLOCK_VERTICES], high[BLOCK_VERTICES];

    for (int w = 0; w < words; w++) {
        for (int i = 0; i < count; i++)
            plane[i] = word[(size_t)i * (size_t)words + (size_t)w];
        fold_planes(plane, before[w], count, low, high);
        out = encode_plane(low, count, out);
        out = encode_plane(high, count, out);
    }
    return out;
}

void words_encode(const uint16_t *word, int vertex_count, int words, ByteWriter *out)
{
    size_t groups = ((size_t)vertex_count + GROUP - 1) / GROUP;
    size_t planes = 2 * (size_t)words;
    size_t blocks = ((size_t)vertex_count + BLOCK_VERTICES - 1) / BLOCK_VERTICES;
    // a group never takes more than its bytes, but room is used before it is given back
    size_t bound = 1 + planes * (groups * GROUP + blocks * 4) + MAX_GROUP_SIZE + TAIL;
    size_t begin = out->size;
    uint8_t *data = byte_writer_extend(out, bound);
    uint8_t *at = data;
    uint16_t first[MAX_WORDS] = {0};

    if (!data)
        return;
    *at++ = MAGIC;
    if (vertex_count > 0)
        memcpy(first, word, sizeof(uint16_t) * (size_t)words);
    const uint16_t *before = first;
    for (int v = 0; v < vertex_count; v += BLOCK_VERTICES) {
        int count = vertex_count - v < BLOCK_VERTICES ? vertex_count - v : BLOCK_VERTICES;
        const uint16_t *block = word + (size_t)v * (size_t)words;
        at = encode_block(block, before, count, words, at);
        before = block + (size_t)(count - 1) * (size_t)words;
    }
    memset(at, 0, TAIL);
    at += TAIL - planes;
    for (int w = 0; w < words; w++) {
        *at++ = (uint8_t)first[w];
        *at++ = (uint8_t)(first[w] >> 8);
    }
    out->size = begin + (size_t)(at - data);
}

bool words_decode(Bytes code, int vertex_count, int words, uint16_t *out)
{
    size_t vertex_size = sizeof(uint16_t) * (size_t)words;

    // the decoder checks its input's length and returns what is wrong as a number
    return !meshopt_decodeVertexBuffer(out, (size_t)vertex_count, vertex_size, code.data,
                                       code.size);
}
