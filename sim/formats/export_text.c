#include "formats/export_text.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void put_text(ByteWriter *out, const char *text)
{
    write_bytes(out, text, strlen(text));
}

void put_int(ByteWriter *out, int64_t value)
{
    char text[32];

    write_bytes(out, text, (size_t)snprintf(text, sizeof text, "%" PRId64, value));
}

void put_float(ByteWriter *out, float value)
{
    char text[32];

    write_bytes(out, text, (size_t)json_format_float(value, text));
}

void put_double(ByteWriter *out, double value)
{
    char text[32];

    write_bytes(out, text, (size_t)json_format_double(value, text));
}

void put_tuple(ByteWriter *out, const float *value, int count)
{
    for (int i = 0; i < count; i++) {
        put_text(out, i ? ", " : "(");
        put_float(out, value[i]);
    }
    put_text(out, ")");
}
