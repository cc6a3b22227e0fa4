#include "server/jobs/plans.h"

#include <uv.h>

#include <stdlib.h>
#include <string.h>

enum { PLAN_COUNT = 512, USED_MAX = 64 << 10 };

typedef struct Plan {
    char key[SHA256_HEX_SIZE];
    char *used; /* NULL: free */
} Plan;

struct Plans {
    uv_mutex_t mutex;
    Plan plan[PLAN_COUNT];
    int next; /* to be replaced */
};

Status plans_open(Plans **out, Error *err)
{
    Plans *plans = calloc(1, sizeof *plans);

    if (!plans)
        return error_set(err, STATUS_NO_MEMORY, "no room for plans");
    (void)uv_mutex_init(&plans->mutex);
    *out = plans;
    return STATUS_OK;
}

void plans_close(Plans *plans)
{
    if (!plans)
        return;
    for (int i = 0; i < PLAN_COUNT; i++)
        free(plans->plan[i].used);
    uv_mutex_destroy(&plans->mutex);
    free(plans);
}

static Plan *find(Plans *plans, const char *key)
{
    for (int i = 0; i < PLAN_COUNT; i++)
        if (plans->plan[i].used && strcmp(plans->plan[i].key, key) == 0)
            return &plans->plan[i];
    return NULL;
}

const char *plans_find(Plans *plans, const char key[SHA256_HEX_SIZE], Arena *arena)
{
    uv_mutex_lock(&plans->mutex);
    const Plan *plan = find(plans, key);
    const char *used = plan ? arena_text(arena, plan->used, strlen(plan->used)) : NULL;
    uv_mutex_unlock(&plans->mutex);
    return used;
}

void plans_keep(Plans *plans, const char key[SHA256_HEX_SIZE], const char *used)
{
    char *copy = strlen(used) < USED_MAX ? strdup(used) : NULL;

    if (!copy)
        return;
    uv_mutex_lock(&plans->mutex);
    if (!find(plans, key)) {
        Plan *plan = &plans->plan[plans->next];

        plans->next = (plans->next + 1) % PLAN_COUNT;
        free(plan->used);
        plan->used = copy;
        memcpy(plan->key, key, SHA256_HEX_SIZE);
        copy = NULL;
    }
    uv_mutex_unlock(&plans->mutex);
    free(copy);
}
