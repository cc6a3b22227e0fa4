/* UTF-8: how long the character at a place is, and which one. Plain values. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The length in bytes (1 to 4) of the character at `text`, of which `size` bytes are left; 0 where
 * there is none: cut off, overlong, a surrogate, above U+10FFFF or a stray byte. */
static inline size_t utf8_length(const uint8_t *text, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t first = text[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || size < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    uint8_t second = text[1];
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0;
    return length;
}

/* The code point of the valid character of `length` bytes at `text`. */
static inline uint32_t utf8_code(const uint8_t *text, size_t length)
{
    static const uint8_t mask[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = text[0] & mask[length];

    for (size_t i = 1; i < length; i++)
        code = code << 6 | (text[i] & 0x3fu);
    return code;
}
