#include "server/http/token.h"

#include "base/hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TOKENS_MAX = 4096, LINE_MAX_SIZE = 512, RANDOM_BYTES = 32 };

typedef struct Token {
    Access role;
    char hash[SHA256_HEX_SIZE];
} Token;

struct Tokens {
    int count;
    Token token[TOKENS_MAX];
};

static const char *const role_name[ACCESS_COUNT] = {"open", "read", "submit", "admin"};

Access access_find(const char *role)
{
    for (int i = ACCESS_READ; i < ACCESS_COUNT; i++)
        if (strcmp(role, role_name[i]) == 0)
            return (Access)i;
    return ACCESS_COUNT;
}

const char *access_name(Access access)
{
    return role_name[access];
}

static bool is_name(const char *name)
{
    size_t length = strlen(name);

    return length >= 1 && length <= TOKEN_NAME_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@") ==
               length;
}

Status token_create(char out[TOKEN_SIZE], Error *err)
{
    static const char digit[] = "0123456789abcdefghjkmnpqrstvwxyz";
    uint8_t random[RANDOM_BYTES];
    size_t length = 0;
    unsigned bits = 0;
    int count = 0;

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return error_set(err, STATUS_IO, "the system gave no random bytes");
    memcpy(out, "bh_", 3);
    length = 3;
    for (int i = 0; i < RANDOM_BYTES; i++) {
        bits = bits << 8 | random[i];
        for (count += 8; count >= 5; count -= 5)
            out[length++] = digit[bits >> (count - 5) & 31u];
        bits &= (1u << count) - 1u;
    }
    out[length++] = digit[bits << (5 - count) & 31u];
    out[length] = '\0';
    return STATUS_OK;
}

Status token_line(const char *token, Access role, const char *name, char out[TOKEN_LINE_SIZE],
                  Error *err)
{
    char hash[SHA256_HEX_SIZE];

    if (!is_name(name))
        return error_set(err, STATUS_INVALID,
                         "the name must be 1 to %d letters, digits or \"._-@\", is \"%.80s\"",
                         TOKEN_NAME_MAX, name);
    sha256_of((Bytes){(const uint8_t *)token, strlen(token)}, hash);
    (void)snprintf(out, TOKEN_LINE_SIZE, "%s %s %s", role_name[role], name, hash);
    return STATUS_OK;
}

/* One line into the next token; an empty one and a remark are none. */
static Status read_line(Tokens *tokens, const char *line, const char *path, int number, Error *err)
{
    char role[16], name[TOKEN_NAME_MAX + 2], hash[SHA256_HEX_SIZE + 1], rest[2];
    int found = sscanf(line, "%15s %65s %65s %1s", role, name, hash, rest);

    if (found <= 0 || role[0] == '#')
        return STATUS_OK;
    if (found != 3 || access_find(role) == ACCESS_COUNT || !is_name(name) ||
        strlen(hash) != SHA256_HEX_SIZE - 1 ||
        strspn(hash, "0123456789abcdef") != SHA256_HEX_SIZE - 1)
        return error_set(err, STATUS_INVALID,
                         "\"%s\", line %d: must be read, submit or admin, a name and the token's "
                         "SHA-256 (see bakehouse token)",
                         path, number);
    if (tokens->count == TOKENS_MAX)
        return error_set(err, STATUS_LIMIT, "\"%s\" has more than %d tokens", path, TOKENS_MAX);
    Token *token = &tokens->token[tokens->count++];
    token->role = access_find(role);
    memcpy(token->hash, hash, SHA256_HEX_SIZE);
    return STATUS_OK;
}

static Status read_lines(FILE *file, const char *path, Tokens *tokens, Error *err)
{
    char line[LINE_MAX_SIZE];

    for (int number = 1; fgets(line, sizeof line, file); number++) {
        if (strlen(line) == sizeof line - 1)
            return error_set(err, STATUS_INVALID, "\"%s\", line %d: is too long", path, number);
        if (read_line(tokens, line, path, number, err))
            return err->status;
    }
    if (ferror(file))
        return error_set(err, STATUS_IO, "could not read \"%s\"", path);
    if (!tokens->count)
        return error_set(err, STATUS_INVALID, "\"%s\" has no tokens: nobody could use the server",
                         path);
    return STATUS_OK;
}

Status tokens_read(const char *path, Tokens **out, Error *err)
{
    Tokens *tokens = calloc(1, sizeof *tokens);
    char text[128];

    if (!tokens)
        return error_set(err, STATUS_NO_MEMORY, "no room for tokens");
    FILE *file = fopen(path, "re");
    if (!file)
        error_set(err, STATUS_INVALID, "could not read the tokens in \"%s\": %s", path,
                  strerror_r(errno, text, sizeof text));
    bool is_read = file && !read_lines(file, path, tokens, err);
    if (file)
        (void)fclose(file);
    if (is_read)
        *out = tokens;
    else
        free(tokens);
    return err->status;
}

void tokens_close(Tokens *tokens)
{
    free(tokens);
}

Access tokens_access(const Tokens *tokens, const char *token)
{
    char hash[SHA256_HEX_SIZE];
    Access access = ACCESS_OPEN;

    sha256_of((Bytes){(const uint8_t *)token, strlen(token)}, hash);
    for (int i = 0; i < tokens->count; i++) {
        unsigned difference = 0;

        for (int j = 0; j < SHA256_HEX_SIZE - 1; j++)
            difference |= (unsigned)(hash[j] ^ tokens->token[i].hash[j]);
        access = difference ? access : tokens->token[i].role;
    }
    return access;
}
