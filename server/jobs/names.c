#include "server/jobs/names.h"

#include "server/jobs/spec.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAREST_SIZE = 64,  /* bytes of a name that is compared letter by letter */
    NEAREST_FAULTS = 24 /* faults that get a suggestion: a search compares with every name */
};

typedef struct Entry {
    const char *key;
    int index;
} Entry;

static int compare_entries(const void *a_, const void *b_)
{
    const Entry *a = a_;
    const Entry *b = b_;
    int order = strcmp(a->key, b->key);

    return order ? order : (a->index > b->index) - (a->index < b->index);
}

Names names_build(const char *kind, const char *const *key, int count, Arena *arena)
{
    Names names = {.kind = kind};
    Entry *entry = arena_array(arena, Entry, count);
    int *sorted = arena_array(arena, int, count);

    if (arena->overflowed)
        return names;
    for (int i = 0; i < count; i++)
        entry[i] = (Entry){key[i], i};
    qsort(entry, (size_t)count, sizeof *entry, compare_entries);
    for (int i = 0; i < count; i++)
        sorted[i] = entry[i].index;
    names.count = count;
    names.key = key;
    names.sorted = sorted;
    return names;
}

int names_find(const Names *names, const char *key)
{
    int low = 0;
    int high = names->count;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (strcmp(names->key[names->sorted[middle]], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == names->count || strcmp(names->key[names->sorted[low]], key) != 0)
        return -1;
    return names->sorted[low];
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Levenshtein's distance without regard to case, between names of fewer than NEAREST_SIZE bytes. */
static int distance(const char *a, const char *b)
{
    int row[NEAREST_SIZE + 1];
    int b_size = (int)strlen(b);

    for (int j = 0; j <= b_size; j++)
        row[j] = j;
    for (int i = 0; a[i]; i++) {
        int diagonal = row[0];

        row[0] = i + 1;
        for (int j = 0; j < b_size; j++) {
            int cost = diagonal + (lower(a[i]) != lower(b[j]));
            int edit = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

            diagonal = row[j + 1];
            row[j + 1] = cost < edit ? cost : edit;
        }
    }
    return row[b_size];
}

const char *names_nearest(const Names *names, const char *key)
{
    size_t size = strlen(key);
    const char *nearest = NULL;
    int best = size < 3 ? 1 : (int)size / 3 + 1;

    if (size == 0 || size >= NEAREST_SIZE)
        return NULL;
    for (int i = 0; i < names->count; i++) {
        size_t other = strlen(names->key[i]);
        size_t longer = size > other ? size - other : other - size;

        if (other >= NEAREST_SIZE || other == 0 || longer > (size_t)best)
            continue;
        int apart = distance(key, names->key[i]);
        if (apart < best || (apart == best && !nearest)) {
            best = apart;
            nearest = names->key[i];
        }
    }
    return nearest;
}

static void fault_unknown(const Names *names, const JsonReader *value, const char *key)
{
    const char *nearest = value->faults->count < NEAREST_FAULTS ? names_nearest(names, key) : NULL;

    if (names->count == 0)
        json_fault(value, "names the %s \"%s\", but the model has none", names->kind, key);
    else if (nearest)
        json_fault(value,
                   "names the %s \"%s\", which the model does not have; did you mean \"%s\"?",
                   names->kind, key, nearest);
    else
        json_fault(value,
                   "names the %s \"%s\", which the model does not have (it has %d, the first "
                   "is \"%s\")",
                   names->kind, key, names->count, names->key[0]);
}

static int decode_index(const Names *names, const JsonReader *value, double index)
{
    if (index >= 0 && index < names->count && index == (double)(int)index)
        return (int)index;
    if (names->count == 0)
        json_fault(value, "is the index of a %s, but the model has none", names->kind);
    else
        json_fault(value, "must be a %s's name or an index from 0 to %d", names->kind,
                   names->count - 1);
    return -1;
}

int names_decode(const Names *names, const JsonReader *value)
{
    if (json_is_number(value))
        return decode_index(names, value, json_as_number(value, -1e300, 1e300));
    if (!json_is_text(value)) {
        json_fault(value, "must be a %s's name or index", names->kind);
        return -1;
    }
    int before = value->faults->count;
    const char *key = json_as_text(value, JOB_NAME_MAX);
    if (value->faults->count != before)
        return -1;
    int index = names_find(names, key);
    if (index < 0)
        fault_unknown(names, value, key);
    return index;
}

int names_decode_key(const Names *names, const JsonReader *member)
{
    int index = names_find(names, member->key);
    char *end = NULL;

    if (index >= 0)
        return index;
    if (member->key[0] >= '0' && member->key[0] <= '9') {
        long number = strtol(member->key, &end, 10);

        if (*end == '\0' && number < names->count)
            return (int)number;
    }
    fault_unknown(names, member, member->key);
    return -1;
}
