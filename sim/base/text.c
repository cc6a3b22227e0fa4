#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Text text_open(size_t maximum, Error *err)
{
    return (Text){byte_writer(maximum, err)};
}

void text_close(Text *text)
{
    byte_writer_close(&text->buffer);
}

void text_clear(Text *text)
{
    byte_writer_clear(&text->buffer);
}

void text_add_bytes(Text *text, const char *piece, size_t size)
{
    // the terminator stands behind the content and is not counted
    uint8_t *out = byte_writer_extend(&text->buffer, size + 1);

    if (!out)
        return;
    memcpy(out, piece, size);
    out[size] = '\0';
    text->buffer.size--;
}

void text_add(Text *text, const char *piece)
{
    text_add_bytes(text, piece, strlen(piece));
}

void text_format(Text *text, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    uint8_t *out = length < 0 ? NULL : byte_writer_extend(&text->buffer, (size_t)length + 1);
    if (!out)
        return;
    va_start(arguments, format);
    (void)vsnprintf((char *)out, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->buffer.size--;
}

const char *text_string(const Text *text)
{
    return text->buffer.size ? (const char *)text->buffer.data : "";
}

size_t text_length(const Text *text)
{
    return text->buffer.size;
}
