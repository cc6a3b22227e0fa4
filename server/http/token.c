#include "server/http/token.h"

#include "base/hash.h"

#include <uv.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { TOKENS_MAX = 4096, LINE_MAX_SIZE = 512, RANDOM_BYTES = 32, BURST_SECONDS = 2 };

typedef struct Token {
    Bearer bearer;
    char hash[SHA256_HEX_SIZE];
    double level; /* requests it may make at once */
    int64_t drawn_ns;
} Token;

typedef struct Table {
    int count;
    Token token[TOKENS_MAX];
} Table;

struct Tokens {
    const char *path;
    TokenLimits limits;
    uv_mutex_t mutex; /* guards the table and what it points to */
    Table *table;
};

static const char *const role_name[ACCESS_COUNT] = {"no", "open", "read", "submit", "admin"};

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

static const struct {
    const char *name;
    size_t offset;
    int64_t max;
} limit_option[] = {
    {"requests=", offsetof(TokenLimits, requests), 1000000},
    {"queued=", offsetof(TokenLimits, queued), 10000000},
    {"upload-mib=", offsetof(TokenLimits, upload_mib), 1LL << 30},
};

/* "queued=100". */
static bool read_limit(const char *word, TokenLimits *out)
{
    for (size_t i = 0; i < sizeof limit_option / sizeof limit_option[0]; i++) {
        size_t length = strlen(limit_option[i].name);
        char *end = NULL;

        if (strncmp(word, limit_option[i].name, length) != 0)
            continue;
        long long value = strtoll(word + length, &end, 10);
        if (end == word + length || *end || value < 0 || value > limit_option[i].max)
            return false;
        *(int64_t *)((char *)out + limit_option[i].offset) = value;
        return true;
    }
    return false;
}

static bool is_hash(const char *text)
{
    return strlen(text) == SHA256_HEX_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

/* The words of a line into a token; false where they are not as they must be. */
static bool read_words(char *line, Token *out)
{
    static const char blank[] = " \t\r\n";
    char *rest = NULL;
    const char *role = strtok_r(line, blank, &rest);
    const char *name = strtok_r(NULL, blank, &rest);
    const char *hash = strtok_r(NULL, blank, &rest);

    if (!hash || access_find(role) == ACCESS_COUNT || !is_name(name) || !is_hash(hash))
        return false;
    out->bearer.access = access_find(role);
    (void)snprintf(out->bearer.name, sizeof out->bearer.name, "%s", name);
    memcpy(out->hash, hash, SHA256_HEX_SIZE);
    for (const char *word = strtok_r(NULL, blank, &rest); word; word = strtok_r(NULL, blank, &rest))
        if (!read_limit(word, &out->bearer.limits))
            return false;
    return true;
}

/* One line into the next token; an empty one and a remark are none. */
static Status read_line(const Tokens *tokens, Table *table, char *line, int number, Error *err)
{
    const char *first = line + strspn(line, " \t\r\n");

    if (!*first || *first == '#')
        return STATUS_OK;
    if (table->count == TOKENS_MAX)
        return error_set(err, STATUS_LIMIT, "\"%s\" has more than %d tokens", tokens->path,
                         TOKENS_MAX);
    Token *token = &table->token[table->count];
    *token = (Token){.bearer.limits = tokens->limits};
    if (!read_words(line, token))
        return error_set(err, STATUS_INVALID,
                         "\"%s\", line %d: must be read, submit or admin, a name, the token's "
                         "SHA-256 (see bakehouse token), and limits: requests=N, queued=N, "
                         "upload-mib=N",
                         tokens->path, number);
    table->count++;
    return STATUS_OK;
}

static Status read_lines(const Tokens *tokens, FILE *file, Table *table, Error *err)
{
    char line[LINE_MAX_SIZE];

    for (int number = 1; fgets(line, sizeof line, file); number++) {
        if (strlen(line) == sizeof line - 1)
            return error_set(err, STATUS_INVALID, "\"%s\", line %d: is too long", tokens->path,
                             number);
        if (read_line(tokens, table, line, number, err))
            return err->status;
    }
    if (ferror(file))
        return error_set(err, STATUS_IO, "could not read \"%s\"", tokens->path);
    if (!table->count)
        return error_set(err, STATUS_INVALID, "\"%s\" has no tokens: nobody could use the server",
                         tokens->path);
    return STATUS_OK;
}

Status tokens_reload(Tokens *tokens, Error *err)
{
    Table *table = calloc(1, sizeof *table);
    char text[128];

    if (!table)
        return error_set(err, STATUS_NO_MEMORY, "no room for tokens");
    FILE *file = fopen(tokens->path, "re");
    if (!file)
        error_set(err, STATUS_INVALID, "could not read the tokens in \"%s\": %s", tokens->path,
                  strerror_r(errno, text, sizeof text));
    if (file && !read_lines(tokens, file, table, err)) {
        uv_mutex_lock(&tokens->mutex);
        Table *before = tokens->table;
        tokens->table = table;
        uv_mutex_unlock(&tokens->mutex);
        table = before;
    }
    if (file)
        (void)fclose(file);
    free(table);
    return err->status;
}

Status tokens_open(const char *path, const TokenLimits *limits, Tokens **out, Error *err)
{
    Tokens *tokens = calloc(1, sizeof *tokens);

    if (!tokens)
        return error_set(err, STATUS_NO_MEMORY, "no room for tokens");
    tokens->path = path;
    tokens->limits = *limits;
    (void)uv_mutex_init(&tokens->mutex);
    if (tokens_reload(tokens, err))
        tokens_close(tokens);
    else
        *out = tokens;
    return err->status;
}

void tokens_close(Tokens *tokens)
{
    if (!tokens)
        return;
    uv_mutex_destroy(&tokens->mutex);
    free(tokens->table);
    free(tokens);
}

int tokens_count(Tokens *tokens)
{
    uv_mutex_lock(&tokens->mutex);
    int count = tokens->table->count;
    uv_mutex_unlock(&tokens->mutex);
    return count;
}

Bearer tokens_find(Tokens *tokens, const char *token)
{
    char hash[SHA256_HEX_SIZE];
    Bearer bearer = {.access = ACCESS_NONE};

    sha256_of((Bytes){(const uint8_t *)token, strlen(token)}, hash);
    uv_mutex_lock(&tokens->mutex);
    const Table *table = tokens->table;
    for (int i = 0; i < table->count; i++) {
        unsigned difference = 0;

        for (int j = 0; j < SHA256_HEX_SIZE - 1; j++)
            difference |= (unsigned)(hash[j] ^ table->token[i].hash[j]);
        if (!difference)
            bearer = table->token[i].bearer;
    }
    uv_mutex_unlock(&tokens->mutex);
    return bearer;
}

/* The bucket holds two seconds of requests and fills steadily; all tokens of one name share it. */
static int draw(Token *token, int64_t now_ns)
{
    double rate = (double)token->bearer.limits.requests;
    double full = BURST_SECONDS * rate;

    token->level += rate * (double)(now_ns - token->drawn_ns) * 1e-9;
    if (token->level > full || token->drawn_ns == 0)
        token->level = full;
    token->drawn_ns = now_ns;
    if (token->level < 1.0)
        return (int)((1.0 - token->level) / rate) + 1;
    token->level -= 1.0;
    return 0;
}

int tokens_admit(Tokens *tokens, const Bearer *bearer, int64_t now_ns)
{
    int seconds = 0;

    if (bearer->limits.requests == 0)
        return 0;
    uv_mutex_lock(&tokens->mutex);
    for (int i = 0; i < tokens->table->count; i++) {
        Token *token = &tokens->table->token[i];

        if (strcmp(token->bearer.name, bearer->name) == 0) {
            seconds = token->bearer.limits.requests ? draw(token, now_ns) : 0;
            break;
        }
    }
    uv_mutex_unlock(&tokens->mutex);
    return seconds;
}
