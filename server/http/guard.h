/* Guard: who may talk to the server at all. Loopback is not a wall against web pages: the Host must
 * be a loopback name, an address in numbers, or --public-host; a foreign Origin must be listed. */
#pragma once

#include "server/config.h"
#include "server/http/request.h"

/* What is wrong with a request's target as it came, NULL for nothing: not a path, bad escapes, a
 * zero byte, characters that must be escaped, text that is not UTF-8. */
const char *guard_uri_fault(const char *uri);
/* Is it a word as methods and names of headers are (RFC 9110, 5.6.2)? */
bool guard_is_token(const char *text);

/* False (and `err` filled) when the request is refused; `out_kind` says how. */
bool guard_allows(const Config *config, const Request *request, ProblemKind *out_kind, Error *err);

/* Is this Host ("NAME:PORT") one the server answers for? Any address in numbers is: only names can
 * be pointed here by strangers. */
bool guard_knows_host(const Config *config, const char *host);
/* The request's Origin where it is another one than the server's own and --cors-origin lists it;
 * else NULL. */
const char *guard_cors_origin(const Config *config, const Request *request);
