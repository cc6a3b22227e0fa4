/* Token: who may use the server, and for what.
 *
 * A token file has a line for each token, ROLE NAME SHA256, the hash in hex of the token's text;
 * empty lines and lines that begin with # are left out. The tokens themselves are nowhere but with
 * those who use them. Read once, then never changed: any thread.
 */
#pragma once

#include "base/error.h"

/* Each may do what those before it may. */
typedef enum Access {
    ACCESS_OPEN,   /* without a token: health, the page's own files, the contract */
    ACCESS_READ,   /* look at everything */
    ACCESS_SUBMIT, /* upload, and work with jobs */
    ACCESS_ADMIN,  /* remove what jobs may depend on */
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

typedef struct Tokens Tokens;

/* INVALID names the line at fault. NULL is no tokens. */
NODISCARD Status tokens_read(const char *path, Tokens **out, Error *err);
void tokens_close(Tokens *tokens);

/* What the bearer may do, ACCESS_OPEN where the token is unknown. Takes the same time whichever it
 * is. */
Access tokens_access(const Tokens *tokens, const char *token);
