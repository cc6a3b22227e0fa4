/* Text: a string that is built piece by piece, never longer than its maximum.
 *
 * Memory is its own (malloc) and text_close gives it back; a zeroed Text may be closed. The first
 * failure is kept in the Error it was given; later pieces are then dropped. Always zero-terminated.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

#include <stddef.h>

typedef struct Text {
    ByteWriter buffer;
} Text;

Text text_open(size_t maximum, Error *err);
void text_close(Text *text);
void text_clear(Text *text);
void text_add(Text *text, const char *piece);
void text_add_bytes(Text *text, const char *piece, size_t size);
void text_format(Text *text, const char *format, ...) PRINTF_LIKE(2, 3);
const char *text_string(const Text *text); /* "" when empty; valid until the next change */
size_t text_length(const Text *text);
