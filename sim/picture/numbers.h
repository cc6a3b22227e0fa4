/* Numbers: the line of figures under a sheet, out of a stream's measures record. */
#pragma once

#include "base/text.h"
#include "sim/frames.h"

/* Adds "stretch p99 4.98 %   worst ..." for what the measures hold; nothing where they hold none of
 * it or are not readable. */
void numbers_write(Bytes measures, Arena *scratch, Text *out);
