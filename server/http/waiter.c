#include "server/http/waiter.h"

void waiter_suspend(WaitList *list, Waiter *waiter)
{
    waiter->previous = NULL;
    waiter->next = list->first;
    if (list->first)
        list->first->previous = waiter;
    list->first = waiter;
    waiter->is_linked = true;
    MHD_suspend_connection(waiter->connection);
}

void waiter_resume(WaitList *list, Waiter *waiter)
{
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        list->first = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
    waiter->next = NULL;
    waiter->previous = NULL;
    waiter->is_linked = false;
    MHD_resume_connection(waiter->connection);
}

void waiter_resume_all(WaitList *list)
{
    while (list->first)
        waiter_resume(list, list->first);
}
