/*
 * work_limit.h - a time limit for a piece of work of the calling thread, and a test whether a client still waits for
 * it.
 *
 * Long steps poll the innermost limit.  An SQL statement gets the remaining seconds and is killed if the work is
 * abandoned; text generation stops.  Limits nest: an inner limit ends no later than the limits around it.  A thread
 * without a limit runs to the end.
 */
#ifndef DATA_UTIL_WORK_LIMIT_H
#define DATA_UTIL_WORK_LIMIT_H

#include "kernels/base.h"

struct work_limit {
    double seconds;
    bool (*abandoned)(void *user); /* polled often: whether no client waits for the work any more; may be NULL */
    void *user;
    /* set by work_limit_begin: */
    double deadline;
    struct work_limit *around;
};

/* Starts the limit; work_limit_end ends it.  The struct must not move in between. */
void work_limit_begin(struct work_limit *l);
/* Ends the innermost limit. */
void work_limit_end(struct work_limit *l);

/* Remaining seconds of the calling thread, at least 0; INFINITY without a limit. */
double work_limit_left(void);
bool work_limit_abandoned(void);
/* Whether the time is over or the work is abandoned. */
bool work_limit_ended(void);

#endif
