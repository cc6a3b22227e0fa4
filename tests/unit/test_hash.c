#include "base/hash.h"
#include "support/check.h"

TEST(hash, agrees_with_published_vectors)
{
    char hex[SHA256_HEX_SIZE];

    sha256_of((Bytes){(const uint8_t *)"abc", 3}, hex);
    CHECK_EQUAL_TEXT(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_INT(crc32c(0, "123456789", 9), ==, 0xe3069283);
    CHECK_INT(crc32c(crc32c(0, "1234", 4), "56789", 5), ==, 0xe3069283);
}
