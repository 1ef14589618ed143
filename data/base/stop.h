/*
 * stop.h - reasons to stop early: a signal, a time limit or a client that no longer waits.
 *
 * After SIGINT or SIGTERM a run finishes its step, saves and exits with the signal's code.  The first signal only sets
 * a flag that the run polls.  A second signal ends the process at once.  Time limits belong to a thread; the caller
 * owns their structs.  Nothing here fails.
 */
#ifndef DATA_BASE_STOP_H
#define DATA_BASE_STOP_H

#include "kernels/base.h"

/* Installs the signal handlers.  Interrupted system calls are restarted. */
void stop_install(void);
/* The same for a program that waits for input: the signal also interrupts a blocked read with EINTR. */
void stop_install_waiting(void);
/* The same, but the process exits with the signal's code no later than this many seconds after the signal. */
void stop_install_bounded(unsigned seconds);
/* 0, SIGINT or SIGTERM. */
int stop_requested(void);
/* Records that another process of this run received the signal (0: none).  Only the exit code depends on it. */
void stop_note(int sig);
/* EXIT_CODE_SIGINT or EXIT_CODE_SIGTERM after stop_requested() or stop_note() of a signal, otherwise EXIT_CODE_OK. */
enum exit_code stop_exit_code(void);

/*
 * A time limit for a piece of work of the calling thread, and a test whether a client still waits for it.
 *
 * Long steps poll the innermost limit.  An SQL statement gets the remaining seconds and is killed if the work is
 * abandoned; text generation stops.  Limits nest: an inner limit ends no later than the limits around it.  A thread
 * without a limit runs to the end.
 */
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
/* Whether no client waits for the work any more, by the callbacks of all limits of the thread. */
bool work_limit_abandoned(void);
/* Whether the time is over or the work is abandoned. */
bool work_limit_ended(void);

#endif
