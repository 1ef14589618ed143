#include "train/run/run_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *field(void *settings, const struct option *o)
{
    return (char *)settings + o->offset;
}

static const struct option *find(const struct command *c, const char *name)
{
    const struct option *o = c->options;

    while (o->name && strcmp(o->name, name))
        o++;
    CHECK(o->name, "%s has no option %s", c->name, name);
    return o;
}

static size_t value_size(const struct option *o)
{
    switch (o->type) {
    case OPTION_FLAG:
        return sizeof(bool);
    case OPTION_INT:
        return sizeof(int64_t);
    case OPTION_REAL:
        return sizeof(double);
    case OPTION_CHOICE:
        return sizeof(int);
    default:
        return sizeof(const char *);
    }
}

/* What the folder keeps, and over it what was given. */
static int take_kept(struct run_request *r, const struct command *c, const struct call *call, const char *path,
                     struct error *err)
{
    memcpy(r->settings, c->defaults, c->size);
    if (yaml_read(path, c->options, r->settings, NULL, &r->texts, err))
        return -1;
    for (int i = 0; c->options[i].name; i++) {
        const struct option *o = &c->options[i];
        if (!call->seen || call->seen[i])
            memcpy(field(r->settings, o), (const char *)call->options + o->offset, value_size(o));
    }
    return 0;
}

/* Paths that hold wherever the run goes on. */
static void name_from_root(struct run_request *r, const struct option *o)
{
    const char **value = field(r->settings, o);
    char *cwd = NULL, *path = NULL;

    if (!option_reads(o) || !*value || **value == '/' || !**value || strcmp(*value, "-") == 0)
        return;
    CHECK((cwd = getcwd(NULL, 0)) && asprintf(&path, "%s/%s", cwd, *value) >= 0, "no path of %s", *value);
    *value = texts_add(&r->texts, path);
    free(cwd);
    free(path);
}

static int complete(struct run_request *r, const struct command *c, const char *out, struct error *err)
{
    for (const struct option *o = c->options; o->name; o++) {
        name_from_root(r, o);
        if (o->required && o->type == OPTION_STRING && !*(const char **)field(r->settings, o))
            return error_set(err, EXIT_CODE_USAGE,
                             "--%s %s is required: %s has no " RUN_CONFIG " of a run to go on with", o->name, o->value,
                             out);
    }
    return 0;
}

int run_request_init(struct run_request *r, const struct command *c, const struct call *call, struct error *err)
{
    char path[4096];

    *r = (struct run_request){ .settings = xmalloc(c->size) };
    memcpy(r->settings, call->options, c->size);
    const char *out = *(const char **)field(r->settings, find(c, "out"));
    bool resume = *(const bool *)field(r->settings, find(c, "resume"));
    if (snprintf(path, sizeof path, "%s/" RUN_CONFIG, out) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", out);
    if (resume && access(path, F_OK) == 0 && take_kept(r, c, call, path, err))
        return -1;
    return complete(r, c, out, err);
}

void run_request_release(struct run_request *r)
{
    free(r->settings);
    texts_release(&r->texts);
    *r = (struct run_request){ 0 };
}
