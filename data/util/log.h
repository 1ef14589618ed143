/*
 * log.h - what a person sees on standard error: messages and progress.  Data never goes there, and logs never go to
 * standard output.  AMBIT_LOG=error|warn|info|debug sets the level (info by default), log_set_level overrides it;
 * NO_COLOR is obeyed.
 */
#ifndef DATA_UTIL_LOG_H
#define DATA_UTIL_LOG_H

#include "kernels/base.h"

#include <stdio.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
/* Nothing more is said, not even errors: another process says it. */
void log_mute(void);
/* -1 with EXIT_CODE_USAGE when AMBIT_LOG names no level. */
int log_check_environment(struct error *err);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whether what is written there may have colours: it is a terminal, and NO_COLOR is not set. */
bool log_may_colour(FILE *out);

/* A bar with rate and time left on a terminal, one plain line every ten seconds elsewhere. */
struct progress {
    const char *what, *unit;    /* "training", "pairs" */
    int64_t total, done;        /* total 0: unknown */
    double start, shown, units; /* units counts what the rate is of */
};
void progress_start(struct progress *p, const char *what, const char *unit, int64_t total);
/* done of total; units of work since the start; note (may be NULL) is shown behind, for example "loss 0.31". */
void progress_update(struct progress *p, int64_t done, double units, const char *note);
void progress_end(struct progress *p);

/* Seconds of a clock that never goes back. */
double now_seconds(void);

#endif
