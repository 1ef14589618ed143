#include "data/corpora/mixture.h"

#include "data/base/records.h"
#include "data/schema/schema_build.h"
#include "kernels/rng.h"

#include <stdlib.h>
#include <string.h>

static const double MAX_SHARE = 100;

/* Texts and the splits in which earlier folders have them. */
struct known_texts {
    struct strings texts;
    int *splits, cap; /* [texts] */
};

struct mixing {
    struct mixture *m;
    struct dataset *d;
    const char *path;
    uint64_t seed;
    struct known_texts databases, questions;
};

static void known_add(struct known_texts *k, const char *text, int split)
{
    int before = k->texts.n, at = strings_add(&k->texts, text);

    if (at < before)
        return;
    GROW(k->splits, at, k->cap);
    k->splits[at] = split;
}

static bool known_elsewhere(const struct known_texts *k, const char *text, int split)
{
    int at = strings_find(&k->texts, text);
    return at >= 0 && k->splits[at] != split;
}

static void known_release(struct known_texts *k)
{
    strings_release(&k->texts);
    free(k->splits);
}

/* Returns the folder's path, and its last component; the caller frees the path. */
static char *folder_of(const struct mixing *x, const char *data, const char **name)
{
    const char *slash = *data == '/' ? NULL : strrchr(x->path, '/');
    char *path = NULL;

    CHECK(asprintf(&path, "%.*s%s", slash ? (int)(slash - x->path) + 1 : 0, x->path, data) >= 0, "no path of %s", data);
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = 0;
    const char *last = strrchr(path, '/');
    *name = last ? last + 1 : path;
    return path;
}

static int add_schemas(struct mixing *x, struct dataset *from, const char *part, struct error *err)
{
    while (from->schemas.n) {
        struct schema *last = &from->schemas.schemas[--from->schemas.n];
        last->db_id = strings_printf(&x->d->names, "%s/%s", part, last->db_id);
        if (schema_set_add(&x->d->schemas, last, err))
            return -1;
    }
    return 0;
}

static void add_example(struct mixing *x, const struct example *e, int split, const char *part, int times)
{
    struct strings text = { 0 };
    struct example copy = *e;

    copy.part = part;
    copy.id = strings_printf(&text, "%s/%s", part, e->id);
    copy.db_id = strings_printf(&text, "%s/%s", part, e->db_id);
    for (int i = 0; i < e->n_renamed; i++)
        copy.renamed[i] = strings_printf(&text, "%s/%s", part, e->renamed[i]);
    for (int i = 0; i < times; i++)
        example_list_add(&x->d->splits[split], &copy);
    strings_release(&text);
}

static int times_of(double share, struct rng *rng)
{
    return (int)share + (rng_uniform(rng) < (float)(share - (int)share));
}

static void add_split(struct mixing *x, const struct dataset *from, int split, struct mixture_part *part, double share)
{
    struct rng rng = { .seed = hash_bytes(x->seed, part->name, strlen(part->name)) };

    for (int i = 0; i < from->splits[split].n; i++) {
        const struct example *e = &from->splits[split].items[i];
        int times = split == SPLIT_TRAIN ? times_of(share, &rng) : 1;
        if (known_elsewhere(&x->databases, e->source_db, split) || known_elsewhere(&x->questions, e->question, split))
            part->left_out++;
        else
            add_example(x, e, split, part->name, times);
    }
}

/* Records the texts of a folder after all of it has been read. */
static void record_texts(struct mixing *x, const struct dataset *from)
{
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < from->splits[f].n; i++) {
            known_add(&x->databases, from->splits[f].items[i].source_db, f);
            known_add(&x->questions, from->splits[f].items[i].question, f);
        }
}

static int add_part(struct mixing *x, const char *folder, const char *name, double share, const char *where,
                    struct error *err)
{
    struct mixture *m = x->m;
    struct dataset part = { 0 };
    int rc = -1;

    if (m->n == MIXTURE_PARTS)
        return error_set(err, EXIT_CODE_DATA, "%s: expected at most %d folders", where, MIXTURE_PARTS);
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->parts[i].name, name) == 0)
            return error_set(err, EXIT_CODE_DATA, "%s: two folders are named \"%s\": set another \"name\"", where,
                             name);
    if (dataset_read(&part, folder, err) || dataset_check_splits(&part, err)) {
        error_prefix(err, "%s", where);
        goto out;
    }
    m->parts[m->n++] =
        (struct mixture_part){ strings_keep(&m->text, name), strings_printf(&m->text, "valid_ap/%s", name), 0 };
    for (int f = 0; f < SPLITS; f++)
        add_split(x, &part, f, &m->parts[m->n - 1], share);
    record_texts(x, &part);
    rc = add_schemas(x, &part, m->parts[m->n - 1].name, err);
out:
    dataset_release(&part);
    return rc;
}

/* A record_fn. */
static int read_part(void *mixing, json_t *record, const char *where, struct error *err)
{
    struct mixing *x = mixing;
    const char *own, *data = json_get_string(record, "data", where, err);
    const json_t *name = json_object_get(record, "name"), *share = json_object_get(record, "share");

    if (!data)
        return -1;
    if (name && (!json_is_string(name) || !*json_string_value(name)))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"name\": expected a non-empty string", where);
    double times = share ? json_number_value(share) : 1;
    if ((share && !json_is_number(share)) || !(times >= 0 && times <= MAX_SHARE))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"share\": expected a number from 0 to %g", where, MAX_SHARE);
    char *folder = folder_of(x, data, &own);
    int rc = add_part(x, folder, name ? json_string_value(name) : own, times, where, err);
    free(folder);
    return rc;
}

int mixture_read(struct mixture *m, struct dataset *d, const char *path, uint64_t seed, struct error *err)
{
    struct mixing x = { .m = m, .d = d, .path = path, .seed = seed };

    *m = (struct mixture){ 0 };
    *d = (struct dataset){ 0 };
    int rc = records_each_as_is(path, RECORDS_JSONL, read_part, &x, err);
    if (rc == 0 && !m->n)
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected {\"data\": FOLDER} on each line, got no line", path);
    known_release(&x.databases);
    known_release(&x.questions);
    return rc;
}

void mixture_release(struct mixture *m)
{
    strings_release(&m->text);
    *m = (struct mixture){ 0 };
}
