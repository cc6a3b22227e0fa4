/* Rigs: parsed assets in memory, shared by the jobs that use them, kept until others need the room.
 *
 * Threads of the pool only: reading a file takes its time. One mutex guards the table; a rig that
 * is being read is waited for, not read twice. */
#pragma once

#include "server/store/store.h"
#include "sim/assets.h"

struct App;
typedef struct Rigs Rigs;

/* One asset in memory, kept by references. */
typedef struct RigEntry {
    const Rig *rig;
    char id[STORE_ID_SIZE];
    char sha256[SHA256_HEX_SIZE]; /* of the file's bytes */
    Arena arena;
    int references;
    bool is_loading;
    bool is_forgotten; /* the store has it no more */
    int64_t used_ns;
    struct RigEntry *next;
} RigEntry;

NODISCARD Status rigs_open(struct App *app, Rigs **out, Error *err);
void rigs_close(Rigs *rigs);

/* The asset of that id; NOT_FOUND when the store has none. */
NODISCARD Status rigs_acquire(Rigs *rigs, AssetKind kind, const char *id, RigEntry **out,
                              Error *err);
void rigs_release(Rigs *rigs, RigEntry *entry);

/* What a file is read with. */
AssetOptions rigs_options(const struct App *app, double unit, bool is_z_up, const char *name);
/* Reads a file that is not in the store yet into an entry of its own. */
NODISCARD Status rigs_read(Rigs *rigs, Bytes file, const AssetOptions *options, RigEntry **out,
                           Error *err);
/* The entry into the table, under the id; the caller's reference is given up. */
void rigs_keep(Rigs *rigs, RigEntry *entry, const char *id, const char *sha256);
/* The store has the asset no more: who has it keeps it, nobody else gets it. */
void rigs_forget(Rigs *rigs, const char *id);
/* The entry of rigs_read when it is not wanted. */
void rigs_drop(RigEntry *entry);
