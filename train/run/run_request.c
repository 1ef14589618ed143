#include "train/run/run_request.h"

#include "data/base/build.h"

#include <inttypes.h>
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

/* Takes the settings in the folder, then overrides them by those given on the command line. */
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

/* Makes input paths absolute, so that the run can be resumed from any directory. */
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

/* ---- checkpoints ---- */

static json_t *value_of(const struct option *o, const void *request)
{
    const char *at = (const char *)request + o->offset;
    char word[64];

    switch (o->type) {
    case OPTION_FLAG:
        return json_boolean(*(const bool *)at);
    case OPTION_INT:
        return json_integer(*(const int64_t *)(const void *)at);
    case OPTION_REAL:
        return json_real(*(const double *)(const void *)at);
    case OPTION_CHOICE:
        option_show(o, request, word, sizeof word);
        return json_string(word);
    default:
        return json_string(*(const char *const *)(const void *)at);
    }
}

json_t *run_meta(const char *kind, int64_t seed, uint64_t data_hash, const struct option *table, const void *request,
                 size_t from)
{
    char hash[20];
    json_t *settings = json_object();

    for (const struct option *o = table; o->name; o++)
        if (o->offset >= from)
            json_object_set_new(settings, o->name, value_of(o, request));
    snprintf(hash, sizeof hash, "%016" PRIx64, data_hash);
    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:o}", "kind", kind, "version", build_version(), "commit",
                     build_commit(), "seed", (json_int_t)seed, "data_hash", hash, "settings", settings);
}

static bool take_value(const struct option *o, void *request, const json_t *value)
{
    char *at = (char *)request + o->offset;

    switch (o->type) {
    case OPTION_FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case OPTION_INT:
        *(int64_t *)(void *)at = json_integer_value(value);
        return json_is_integer(value);
    case OPTION_REAL:
        *(double *)(void *)at = json_number_value(value);
        return json_is_number(value);
    case OPTION_CHOICE:
        return json_is_string(value) && option_set(o, request, json_string_value(value), NULL) == 0;
    default:
        *(const char **)(void *)at = json_string_value(value);
        return json_is_string(value);
    }
}

int run_meta_settings(const json_t *meta, const struct option *table, void *request, size_t from, const char *where,
                      struct error *err)
{
    const json_t *settings = json_object_get(meta, "settings");

    for (const struct option *o = table; o->name; o++) {
        const json_t *value = o->offset >= from ? json_object_get(settings, o->name) : NULL;
        if (value && !take_value(o, request, value))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: settings: %s is of another type", where, o->name);
    }
    return 0;
}

static bool listed(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name))
        list++;
    return *list != NULL;
}

enum { FORM = JSON_ENCODE_ANY | JSON_REAL_PRECISION(9) };

static int refuse(const char *name, const json_t *now, const json_t *old, const char *where, struct error *err)
{
    char *given = json_dumps(now, FORM), *began = old ? json_dumps(old, FORM) : NULL;

    error_set(err, EXIT_CODE_USAGE, "%s: %s: the run to resume has %.200s, got %.200s; another --out starts anew",
              where, name, began ? began : "none", given ? given : "none");
    free(given);
    free(began);
    return -1;
}

int run_meta_check(const json_t *now, const json_t *saved, const char *const *free, const char *const *same,
                   const char *where, struct error *err)
{
    const json_t *old = json_object_get(saved, "settings");
    const char *name;
    json_t *value;
    int rc = 0;

    /* clang-format off */
    json_object_foreach(json_object_get(now, "settings"), name, value)
        if (rc == 0 && !listed(free, name) && !json_equal(value, json_object_get(old, name)))
            rc = refuse(name, value, json_object_get(old, name), where, err);
    /* clang-format on */
    for (; rc == 0 && *same; same++)
        if (!json_equal(json_object_get(now, *same), json_object_get(saved, *same)))
            rc = refuse(*same, json_object_get(now, *same), json_object_get(saved, *same), where, err);
    return rc;
}

int run_meta_check_epochs(const json_t *now, const json_t *saved, const char *where, struct error *err)
{
    const json_t *wanted = json_object_get(json_object_get(now, "settings"), "epochs");
    const json_t *old = json_object_get(json_object_get(saved, "settings"), "epochs");
    json_int_t n = json_integer_value(wanted), began = json_integer_value(old);

    return n == began || (began && n > began) ? 0 : refuse("epochs", wanted, old, where, err);
}
