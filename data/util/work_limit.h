/*
 * work_limit.h - how long the calling thread may go on with one piece of work, and whether anybody still waits for it.
 *
 * Long steps look at the innermost limit: a SQL statement gets the seconds that are left, and is killed when the work
 * is abandoned; generation of text ends.  Limits nest, and an inner one ends no later than those around it.  A thread
 * without a limit works as long as it takes.
 */
#ifndef DATA_UTIL_WORK_LIMIT_H
#define DATA_UTIL_WORK_LIMIT_H

#include "kernels/base.h"

struct work_limit {
    double seconds;
    bool (*abandoned)(void *user); /* whether nobody waits for the work any more, asked often; or NULL */
    void *user;
    /* set by work_limit_begin: */
    double deadline;
    struct work_limit *around;
};

/* From now on, until work_limit_end; the struct stays where it is in between. */
void work_limit_begin(struct work_limit *l);
/* Ends the innermost one. */
void work_limit_end(struct work_limit *l);

/* Seconds that are left to the calling thread, not below 0; INFINITY without a limit. */
double work_limit_left(void);
bool work_limit_abandoned(void);
/* Whether the time is over or the work is abandoned. */
bool work_limit_ended(void);

#endif
