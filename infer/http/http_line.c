/* Part of http.h: the line in which requests wait. */
#include "infer/http/http_impl.h"

#include <errno.h>
#include <time.h>

enum { MOMENT = 100000000 }; /* nanoseconds after which who waits looks whether to stop */

void http_line_init(struct http_line *l)
{
    pthread_condattr_t clock;

    *l = (struct http_line){ 0 };
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC); /* which nobody sets back */
    pthread_cond_init(&l->some, &clock);
    pthread_condattr_destroy(&clock);
}

bool http_line_add(struct http_line *l, struct http_job *job)
{
    pthread_mutex_lock(&l->lock);
    bool room = !l->closed && l->n < HTTP_MAX_WAITING;
    if (room) {
        job->next = NULL;
        *(l->last ? &l->last->next : &l->first) = job;
        l->last = job;
        l->n++;
        pthread_cond_signal(&l->some);
    }
    pthread_mutex_unlock(&l->lock);
    return room;
}

struct http_job *http_line_take(struct http_line *l)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += MOMENT;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&l->lock);
    if (!l->first && !l->closed)
        pthread_cond_timedwait(&l->some, &l->lock, &until);
    struct http_job *job = l->first;
    if (job) {
        l->first = job->next;
        l->last = l->first ? l->last : NULL;
        l->n--;
    }
    pthread_mutex_unlock(&l->lock);
    return job;
}

int http_line_length(struct http_line *l)
{
    pthread_mutex_lock(&l->lock);
    int n = l->n;
    pthread_mutex_unlock(&l->lock);
    return n;
}

void http_line_close(struct http_line *l)
{
    pthread_mutex_lock(&l->lock);
    l->closed = true;
    pthread_mutex_unlock(&l->lock);
}
