#include "server/jobs/hub.h"

#include <string.h>

void hub_init(Hub *hub, Pace *pace, int64_t last_event)
{
    *hub =
        (Hub){.waiting = {.pace = pace}, .last_event = last_event, .beaten_ns = time_steady_ns()};
    (void)uv_mutex_init(&hub->mutex);
}

void hub_destroy(Hub *hub)
{
    uv_mutex_destroy(&hub->mutex);
}

static bool concerns(const StoreNews *news, const Waiter *waiter)
{
    if (!waiter->job[0] || news->job_count > news->capacity)
        return true;
    for (int i = 0; i < news->job_count; i++)
        if (strcmp(news->job[i], waiter->job) == 0)
            return true;
    return false;
}

void hub_publish(Hub *hub, const StoreNews *news)
{
    uv_mutex_lock(&hub->mutex);
    if (news->last_event > hub->last_event)
        hub->last_event = news->last_event;
    for (Waiter *waiter = hub->waiting.first; waiter;) {
        Waiter *next = waiter->next;

        if (concerns(news, waiter))
            waiter_wake(&hub->waiting, waiter);
        waiter = next;
    }
    uv_mutex_unlock(&hub->mutex);
}

void hub_tick(Hub *hub, int64_t now_ns, int64_t heartbeat_ns)
{
    uv_mutex_lock(&hub->mutex);
    if (now_ns - hub->beaten_ns >= heartbeat_ns) {
        hub->beaten_ns = now_ns;
        hub->beat++;
        waiter_wake_all(&hub->waiting);
    }
    for (Waiter *waiter = hub->waiting.first; waiter;) {
        Waiter *next = waiter->next;

        if (now_ns >= waiter->deadline_ns)
            waiter_wake(&hub->waiting, waiter);
        waiter = next;
    }
    uv_mutex_unlock(&hub->mutex);
}

void hub_shut(Hub *hub)
{
    uv_mutex_lock(&hub->mutex);
    hub->is_closing = true;
    waiter_wake_all(&hub->waiting);
    uv_mutex_unlock(&hub->mutex);
}

int64_t hub_last_event(Hub *hub)
{
    uv_mutex_lock(&hub->mutex);
    int64_t last = hub->last_event;
    uv_mutex_unlock(&hub->mutex);
    return last;
}

unsigned hub_beat(Hub *hub)
{
    uv_mutex_lock(&hub->mutex);
    unsigned beat = hub->beat;
    uv_mutex_unlock(&hub->mutex);
    return beat;
}

HubLook hub_wait(Hub *hub, Waiter *waiter, int64_t *seen, unsigned *beat)
{
    HubLook look = HUB_WAITING;

    uv_mutex_lock(&hub->mutex);
    if (hub->is_closing)
        look = HUB_CLOSING;
    else if (hub->last_event > *seen)
        look = HUB_NEWS;
    else if (hub->beat != *beat)
        look = HUB_BEAT;
    else if (time_steady_ns() >= waiter->deadline_ns)
        look = HUB_LATE;
    else
        waiter_suspend(&hub->waiting, waiter);
    *seen = hub->last_event;
    *beat = hub->beat;
    uv_mutex_unlock(&hub->mutex);
    return look;
}
