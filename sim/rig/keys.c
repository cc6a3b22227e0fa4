#include "rig/keys.h"

#include <stdint.h>
#include <string.h>

Status keys_open(Keys *keys, Arena *arena, int capacity, const char *kind, Error *err)
{
    int slot_count = 16;

    while (slot_count < 2 * capacity)
        slot_count *= 2;
    *keys = (Keys){.arena = arena,
                   .kind = kind,
                   .slot_count = slot_count,
                   .slot = arena_array(arena, KeyEntry, slot_count)};
    if (!keys->slot)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d %s keys", capacity, kind);
    return STATUS_OK;
}

/* The slot that holds `key`, or the free one where it belongs (FNV-1a, linear probing). */
static KeyEntry *find_slot(const Keys *keys, const char *key)
{
    uint32_t hash = 2166136261u;

    for (const char *c = key; *c; c++)
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    uint32_t mask = (uint32_t)keys->slot_count - 1;
    uint32_t i = (hash ^ (hash >> 15)) & mask;
    while (keys->slot[i].key && strcmp(keys->slot[i].key, key) != 0)
        i = (i + 1) & mask;
    return &keys->slot[i];
}

const char *keys_add(Keys *keys, const char *name)
{
    const char *key = name && *name ? arena_format(keys->arena, "%s", name)
                                    : arena_format(keys->arena, "%s%d", keys->kind, keys->count);

    if (!key)
        return NULL;
    KeyEntry *entry = find_slot(keys, key);
    KeyEntry *first = entry;
    while (entry->key) {
        key = arena_format(keys->arena, "%s#%d", first->key, first->next++);
        if (!key)
            return NULL;
        entry = find_slot(keys, key);
    }
    *entry = (KeyEntry){.key = key, .next = 2};
    keys->count++;
    return key;
}
