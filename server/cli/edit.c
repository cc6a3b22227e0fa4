#include "server/cli/edit.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_SIZE = 256, VALUE_DEPTH = 32, EDIT_DEPTH = 64 };

typedef struct Path {
    const char *text; /* as given */
    const char *rest; /* what has not been walked */
    char separator;
} Path;

static Path open_path(const char *text)
{
    if (text[0] == '/')
        return (Path){text, text + 1, '/'};
    return (Path){text, text, '.'};
}

/* The next token; false at the end. "~1" and "~0" stand for "/" and "~" in pointers. */
static bool next_token(Path *path, char token[TOKEN_SIZE])
{
    size_t size = 0;

    if (!path->rest)
        return false;
    while (*path->rest && *path->rest != path->separator) {
        char c = *path->rest++;

        if (path->separator == '/' && c == '~' && (*path->rest == '0' || *path->rest == '1'))
            c = *path->rest++ == '0' ? '~' : '/';
        if (size + 1 < TOKEN_SIZE)
            token[size++] = c;
    }
    token[size] = '\0';
    path->rest = *path->rest ? path->rest + 1 : NULL;
    return true;
}

/* An index of a list, at most the number of its items (the next one). -1: none. */
static int list_index(const cJSON *list, const char *token)
{
    char *end = NULL;
    long index = strtol(token, &end, 10);
    int count = cJSON_GetArraySize(list);

    return token[0] < '0' || token[0] > '9' || *end || index > count ? -1 : (int)index;
}

static cJSON *find_child(const cJSON *container, const char *token)
{
    if (!cJSON_IsArray(container))
        return cJSON_GetObjectItemCaseSensitive(container, token);
    int index = list_index(container, token);
    return index < 0 ? NULL : cJSON_GetArrayItem(container, index);
}

/* Puts `value` under `token`, which takes it over; false where the container has no such place, or
 * without memory. */
static bool put_child(cJSON *container, const char *token, cJSON *value)
{
    if (cJSON_IsArray(container)) {
        int index = list_index(container, token);

        if (index < 0)
            return false;
        if (index == cJSON_GetArraySize(container))
            return cJSON_AddItemToArray(container, value);
        return cJSON_ReplaceItemInArray(container, index, value);
    }
    if (!cJSON_IsObject(container))
        return false;
    if (cJSON_GetObjectItemCaseSensitive(container, token))
        return cJSON_ReplaceItemInObjectCaseSensitive(container, token, value);
    return cJSON_AddItemToObject(container, token, value);
}

/* Can a value be put there? Below what is missing, objects can be made. */
static bool has_place(const cJSON *container, Path path)
{
    char token[TOKEN_SIZE] = "";

    while (next_token(&path, token)) {
        if (!container || cJSON_IsNull(container))
            continue;
        if (!cJSON_IsObject(container) &&
            !(cJSON_IsArray(container) && list_index(container, token) >= 0))
            return false;
        container = find_child(container, token);
    }
    return token[0] != '\0';
}

/* Walks to the container of the path's last token, making objects on the way. NULL without memory
 * for them. */
static cJSON *walk(cJSON *container, Path *path, char token[TOKEN_SIZE])
{
    if (!next_token(path, token))
        return NULL;
    while (path->rest) {
        cJSON *child = find_child(container, token);

        if (!child || cJSON_IsNull(child)) {
            child = cJSON_CreateObject();
            if (!child || !put_child(container, token, child)) {
                cJSON_Delete(child);
                return NULL;
            }
        }
        container = child;
        (void)next_token(path, token);
    }
    return container;
}

/* Reads the document again: readers rely on what json_open has checked and indexed. */
static Status reopen(JsonDocument *document, Error *err)
{
    char *text = cJSON_PrintUnformatted(document->root);

    json_close(document);
    if (!text)
        return error_set(err, STATUS_NO_MEMORY, "no room to change the job");
    Bytes bytes = {(const uint8_t *)text, strlen(text)};
    Status status = json_open(bytes, EDIT_DEPTH, document, err);
    cJSON_free(text);
    return status;
}

static Status put(JsonDocument *document, const char *path, cJSON *value, Error *err)
{
    char token[TOKEN_SIZE];
    Path rest = open_path(path);

    if (!value)
        return error_set(err, STATUS_NO_MEMORY, "no room for the value of \"%s\"", path);
    if (!has_place(document->root, rest)) {
        cJSON_Delete(value);
        return error_set(err, STATUS_INVALID, "there is no place \"%s\" in the job to set", path);
    }
    cJSON *container = walk(document->root, &rest, token);
    if (!container || !put_child(container, token, value)) {
        cJSON_Delete(value);
        return error_set(err, STATUS_NO_MEMORY, "no room for the value of \"%s\"", path);
    }
    return reopen(document, err);
}

Status edit_set(JsonDocument *document, const char *path, const char *value, Error *err)
{
    JsonDocument parsed = {0};
    Error not_json = {0};

    if (json_open((Bytes){(const uint8_t *)value, strlen(value)}, VALUE_DEPTH, &parsed,
                  &not_json) == STATUS_NO_MEMORY) {
        *err = not_json;
        return err->status;
    }
    if (not_json.status)
        return edit_set_text(document, path, value, err);
    return put(document, path, parsed.root, err);
}

Status edit_set_text(JsonDocument *document, const char *path, const char *value, Error *err)
{
    return put(document, path, cJSON_CreateString(value), err);
}

bool edit_has(const JsonDocument *document, const char *path)
{
    char token[TOKEN_SIZE];
    Path rest = open_path(path);
    const cJSON *value = document->root;

    while (value && next_token(&rest, token))
        value = find_child(value, token);
    return value && !cJSON_IsNull(value);
}
