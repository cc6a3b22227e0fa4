/* Backup: a second data folder with what the first one holds at one moment, made beside a server
 * that may be running on it. It takes no lock there, checkpoints nothing, and reads the database in
 * one short transaction; files are linked where both folders lie on one file system.
 *
 * The copy grows in DEST.partial and gets its name when it is whole, checked and synced. What is
 * left of one that was interrupted is used again. */
#pragma once

#include "server/store/check.h"

typedef struct BackupReport {
    int64_t files, bytes; /* beside the database */
    int64_t linked;       /* files of them that share their bytes with the original */
    int tries;         /* copies of the database: more than one where much was deleted meanwhile */
    CheckReport check; /* of the copy: what is missing in the original is missing here */
} BackupReport;

/* CONFLICT when DEST is there and not empty, or another backup to it is running. */
NODISCARD Status store_backup(const char *folder, const char *dest, BackupReport *report,
                              Error *err);
