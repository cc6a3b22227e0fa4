/* The strict reading of JSON text that comes before cJSON's lenient one: RFC 8259 to the letter,
 * and what other programs disagree about is refused (see json.h). Part of base/json. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

enum {
    JSON_MAX_DEPTH = 512,     /* whatever a caller asks for; cJSON itself stops at 1000 */
    JSON_NUMBER_MAX_SIZE = 63 /* cJSON reads no more characters of a number */
};

/* STATUS_OK when `text` is one JSON value and nothing else; errors name line and column. Time is
 * n log n in the size of the text whatever it holds. */
NODISCARD Status json_scan(Bytes text, int max_depth, Error *err);
