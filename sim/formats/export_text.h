/* Numbers and words of a text export, straight into its bytes. Numbers are in the shortest form
 * that reads back equal. */
#pragma once

#include "base/bytes.h"

void put_text(ByteWriter *out, const char *text);
void put_int(ByteWriter *out, int64_t value);
void put_float(ByteWriter *out, float value);
void put_double(ByteWriter *out, double value);
/* "(1, 2, 3)" */
void put_tuple(ByteWriter *out, const float *value, int count);
