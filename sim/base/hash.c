#include "base/hash.h"

#include <nettle/hmac.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

void sha256_begin(Sha256 *hash)
{
    sha256_init(&hash->context);
}

void sha256_add(Sha256 *hash, const void *data, size_t size)
{
    sha256_update(&hash->context, size, data);
}

void sha256_end(Sha256 *hash, uint8_t out[SHA256_SIZE])
{
    sha256_digest(&hash->context, SHA256_SIZE, out);
}

void sha1_begin(Sha1 *hash)
{
    sha1_init(&hash->context);
}

void sha1_add(Sha1 *hash, const void *data, size_t size)
{
    sha1_update(&hash->context, size, data);
}

void sha1_end(Sha1 *hash, uint8_t out[SHA1_SIZE])
{
    sha1_digest(&hash->context, SHA1_SIZE, out);
}

void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE])
{
    static const char digit[] = "0123456789abcdef";

    for (int i = 0; i < SHA256_SIZE; i++) {
        out[2 * i] = digit[digest[i] >> 4];
        out[2 * i + 1] = digit[digest[i] & 15];
    }
    out[2 * SHA256_SIZE] = '\0';
}

void sha256_of(Bytes bytes, char out[SHA256_HEX_SIZE])
{
    Sha256 hash;
    uint8_t digest[SHA256_SIZE];

    sha256_begin(&hash);
    sha256_add(&hash, bytes.data, bytes.size);
    sha256_end(&hash, digest);
    sha256_hex(digest, out);
}

void hmac_sha256_of(Bytes key, Bytes first, Bytes second, char out[SHA256_HEX_SIZE])
{
    struct hmac_sha256_ctx context;
    uint8_t digest[SHA256_SIZE];

    hmac_sha256_set_key(&context, key.size, key.data);
    hmac_sha256_update(&context, first.size, first.data);
    hmac_sha256_update(&context, second.size, second.data);
    hmac_sha256_digest(&context, SHA256_SIZE, digest);
    sha256_hex(digest, out);
}

/* The remainders of one nibble, Castagnoli polynomial 0x82f63b78 (reflected). */
static const uint32_t nibble[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

static uint32_t crc32c_portable(uint32_t crc, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        crc = (crc >> 4) ^ nibble[crc & 15];
        crc = (crc >> 4) ^ nibble[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *data,
                                                               size_t size)
{
    uint64_t wide = crc;

    for (; size >= 8; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, sizeof word);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; size; data++, size--)
        crc = _mm_crc32_u8(crc, *data);
    return crc;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t size)
{
    crc = ~crc;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc32c_sse42(crc, data, size);
#endif
    return ~crc32c_portable(crc, data, size);
}
