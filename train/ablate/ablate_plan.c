#include "train/ablate/ablate_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char PUBLISHED[] = "published"; /* of a row, no option */

/* What the plan, the folder or the command line say of a run. */
static const char *const reserved[] = { "out",    "seed",   "resume",   "force",           "dry-run", "config",
                                        "device", "linker", "no-graph", "shard-optimizer", "states" };

static int check_options(const struct ablate_plan *p, const struct yaml_tree *mapping, struct error *err)
{
    if (mapping->kind != YAML_MAPPING)
        return yaml_tree_fail(p->path, mapping->at, err, "expected a mapping of options");
    for (int i = 0; i < mapping->n; i++)
        for (int k = 0; k < ARRAY_LEN(reserved); k++)
            if (strcmp(mapping->children[i].key, reserved[k]) == 0)
                return yaml_tree_fail(p->path, mapping->children[i].key_at, err, "%s: is not for a plan to say",
                                      reserved[k]);
    return 0;
}

/* Rows are folders. */
static bool is_name(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == strlen(text) &&
           text[0] != '.' && text[0] != '-' && strlen(text) <= 64 && strcmp(text, "linker") != 0 &&
           strcmp(text, "states") != 0;
}

static int read_row(struct ablate_plan *p, const struct yaml_tree *t, struct error *err)
{
    struct ablate_row *row = &p->rows[p->n_rows++];

    if (!is_name(t->key))
        return yaml_tree_fail(p->path, t->key_at, err,
                              "expected a row's name of letters, digits, '-', '_' and '.', got \"%s\"", t->key);
    *row = (struct ablate_row){ t->key, "", t };
    if (check_options(p, t, err))
        return -1;
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->children[i].key, PUBLISHED) == 0 && t->children[i].text)
            row->published = t->children[i].text;
    return 0;
}

static int read_rows(struct ablate_plan *p, const struct yaml_tree *t, struct error *err)
{
    if (t->kind != YAML_MAPPING || !t->n)
        return yaml_tree_fail(p->path, t->at, err, "rows: expected a mapping of at least one row");
    p->rows = xcalloc((size_t)t->n, sizeof *p->rows);
    for (int i = 0; i < t->n; i++)
        if (read_row(p, &t->children[i], err))
            return -1;
    return 0;
}

static int read_seed(struct ablate_plan *p, const struct yaml_tree *t, struct error *err)
{
    const char *text = t->kind == YAML_SCALAR ? t->text : "";
    char *end;

    errno = 0;
    long long seed = strtoll(text, &end, 10);
    if (!*text || *end || errno || seed < 0)
        return yaml_tree_fail(p->path, t->at, err, "expected a seed of at least 0, got \"%s\"", text);
    if (p->n_seeds == ABLATE_SEEDS_MAX)
        return yaml_tree_fail(p->path, t->at, err, "expected at most %d seeds", ABLATE_SEEDS_MAX);
    for (int i = 0; i < p->n_seeds; i++)
        if (p->seeds[i] == seed)
            return yaml_tree_fail(p->path, t->at, err, "seed %lld stands here twice", seed);
    p->seeds[p->n_seeds++] = seed;
    return 0;
}

static int read_seeds(struct ablate_plan *p, const struct yaml_tree *t, struct error *err)
{
    if (t->kind != YAML_LIST)
        return read_seed(p, t, err);
    for (int i = 0; i < t->n; i++)
        if (read_seed(p, &t->children[i], err))
            return -1;
    return 0;
}

static int read_hours(struct ablate_plan *p, const struct yaml_tree *t, struct error *err)
{
    const char *text = t->kind == YAML_SCALAR ? t->text : "";
    char *end;

    p->hours = strtod(text, &end);
    if (!*text || *end || !isfinite(p->hours) || p->hours <= 0)
        return yaml_tree_fail(p->path, t->at, err, "expected hours of more than 0, got \"%s\"", text);
    return 0;
}

static int read_part(struct ablate_plan *p, const struct yaml_tree *t, struct error *err)
{
    if (strcmp(t->key, "settings") == 0) {
        p->shared = t;
        return check_options(p, t, err);
    }
    if (strcmp(t->key, "linker") == 0) {
        p->linker = t;
        return check_options(p, t, err);
    }
    if (strcmp(t->key, "seeds") == 0)
        return read_seeds(p, t, err);
    if (strcmp(t->key, "hours") == 0)
        return read_hours(p, t, err);
    if (strcmp(t->key, "rows") == 0)
        return read_rows(p, t, err);
    return yaml_tree_fail(p->path, t->key_at, err, "expected settings, linker, seeds, hours or rows, got \"%s\"",
                          t->key);
}

int ablate_plan_read(struct ablate_plan *p, const char *path, struct error *err)
{
    *p = (struct ablate_plan){ .path = path, .hours = INFINITY };
    if (yaml_tree_read(&p->tree, path, err))
        return -1;
    for (int i = 0; p->tree.kind == YAML_MAPPING && i < p->tree.n; i++)
        if (read_part(p, &p->tree.children[i], err))
            return -1;
    if (!p->n_rows)
        return yaml_tree_fail(path, p->tree.at, err, "rows: expected at least one");
    if (!p->n_seeds)
        p->seeds[p->n_seeds++] = gate_request_defaults.seed;
    return 0;
}

void ablate_plan_release(struct ablate_plan *p)
{
    free(p->rows);
    yaml_tree_release(&p->tree);
    *p = (struct ablate_plan){ 0 };
}

static int add_options(const struct ablate_plan *p, const struct yaml_tree *t, const char *skip, struct gate_request *q,
                       struct texts *texts, struct error *err)
{
    return t ? yaml_tree_set(t, p->path, skip, gate_request_table, q, texts, err) : 0;
}

int ablate_plan_request(const struct ablate_plan *p, const struct ablate_row *row, struct gate_request *q,
                        struct texts *texts, struct error *err)
{
    *q = gate_request_defaults;
    if (add_options(p, p->shared, NULL, q, texts, err))
        return -1;
    if (row ? add_options(p, row->options, PUBLISHED, q, texts, err) : add_options(p, p->linker, NULL, q, texts, err))
        return -1;
    if (!row) {
        q->settings.encode = ENCODE_ELEMENT;
        q->settings.embedder = EMBEDDER_LINKER;
        q->settings.epochs = 0;
    }
    if (q->data)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "%s: settings: data: expected a folder of ambit-data contrast", p->path);
}
