#include "data/base/log.h"

#include "data/base/visible.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool bar_shown;  /* the cursor is behind a progress bar */
static int chosen = -1; /* level set by log_set_level; -1: none */
static bool muted;

/* The level that AMBIT_LOG names: LOG_INFO if it is unset or empty, -1 if it is invalid. */
static int environment_level(void)
{
    static const char *const names[] = { "error", "warn", "info", "debug" };
    const char *name = getenv("AMBIT_LOG");
    for (int i = 0; name && i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return name && *name ? -1 : LOG_INFO;
}

static enum log_level level(void)
{
    int named = environment_level();
    if (chosen >= 0)
        return (enum log_level)chosen;
    return named < 0 ? LOG_INFO : (enum log_level)named;
}

static struct {
    pthread_mutex_t lock;
    bool set;
    log_sink_fn *call;
    void *user;
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

void log_set_sink(log_sink_fn *call, void *user)
{
    pthread_mutex_lock(&sink.lock);
    sink.set = true;
    sink.call = call;
    sink.user = user;
    pthread_mutex_unlock(&sink.lock);
}

/* Passes the message to the sink.  False if none was set. */
static bool __attribute__((format(printf, 2, 0))) sent(enum log_level l, const char *fmt, va_list ap)
{
    char text[1024];

    pthread_mutex_lock(&sink.lock);
    bool set = sink.set;
    log_sink_fn *call = sink.call;
    void *user = sink.user;
    pthread_mutex_unlock(&sink.lock);
    if (call) {
        vsnprintf(text, sizeof text, fmt, ap);
        call(user, (int)l, text);
    }
    return set;
}

void log_set_level(enum log_level level)
{
    chosen = (int)level;
}

void log_mute(void)
{
    muted = true;
}

int log_check_environment(struct error *err)
{
    if (environment_level() >= 0)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "AMBIT_LOG: expected error, warn, info or debug, got '%.100s'",
                     getenv("AMBIT_LOG"));
}

bool log_may_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR");
    int fd = fileno(out);
    return fd >= 0 && isatty(fd) && !(no && *no);
}

static void __attribute__((format(printf, 4, 0)))
print_message(enum log_level l, const char *label, const char *colour, const char *fmt, va_list ap)
{
    if (sent(l, fmt, ap) || muted || l > level())
        return;
    bool paint = *label && log_may_colour(stderr);
    if (bar_shown)
        fputs("\r\033[K", stderr);
    bar_shown = false;
    fprintf(stderr, "%s%s%s", paint ? colour : "", label, paint ? "\033[0m" : "");
    visible_vprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

#define LOG_FUNCTION(name, l, label, colour)                                                                           \
    void name(const char *fmt, ...)                                                                                    \
    {                                                                                                                  \
        va_list ap;                                                                                                    \
        va_start(ap, fmt);                                                                                             \
        print_message(l, label, colour, fmt, ap);                                                                      \
        va_end(ap);                                                                                                    \
    }

LOG_FUNCTION(log_error, LOG_ERROR, "error: ", "\033[1;31m")
LOG_FUNCTION(log_warn, LOG_WARN, "warning: ", "\033[1;33m")
LOG_FUNCTION(log_info, LOG_INFO, "", "")
LOG_FUNCTION(log_debug, LOG_DEBUG, "debug: ", "\033[2m")

double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "1:02:03" or "2:03" */
static void clock_text(char *text, size_t size, double seconds)
{
    long s = seconds < 0 || seconds > 1e8 ? 0 : lround(seconds);
    if (s >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

static void bar_text(char *text, size_t size, double part)
{
    enum { CELLS = 24 };
    int full = (int)(part * CELLS);
    snprintf(text, size, "[%.*s%*s] ", full, "========================", CELLS - full, "");
}

static void show(const struct progress *p, double now, const char *note, bool bar)
{
    char line[512] = "", left[32] = "", cells[64] = "";
    double spent = now - p->start, part = p->total > 0 ? fmin((double)p->done / (double)p->total, 1) : 0;
    int n;

    if (bar && p->total > 0)
        bar_text(cells, sizeof cells, part);
    if (p->total > 0)
        n = snprintf(line, sizeof line, "%s %s%lld/%lld (%.0f %%)", p->what, cells, (long long)p->done,
                     (long long)p->total, 100 * part);
    else
        n = snprintf(line, sizeof line, "%s %lld", p->what, (long long)p->done);
    if (spent > 0 && n < (int)sizeof line)
        n += snprintf(line + n, sizeof line - (size_t)n, ", %.4g %s/s", p->units / spent, p->unit);
    int64_t fresh = p->done - p->before;
    if (fresh > 0 && part < 1 && p->total > 0 && n < (int)sizeof line) {
        clock_text(left, sizeof left, spent * (double)(p->total - p->done) / (double)fresh);
        n += snprintf(line + n, sizeof line - (size_t)n, ", %s left", left);
    }
    if (note && *note && n < (int)sizeof line)
        snprintf(line + n, sizeof line - (size_t)n, ", %s", note);
    fprintf(stderr, bar ? "\r%s\033[K" : "%s\n", line);
    bar_shown = bar;
}

void progress_start(struct progress *p, const char *what, const char *unit, int64_t total)
{
    double now = now_seconds();
    *p = (struct progress){ .what = what, .unit = unit, .total = total, .start = now, .shown = now };
}

void progress_update(struct progress *p, int64_t done, double units, const char *note)
{
    bool bar = isatty(STDERR_FILENO);
    double now = now_seconds();
    p->done = done;
    p->units = units;
    if (units <= 0)
        p->before = done;
    if (now - p->shown < (bar ? 0.1 : 10.0) || level() < LOG_INFO)
        return;
    p->shown = now;
    show(p, now, note, bar);
}

void progress_end(struct progress *p)
{
    char spent[32];
    double now = now_seconds();
    if (bar_shown)
        fputs("\r\033[K", stderr);
    bar_shown = false;
    clock_text(spent, sizeof spent, now - p->start);
    log_info("%s: %lld done in %s, %.4g %s/s", p->what, (long long)p->done, spent,
             p->units / fmax(now - p->start, 1e-9), p->unit);
}
