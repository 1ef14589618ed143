/* Part of options.h: the options that every command has beside those of its table. */
#include "data/cli/option_rows.h"
#include "data/cli/options_impl.h"
#include "data/util/log.h"
#include "data/util/startup.h"

#include <stdlib.h>
#include <string.h>

struct common_settings {
    bool quiet, verbose;
    int64_t threads; /* 0: not given */
};

#define AT(field) offsetof(struct common_settings, field)

static const struct option table[] = {
    FLAG_OPTION("quiet", AT(quiet), "tell of errors only"),
    FLAG_OPTION("verbose", AT(verbose), "tell of details too"),
    INT_OPTION("threads", AT(threads), "N", 1, THREADS_MAX, "CPU threads, before OMP_NUM_THREADS"),
};

/* Takes the place of c; its settings end with the common ones. */
static struct command *extend(const struct command *c)
{
    struct command *made = xmalloc(sizeof *made);
    size_t own = (size_t)option_count(c->options);
    size_t at = (c->size + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
    struct option *options = xcalloc(own + ARRAY_LEN(table) + 1, sizeof *options);
    char *defaults = xcalloc(1, at + sizeof(struct common_settings));

    if (own)
        memcpy(options, c->options, own * sizeof *options);
    memcpy(options + own, table, sizeof table);
    for (size_t i = own; i < own + ARRAY_LEN(table); i++)
        options[i].offset += at;
    if (c->defaults)
        memcpy(defaults, c->defaults, c->size);
    *made = *c;
    made->options = options;
    made->defaults = defaults;
    made->size = at + sizeof(struct common_settings);
    return made;
}

struct program program_extend(const struct program *p)
{
    const struct command **commands = xcalloc((size_t)p->n_commands + 1, sizeof *commands);
    struct program made = *p;

    for (int i = 0; i < p->n_commands; i++)
        commands[i] = extend(p->commands[i]);
    made.commands = commands;
    return made;
}

static void discard(const void *made)
{
    free((void *)(uintptr_t)made);
}

void program_release(struct program *p)
{
    for (int i = 0; i < p->n_commands; i++) {
        discard(p->commands[i]->options);
        discard(p->commands[i]->defaults);
        discard(p->commands[i]);
    }
    discard(p->commands);
}

int common_obey(const struct command *c, const void *settings, struct error *err)
{
    struct common_settings s;

    memcpy(&s, (const char *)settings + c->size - sizeof s, sizeof s);
    if (s.quiet && s.verbose)
        return error_set(err, EXIT_CODE_USAGE, "expected one of --quiet and --verbose, got both");
    if (s.quiet || s.verbose)
        log_set_level(s.quiet ? LOG_ERROR : LOG_DEBUG);
    if (s.threads)
        threads_set((int)s.threads);
    return 0;
}
