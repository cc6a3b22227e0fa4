#include "server/jobs/rigs.h"

#include "server/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Rigs {
    struct App *app;
    uv_mutex_t mutex;
    uv_cond_t loaded;
    RigEntry *first;
};

Status rigs_open(struct App *app, Rigs **out, Error *err)
{
    Rigs *rigs = calloc(1, sizeof *rigs);

    if (!rigs)
        return error_set(err, STATUS_NO_MEMORY, "could not start");
    rigs->app = app;
    (void)uv_mutex_init(&rigs->mutex);
    (void)uv_cond_init(&rigs->loaded);
    *out = rigs;
    return STATUS_OK;
}

void rigs_drop(RigEntry *entry)
{
    if (!entry)
        return;
    arena_destroy(&entry->arena);
    free(entry);
}

void rigs_close(Rigs *rigs)
{
    if (!rigs)
        return;
    while (rigs->first) {
        RigEntry *next = rigs->first->next;

        rigs_drop(rigs->first);
        rigs->first = next;
    }
    uv_cond_destroy(&rigs->loaded);
    uv_mutex_destroy(&rigs->mutex);
    free(rigs);
}

AssetOptions rigs_options(const struct App *app, double unit, bool is_z_up, const char *name)
{
    AssetOptions options = {
        .limits = asset_limits_default(), .unit = unit, .is_z_up = is_z_up, .name = name};

    options.limits.file_size = app->config->max_upload_mib << 20;
    options.limits.joints = (int)app->config->max_joints;
    options.limits.vertices = (int)app->config->max_vertices;
    return options;
}

/* --- the table, with the mutex held --- */

static RigEntry *find(Rigs *rigs, const char *id)
{
    RigEntry *entry = rigs->first;

    while (entry && (entry->is_forgotten || strcmp(entry->id, id) != 0))
        entry = entry->next;
    return entry;
}

static void unlink_entry(Rigs *rigs, const RigEntry *entry)
{
    RigEntry **link = &rigs->first;

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
}

/* The entry that nobody uses and that was not used for longest, or NULL. */
static RigEntry *find_oldest(Rigs *rigs, int64_t *out_total)
{
    RigEntry *oldest = NULL;

    *out_total = 0;
    for (RigEntry *entry = rigs->first; entry; entry = entry->next) {
        *out_total += (int64_t)entry->arena.dirty;
        if (entry->references == 0 && (!oldest || entry->used_ns < oldest->used_ns))
            oldest = entry;
    }
    return oldest;
}

static void make_room(Rigs *rigs)
{
    int64_t total = 0;
    RigEntry *oldest = find_oldest(rigs, &total);

    while (oldest && total > rigs->app->config->rig_cache_mib << 20) {
        unlink_entry(rigs, oldest);
        rigs_drop(oldest);
        oldest = find_oldest(rigs, &total);
    }
}

static void drop_if_forgotten(Rigs *rigs, RigEntry *entry)
{
    if (!entry->is_forgotten || entry->references)
        return;
    unlink_entry(rigs, entry);
    rigs_drop(entry);
}

/* --- reading --- */

static Status parse(Bytes file, const AssetOptions *options, RigEntry *entry, Error *err)
{
    if (arena_create(&entry->arena, asset_arena_size(file.size, &options->limits), err))
        return err->status;
    return asset_read(file, options, &entry->arena, &entry->rig, err);
}

Status rigs_read(Rigs *rigs, Bytes file, const AssetOptions *options, RigEntry **out, Error *err)
{
    RigEntry *entry = calloc(1, sizeof *entry);

    (void)rigs;
    if (!entry)
        return error_set(err, STATUS_NO_MEMORY, "no room for a file");
    if (parse(file, options, entry, err)) {
        rigs_drop(entry);
        return err->status;
    }
    *out = entry;
    return STATUS_OK;
}

void rigs_keep(Rigs *rigs, RigEntry *entry, const char *id, const char *sha256)
{
    (void)snprintf(entry->id, sizeof entry->id, "%s", id);
    (void)snprintf(entry->sha256, sizeof entry->sha256, "%s", sha256);
    entry->used_ns = time_steady_ns();
    uv_mutex_lock(&rigs->mutex);
    bool is_known = find(rigs, id) != NULL;
    if (!is_known) {
        entry->next = rigs->first;
        rigs->first = entry;
        make_room(rigs);
    }
    uv_mutex_unlock(&rigs->mutex);
    if (is_known)
        rigs_drop(entry);
}

/* From the store's file into the entry. */
static Status load(Rigs *rigs, AssetKind kind, RigEntry *entry, Error *err)
{
    struct App *app = rigs->app;
    Arena arena;
    Asset asset;
    int file = -1;
    int64_t size = 0;
    Bytes bytes = {0};

    if (arena_create(&arena, 16 << 20, err))
        return err->status;
    if (store_find_asset(app->store, kind, entry->id, &arena, &asset, err) ||
        blob_open(app->blobs, asset.sha256, &file, &size, err))
        goto done;
    (void)snprintf(entry->sha256, sizeof entry->sha256, "%s", asset.sha256);
    if (!file_map(file, size, &bytes, err)) {
        AssetOptions options = rigs_options(app, asset.unit, asset.is_z_up, asset.name);

        parse(bytes, &options, entry, err);
        file_unmap(bytes);
    }
    (void)close(file);
done:
    arena_destroy(&arena);
    return err->status;
}

/* The entry of that id with one more reference; `*out_is_mine` when the caller must load it. */
static RigEntry *refer(Rigs *rigs, const char *id, bool *out_is_mine)
{
    RigEntry *entry = find(rigs, id);

    *out_is_mine = false;
    while (entry && entry->is_loading) {
        uv_cond_wait(&rigs->loaded, &rigs->mutex);
        entry = find(rigs, id);
    }
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        if (!entry)
            return NULL;
        (void)snprintf(entry->id, sizeof entry->id, "%s", id);
        entry->is_loading = true;
        entry->next = rigs->first;
        rigs->first = entry;
        *out_is_mine = true;
    }
    entry->references++;
    return entry;
}

Status rigs_acquire(Rigs *rigs, AssetKind kind, const char *id, RigEntry **out, Error *err)
{
    bool is_mine = false;

    uv_mutex_lock(&rigs->mutex);
    RigEntry *entry = refer(rigs, id, &is_mine);
    uv_mutex_unlock(&rigs->mutex);
    if (!entry)
        return error_set(err, STATUS_NO_MEMORY, "no room for a file");
    if (is_mine) {
        load(rigs, kind, entry, err);
        uv_mutex_lock(&rigs->mutex);
        entry->is_loading = false;
        if (err->status)
            unlink_entry(rigs, entry);
        else
            make_room(rigs);
        uv_cond_broadcast(&rigs->loaded);
        uv_mutex_unlock(&rigs->mutex);
        if (err->status) {
            rigs_drop(entry);
            return err->status;
        }
    }
    *out = entry;
    return STATUS_OK;
}

void rigs_forget(Rigs *rigs, const char *id)
{
    uv_mutex_lock(&rigs->mutex);
    RigEntry *entry = find(rigs, id);
    if (entry) {
        entry->is_forgotten = true;
        drop_if_forgotten(rigs, entry);
    }
    uv_mutex_unlock(&rigs->mutex);
}

void rigs_release(Rigs *rigs, RigEntry *entry)
{
    if (!entry)
        return;
    uv_mutex_lock(&rigs->mutex);
    entry->references--;
    entry->used_ns = time_steady_ns();
    drop_if_forgotten(rigs, entry);
    make_room(rigs);
    uv_mutex_unlock(&rigs->mutex);
}
