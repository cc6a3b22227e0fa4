/* Ids and moments. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_ID_SIZE = 40 }; /* room for any id and its zero */

/* PREFIX and a ULID in lower case: time, then 80 random bits. */
NODISCARD Status id_create(const char *prefix, char out[STORE_ID_SIZE], Error *err);
/* Could this be an id with that prefix ("m_")? Only such text reaches the store and file names. */
bool id_is_valid(const char *id, const char *prefix);

/* Milliseconds since 1970. */
int64_t time_now_ms(void);
/* Nanoseconds of a clock that never jumps. */
int64_t time_steady_ns(void);
/* RFC 3339 with milliseconds in UTC. */
enum { TIME_TEXT_SIZE = 40 };
void time_format(int64_t ms, char out[TIME_TEXT_SIZE]);
/* RFC 3339 to milliseconds; INVALID when it is none. */
NODISCARD Status time_parse(const char *text, int64_t *out, Error *err);
