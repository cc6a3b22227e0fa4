#include "server/http/waiter.h"

enum { AWAKE_MAX = 8 };

void pace_init(Pace *pace)
{
    *pace = (Pace){0};
    (void)uv_mutex_init(&pace->mutex);
}

void pace_destroy(Pace *pace)
{
    uv_mutex_destroy(&pace->mutex);
}

/* Behind all whose turn comes before. */
static void append(Pace *pace, Waiter *first, Waiter *last)
{
    last->next = NULL;
    if (pace->last)
        pace->last->next = first;
    else
        pace->first = first;
    pace->last = last;
}

/* Wakes as many as may be awake. */
static void fill(Pace *pace)
{
    while (pace->first && (pace->awake < AWAKE_MAX || pace->is_closing)) {
        Waiter *waiter = pace->first;

        pace->first = waiter->next;
        if (!pace->first)
            pace->last = NULL;
        waiter->next = NULL;
        waiter->woken_by = pace;
        pace->awake++;
        MHD_resume_connection(waiter->connection);
    }
}

void pace_shut(Pace *pace)
{
    uv_mutex_lock(&pace->mutex);
    pace->is_closing = true;
    fill(pace);
    uv_mutex_unlock(&pace->mutex);
}

void waiter_suspend(WaitList *list, Waiter *waiter)
{
    waiter->next = NULL;
    waiter->previous = list->last;
    if (list->last)
        list->last->next = waiter;
    else
        list->first = waiter;
    list->last = waiter;
    MHD_suspend_connection(waiter->connection);
}

void waiter_wake(WaitList *list, Waiter *waiter)
{
    Pace *pace = list->pace;

    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        list->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    else
        list->last = waiter->previous;
    uv_mutex_lock(&pace->mutex);
    append(pace, waiter, waiter);
    fill(pace);
    uv_mutex_unlock(&pace->mutex);
}

void waiter_wake_all(WaitList *list)
{
    Pace *pace = list->pace;

    if (!list->first)
        return;
    uv_mutex_lock(&pace->mutex);
    append(pace, list->first, list->last);
    list->first = list->last = NULL;
    fill(pace);
    uv_mutex_unlock(&pace->mutex);
}

bool waiter_arrived(Waiter *waiter)
{
    Pace *pace = waiter->woken_by;

    if (!pace)
        return false;
    waiter->woken_by = NULL;
    uv_mutex_lock(&pace->mutex);
    pace->awake--;
    fill(pace);
    uv_mutex_unlock(&pace->mutex);
    return true;
}

bool waiter_yield(Pace *pace, Waiter *waiter)
{
    uv_mutex_lock(&pace->mutex);
    bool must_wait = !pace->is_closing;
    if (must_wait) {
        MHD_suspend_connection(waiter->connection);
        append(pace, waiter, waiter);
        fill(pace);
    }
    uv_mutex_unlock(&pace->mutex);
    return must_wait;
}
