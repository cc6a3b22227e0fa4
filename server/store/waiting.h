/* Waiting: how many jobs are in each state, and the order of those that wait, in memory: counting
 * rows for each answer would take longer the longer the queue is. Internal to store/.
 *
 * Triggers of the writer's connection call in for every row of a job that comes, moves or goes,
 * whichever statement does it. What an open transaction has done counts for others once it is
 * committed. Threads: waiting_note, _mark, _revert and _commit on the store's; the others on any.
 */
#pragma once

#include "server/store/query.h"

#include <uv.h>

enum { PRIORITY_MAX = 10, LANE_COUNT = 2 * PRIORITY_MAX + 1 };

/* The waiting jobs of one priority: their `seq`, rising. */
typedef struct Lane {
    int64_t *seq;
    size_t first, end, capacity;
} Lane;

/* A job's row: in no state before it came and after it went (JOB_STATE_COUNT). */
typedef struct WaitingMove {
    JobState from, to;
    int priority;
    int64_t seq;
} WaitingMove;

typedef struct Waiting {
    uv_mutex_t mutex;
    Lane lane[LANE_COUNT]; /* the highest priority first */
    int64_t in_state[JOB_STATE_COUNT];
    /* of the open transaction */
    WaitingMove *move;
    int move_count, move_capacity;
} Waiting;

void waiting_init(Waiting *waiting);
void waiting_destroy(Waiting *waiting);
/* Reads what there is, and follows the writer from now on. */
NODISCARD Status waiting_follow(Waiting *waiting, Connection *writer, Error *err);

/* Moves so far, to revert to. */
int waiting_mark(const Waiting *waiting);
void waiting_revert(Waiting *waiting, int mark);
void waiting_commit(Waiting *waiting);
/* Jobs that wait, those of the open transaction included. */
int64_t waiting_count(Waiting *waiting);

/* From 1. */
int waiting_position(Waiting *waiting, int priority, int64_t seq);
void waiting_read_counts(Waiting *waiting, int64_t out[JOB_STATE_COUNT]);
