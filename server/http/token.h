/* Token: who may use the server, for what, and how much.
 *
 * A token file has a line for each token, ROLE NAME SHA256, the hash in hex of the token's text,
 * and behind it limits of its own: requests=N, queued=N, upload-mib=N. Empty lines and lines that
 * begin with # are left out. The tokens themselves are nowhere but with those who use them. Any
 * thread.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* Each may do what those before it may. */
typedef enum Access {
    ACCESS_NONE,   /* of a token that is not known, and of a route that forgot to say */
    ACCESS_OPEN,   /* without a token: health, the page's own files, the contract */
    ACCESS_READ,   /* look at everything */
    ACCESS_SUBMIT, /* upload, and work with jobs */
    ACCESS_ADMIN,  /* remove what jobs may depend on, stop the queue */
    ACCESS_COUNT
} Access;

/* "read", "submit", "admin"; ACCESS_COUNT for another word. */
Access access_find(const char *role);
const char *access_name(Access access);

enum { TOKEN_SIZE = 56, TOKEN_NAME_MAX = 64 };

/* A new token: "bh_" and 256 random bits. */
NODISCARD Status token_create(char out[TOKEN_SIZE], Error *err);
/* Its line of a token file, without the line's end. `name` of 1 to 64 letters, digits, "._-@". */
enum { TOKEN_LINE_SIZE = 160 };
NODISCARD Status token_line(const char *token, Access role, const char *name,
                            char out[TOKEN_LINE_SIZE], Error *err);

/* What one token may use; 0: no limit. */
typedef struct TokenLimits {
    int64_t requests;   /* a second, over two seconds */
    int64_t queued;     /* jobs of it that wait */
    int64_t upload_mib; /* files of it that are stored */
} TokenLimits;

/* Who asks. `name` is "" where the server has no tokens. */
typedef struct Bearer {
    Access access;
    char name[TOKEN_NAME_MAX + 1];
    TokenLimits limits;
} Bearer;

typedef struct Tokens Tokens;

/* Reads the file; `limits` are those of tokens whose line has none. INVALID names the line at
 * fault. */
NODISCARD Status tokens_open(const char *path, const TokenLimits *limits, Tokens **out, Error *err);
void tokens_close(Tokens *tokens);
/* Reads the file again, for all requests from now on; with a fault in it everything stays. */
NODISCARD Status tokens_reload(Tokens *tokens, Error *err);
int tokens_count(Tokens *tokens);

/* Who bears this token: ACCESS_NONE where it is unknown. Takes the same time whichever it is. */
Bearer tokens_find(Tokens *tokens, const char *token);
/* Counts a request of the bearer: 0 when it may go on, else the seconds after which it may. */
int tokens_admit(Tokens *tokens, const Bearer *bearer, int64_t now_ns);
