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

/* RFC 4231, test case 2. */
TEST(hash, signs_as_published)
{
    Bytes key = {(const uint8_t *)"Jefe", 4};
    Bytes first = {(const uint8_t *)"what do ya want ", 16};
    Bytes second = {(const uint8_t *)"for nothing?", 12};
    char hex[SHA256_HEX_SIZE];

    hmac_sha256_of(key, first, second, hex);
    CHECK_EQUAL_TEXT(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}
