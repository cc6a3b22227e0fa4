/* Hashes: SHA-256 (nettle) for identities, CRC-32C for records. Plain values; a hasher belongs to
 * one thread. */
#pragma once

#include "base/bytes.h"

#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <stdint.h>

enum { SHA256_SIZE = 32, SHA256_HEX_SIZE = 65 };

typedef struct Sha256 {
    struct sha256_ctx context;
} Sha256;

void sha256_begin(Sha256 *hash);
void sha256_add(Sha256 *hash, const void *data, size_t size);
void sha256_end(Sha256 *hash, uint8_t out[SHA256_SIZE]);
/* Lower-case hexadecimal with a terminating zero. */
void sha256_hex(const uint8_t digest[SHA256_SIZE], char out[SHA256_HEX_SIZE]);
void sha256_of(Bytes bytes, char out[SHA256_HEX_SIZE]);

/* HMAC-SHA256 over `first` with `second` behind it, in hexadecimal. */
void hmac_sha256_of(Bytes key, Bytes first, Bytes second, char out[SHA256_HEX_SIZE]);

/* For clients whose protocol knows nothing better. */
enum { SHA1_SIZE = 20 };

typedef struct Sha1 {
    struct sha1_ctx context;
} Sha1;

void sha1_begin(Sha1 *hash);
void sha1_add(Sha1 *hash, const void *data, size_t size);
void sha1_end(Sha1 *hash, uint8_t out[SHA1_SIZE]);

/* CRC-32C (Castagnoli), continued from `crc` (0 at the start). Fast where the processor has it. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size);
