/*
 * log.h - messages and progress bars on standard error.
 *
 * Data never goes to standard error and messages never go to standard output.  AMBIT_LOG=error|warn|info|debug sets the
 * level (default: info); log_set_level() overrides it.  With NO_COLOR there are no colours.  Nothing here fails except
 * log_check_environment().
 */
#ifndef DATA_BASE_LOG_H
#define DATA_BASE_LOG_H

#include "kernels/base.h"

#include <stdio.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_set_level(enum log_level level);
/* Suppresses all messages, errors too, since another process prints them. */
void log_mute(void);
/* Passes messages, with their enum log_level, to a function in place of printing them; NULL drops them.  Any thread may
 * call the function, which borrows the text.  log_set_level() and AMBIT_LOG do not apply.  May be called at any time.
 */
typedef void log_sink_fn(void *user, int level, const char *text);
void log_set_sink(log_sink_fn *sink, void *user);
/* -1 with EXIT_CODE_USAGE if AMBIT_LOG is not a level. */
int log_check_environment(struct error *err);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whether output to this stream may be coloured: the stream is a terminal and NO_COLOR is not set. */
bool log_may_colour(FILE *out);

/* A progress bar with the rate and the remaining time on a terminal; elsewhere one line every ten seconds. */
struct progress {
    const char *what, *unit;    /* "training", "pairs" */
    int64_t total, done;        /* total 0: unknown */
    int64_t before;             /* items that were done before any work, by an earlier run */
    double start, shown, units; /* units: the amount of work that the rate counts */
};
/* what: name of the work; unit: unit of the rate.  Both are borrowed until the end. */
void progress_start(struct progress *p, const char *what, const char *unit, int64_t total);
/* done: items of total; units: work since the start; note (may be NULL): a text behind the bar such as "loss 0.31". */
void progress_update(struct progress *p, int64_t done, double units, const char *note);
/* Removes the bar and logs the total, the time and the mean rate. */
void progress_end(struct progress *p);

/* Seconds of the monotonic clock. */
double now_seconds(void);

#endif
