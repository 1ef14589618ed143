#include "train/run/order_thread.h"

#include <signal.h>
#include <time.h>

static bool may_work(const struct order_thread *t)
{
    return t->done < t->allowed && !t->rc;
}

/* The lock is held. */
static void do_next(struct order_thread *t)
{
    struct error err = { .text = "" };
    int piece = t->done;

    pthread_mutex_unlock(&t->lock);
    int rc = t->fn(t->arg, piece, &err);
    pthread_mutex_lock(&t->lock);
    t->rc = rc;
    t->err = err;
    t->done++;
    pthread_cond_broadcast(&t->turn);
}

static void *run(void *arg)
{
    struct order_thread *t = arg;

    pthread_mutex_lock(&t->lock);
    while (!t->over)
        if (may_work(t))
            do_next(t);
        else
            pthread_cond_wait(&t->turn, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

void order_thread_start(struct order_thread *t, order_fn *fn, void *arg)
{
    sigset_t all, before;

    *t = (struct order_thread){ .fn = fn, .arg = arg, .running = true };
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->turn, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    CHECK(pthread_create(&t->thread, NULL, run, t) == 0, "no thread for sums over ranks");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void order_thread_end(struct order_thread *t)
{
    if (!t->running)
        return;
    pthread_mutex_lock(&t->lock);
    t->over = true;
    pthread_cond_broadcast(&t->turn);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->turn);
    pthread_mutex_destroy(&t->lock);
    t->running = false;
}

void order_thread_round(struct order_thread *t, int n)
{
    pthread_mutex_lock(&t->lock);
    t->n = n;
    t->allowed = t->done = t->rc = 0;
    pthread_mutex_unlock(&t->lock);
}

void order_thread_allow(struct order_thread *t, int allowed)
{
    pthread_mutex_lock(&t->lock);
    t->allowed = allowed;
    pthread_cond_broadcast(&t->turn);
    pthread_mutex_unlock(&t->lock);
}

static bool round_over(const struct order_thread *t)
{
    return t->done == t->n || t->rc;
}

bool order_thread_wait(struct order_thread *t, int64_t microseconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + microseconds * 1000;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&t->lock);
    if (!round_over(t))
        pthread_cond_timedwait(&t->turn, &t->lock, &until);
    bool over = round_over(t);
    pthread_mutex_unlock(&t->lock);
    return over;
}

int order_thread_result(struct order_thread *t, struct error *err)
{
    pthread_mutex_lock(&t->lock);
    int rc = t->rc;
    if (rc && err)
        *err = t->err;
    pthread_mutex_unlock(&t->lock);
    return rc;
}
