#include "data/base/stop.h"

#include "data/base/log.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t requested;
static unsigned max_seconds; /* 0: no limit */
static int noted;

static void on_signal(int sig)
{
    if (requested)
        _exit(128 + sig);
    requested = sig;
    alarm(max_seconds);
}

static void on_alarm(int sig)
{
    (void)sig;
    _exit(128 + (int)requested);
}

static void install(int flags)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(SIGINT, &action, NULL) == 0, "SIGINT cannot be handled");
    CHECK(sigaction(SIGTERM, &action, NULL) == 0, "SIGTERM cannot be handled");
}

void stop_install(void)
{
    install(SA_RESTART);
}

void stop_install_waiting(void)
{
    install(0);
}

void stop_install_bounded(unsigned seconds)
{
    struct sigaction action = { .sa_handler = on_alarm };

    sigemptyset(&action.sa_mask);
    CHECK(sigaction(SIGALRM, &action, NULL) == 0, "SIGALRM cannot be handled");
    max_seconds = seconds;
    install(0);
}

int stop_requested(void)
{
    return (int)requested;
}

void stop_note(int sig)
{
    noted = sig;
}

enum exit_code stop_exit_code(void)
{
    int sig = requested ? (int)requested : noted;

    if (!sig)
        return EXIT_CODE_OK;
    return sig == SIGTERM ? EXIT_CODE_SIGTERM : EXIT_CODE_SIGINT;
}

static _Thread_local struct work_limit *innermost;

void work_limit_begin(struct work_limit *l)
{
    l->deadline = now_seconds() + l->seconds;
    l->around = innermost;
    innermost = l;
}

void work_limit_end(struct work_limit *l)
{
    CHECK(innermost == l, "a limit of work ends while an inner one lasts");
    innermost = l->around;
}

double work_limit_left(void)
{
    double deadline = INFINITY;

    for (const struct work_limit *l = innermost; l; l = l->around)
        deadline = fmin(deadline, l->deadline);
    return innermost ? fmax(0, deadline - now_seconds()) : INFINITY;
}

bool work_limit_abandoned(void)
{
    for (const struct work_limit *l = innermost; l; l = l->around)
        if (l->abandoned && l->abandoned(l->user))
            return true;
    return false;
}

bool work_limit_ended(void)
{
    return work_limit_left() <= 0 || work_limit_abandoned();
}
