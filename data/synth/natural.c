#include "data/synth/natural.h"

#include "data/base/log.h"
#include "data/corpora/spider.h"
#include "data/schema/schema.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql.h"
#include "data/synth/ask_columns.h"
#include "data/synth/hard_negative.h"
#include "data/synth/linguistic.h"
#include "data/synth/schema_edit.h"
#include "data/synth/several.h"
#include "data/synth/under_specify.h"
#include "kernels/arena.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A change of a schema. */
struct change {
    const bool *dropped; /* NULL: none */
    int renamed;         /* -1: none */
    const char *name;
};

static bool is_dropped(const struct change *x, int column)
{
    return x->dropped && x->dropped[column];
}

static bool keeps_columns(const struct schema_table *t, const struct change *x)
{
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (!is_dropped(x, c))
            return true;
    return false;
}

static void add_table(struct schema_build *b, const struct schema *s, const struct schema_table *t,
                      const struct change *x, int *number)
{
    int table = schema_build_table(b, t->name, t->text);

    schema_build_form(b, table, t->form);
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const struct schema_column *column = &s->columns[c];
        bool renamed = c == x->renamed;
        if (is_dropped(x, c))
            continue;
        number[c] = schema_build_column(b, table, renamed ? x->name : column->name, renamed ? NULL : column->text,
                                        column->type);
        schema_build_compared(b, number[c], column->affinity, column->collation);
        if (column->primary)
            schema_build_primary(b, number[c]);
    }
}

static void build(struct schema *out, const struct schema *s, const struct change *x, const char *db_id)
{
    int *number = xcalloc((size_t)s->n_columns + 1, sizeof *number);
    struct schema_build b;

    schema_build_init(&b, db_id);
    for (int t = 0; t < s->n_tables; t++)
        if (keeps_columns(&s->tables[t], x))
            add_table(&b, s, &s->tables[t], x, number);
    for (int k = 0; k < s->n_foreign_keys; k++) {
        const struct schema_foreign_key *key = &s->foreign_keys[k];
        if (!is_dropped(x, key->from) && !is_dropped(x, key->to))
            schema_build_foreign_key(&b, number[key->from], number[key->to]);
    }
    schema_build_finish(&b, out);
    free(number);
}

void schema_without(struct schema *out, const struct schema *s, const bool *dropped, const char *db_id)
{
    build(out, s, &(struct change){ .dropped = dropped, .renamed = -1 }, db_id);
}

void schema_with_name(struct schema *out, const struct schema *s, int column, const char *name, const char *db_id)
{
    build(out, s, &(struct change){ .renamed = column, .name = name }, db_id);
}

/* The caller frees the key. */
static char *make_key(const struct schema *s, const bool *dropped)
{
    char *key = NULL;
    size_t size;
    FILE *f = open_memstream(&key, &size);

    CHECK(f, "cannot write to memory");
    fprintf(f, "%s %lld", s->db_id, (long long)s->serial);
    for (int c = 0; c < s->n_columns; c++)
        if (dropped[c])
            fprintf(f, " %d", c);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return key;
}

static void make_form(struct schema_form *form, struct natural *n, const struct schema *s, const bool *dropped)
{
    size_t columns = (size_t)s->n_columns;
    struct schema made;

    *form = (struct schema_form){ .of = s, .dropped = xcalloc(columns + 1, sizeof *dropped) };
    memcpy(form->dropped, dropped, columns * sizeof *dropped);
    form->db_id = strings_printf(&n->out->splits[SPLIT_TRAIN].text, "%s__natural%d", s->db_id, n->out->schemas.n + 1);
    schema_without(&made, s, dropped, form->db_id);
    CHECK(schema_set_add(&n->out->schemas, &made, NULL) == 0, "schema %s twice", form->db_id);
}

const char *schema_store_get(struct natural *n, const struct schema *s, const bool *dropped)
{
    struct schema_store *store = n->schemas;
    char *key = make_key(s, dropped);
    int before = store->keys.n, at = strings_add(&store->keys, key);

    free(key);
    if (at == before) {
        GROW(store->forms, before, store->cap);
        make_form(&store->forms[at], n, s, dropped);
    }
    return store->forms[at].db_id;
}

static bool has_all(const struct schema_form *form, const struct schema *s, const bool *wanted)
{
    for (int c = 0; c < s->n_columns; c++)
        if (wanted[c] && form->dropped[c])
            return false;
    return true;
}

const char *schema_store_any(struct natural *n, const struct schema *s, const bool *wanted)
{
    const struct schema_store *store = n->schemas;
    const char *db_id = NULL;
    uint32_t fit = 0;

    for (int i = 0; i < store->keys.n; i++)
        if (store->forms[i].of == s && has_all(&store->forms[i], s, wanted) && rng_below(&n->rng, ++fit) == 0)
            db_id = store->forms[i].db_id;
    if (db_id)
        return db_id;
    bool *none = xcalloc((size_t)s->n_columns + 1, sizeof *none);
    db_id = schema_store_get(n, s, none);
    free(none);
    return db_id;
}

static void schema_store_release(struct schema_store *store)
{
    for (int i = 0; i < store->keys.n; i++)
        free(store->forms[i].dropped);
    strings_release(&store->keys);
    free(store->forms);
    *store = (struct schema_store){ 0 };
}

enum { SQL_ARENA_BYTES = 64 << 20 };

/* The order matters: a later generator may use the examples of the earlier ones. */
static natural_generator *const generators[] = { several_make,     under_specify_make, ask_columns_make,
                                                 schema_edit_make, linguistic_make,    hard_negative_make };

bool natural_claim(struct natural *n, const char *question, enum data_split split)
{
    int before = n->questions.n, at = strings_add(&n->questions, question);

    if (at == before) {
        GROW(n->split_of, before, n->questions_cap);
        n->split_of[at] = split;
    }
    return n->split_of[at] == split;
}

/* Takes ownership of the schema. */
static const struct schema *keep_schema(struct natural *n, struct schema s)
{
    struct schema *kept = xmalloc(sizeof *kept);

    *kept = s;
    GROW(n->made, n->n_made, n->made_cap);
    n->made[n->n_made++] = kept;
    return kept;
}

const struct schema *natural_join(struct natural *n, const struct schema *a, const struct schema *b)
{
    const struct schema *const both[] = { a, b };
    struct schema s;

    schema_join(&s, both, 2);
    s.db_id = strings_printf(&n->out->splits[SPLIT_TRAIN].text, "%s__%s", a->db_id, b->db_id);
    return keep_schema(n, s);
}

const struct schema *natural_rename(struct natural *n, const struct schema *s, int column, const char *name)
{
    struct schema renamed;

    schema_with_name(&renamed, s, column, name,
                     strings_printf(&n->out->splits[SPLIT_TRAIN].text, "%s__%s", s->db_id, name));
    return keep_schema(n, renamed);
}

static void made_release(struct natural *n)
{
    for (int i = 0; i < n->n_made; i++) {
        schema_release(n->made[i]);
        free(n->made[i]);
    }
    free(n->made);
}

void natural_add(struct natural *n, enum data_split split, const struct example *e)
{
    struct example x = *e;

    x.id = x.id ? x.id : "";
    example_list_add(&n->out->splits[split], &x);
}

bool natural_touch(struct natural *n, const char *sql, const struct schema *s, bool *flags)
{
    struct sql_uses uses;
    size_t mark = arena_mark(&n->sql);
    struct sql_query *q = sql_parse(&n->sql, sql, NULL);
    bool ok = q && sql_resolve(&n->sql, q, s, &uses, NULL) == 0;

    for (int i = 0; ok && i < uses.n; i++)
        if (uses.list[i].column >= 0)
            flags[uses.list[i].column] = true;
    arena_reset(&n->sql, mark);
    return ok;
}

static void corpus_release(struct natural_corpus *c)
{
    schema_set_close(&c->schemas);
    spider_release(&c->questions);
    free(c->split);
    free(c->asked);
    free(c->db);
}

static int check_questions(const struct natural_corpus *c, const char *path, struct error *err)
{
    for (int i = 0; i < c->questions.n; i++)
        if (!schema_find(&c->schemas, c->questions.items[i].db_id))
            return error_set(err, EXIT_CODE_DATA,
                             "%s: record %d: field \"db_id\": expected a database of tables.json, got \"%s\"", path,
                             i + 1, c->questions.items[i].db_id);
    return 0;
}

/* Databases without questions belong to other splits. */
static void mark_asked(struct natural_corpus *c)
{
    c->asked = xcalloc((size_t)c->schemas.n, sizeof *c->asked);
    for (int i = 0; i < c->schemas.n; i++)
        c->asked[i] = c->questions.n == 0;
    for (int i = 0; i < c->questions.n; i++)
        c->asked[schema_find(&c->schemas, c->questions.items[i].db_id) - c->schemas.schemas] = true;
}

/* Returns the last part of a path. text keeps it. */
static const char *base_name(struct strings *text, const char *dir)
{
    size_t n = strlen(dir);

    while (n > 1 && dir[n - 1] == '/')
        n--;
    size_t at = n;
    while (at > 0 && dir[at - 1] != '/')
        at--;
    return strings_printf(text, "%.*s", (int)(n - at), dir + at);
}

static int corpus_read(struct natural_corpus *c, const char *dir, struct error *err)
{
    char *tables = path_in(dir, "tables.json"), *questions = path_in(dir, "train_spider.json");
    int rc = schema_set_open(&c->schemas, tables, err);

    if (rc == 0)
        rc = spider_read(&c->questions, questions, err);
    if (rc == 0)
        rc = check_questions(c, questions, err);
    if (rc == 0)
        mark_asked(c);
    c->name = base_name(&c->questions.text, dir);
    c->db = path_in(dir, "db");
    if (access(c->db, F_OK)) {
        free(c->db);
        c->db = NULL;
    }
    free(tables);
    free(questions);
    return rc;
}

/* Returns the split that has the database in `known`, or SPLITS. */
static enum data_split known_fold(const struct dataset *known, const char *db_id)
{
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < known->splits[f].n; i++)
            if (strcmp(known->splits[f].items[i].source_db, db_id) == 0)
                return (enum data_split)f;
    return SPLITS;
}

/* Assigns splits. Databases without questions get none of their own. */
static void share_out(struct natural *n, struct natural_corpus *c, const struct dataset *known)
{
    int *order = xcalloc((size_t)c->schemas.n, sizeof *order), free_ones = 0;

    c->split = xcalloc((size_t)c->schemas.n, sizeof *c->split);
    for (int i = 0; i < c->schemas.n; i++) {
        c->split[i] = known_fold(known, c->schemas.schemas[i].db_id);
        if (c->split[i] == SPLITS)
            order[free_ones++] = i;
    }
    rng_shuffle(&n->rng, order, free_ones, sizeof *order);
    int test = (int)ceil(free_ones * n->options->test_share), valid = (int)ceil(free_ones * n->options->valid_share);
    for (int i = 0; i < free_ones; i++)
        c->split[order[i]] = i < test ? SPLIT_TEST : i < test + valid ? SPLIT_VALID : SPLIT_TRAIN;
    free(order);
}

static int read_all(struct natural *n, struct natural_corpus *corpora, char *const *dirs, int count, struct error *err)
{
    struct dataset known = { 0 };
    int rc = n->options->splits ? dataset_read(&known, n->options->splits, err) : 0;

    for (int i = 0; i < count && rc == 0; i++) {
        rc = corpus_read(&corpora[i], dirs[i], err);
        if (rc == 0)
            share_out(n, &corpora[i], &known);
    }
    dataset_release(&known);
    return rc;
}

/* Order and ids must not reveal which examples were made together. */
static void shuffle(struct natural *n)
{
    for (int f = 0; f < SPLITS; f++) {
        struct example_list *l = &n->out->splits[f];
        rng_shuffle(&n->rng, l->items, l->n, sizeof *l->items);
        for (int i = 0; i < l->n; i++)
            l->items[i].id = strings_printf(&l->text, "natural-%s-%06d", split_name((enum data_split)f), i + 1);
    }
}

int natural_build(struct dataset *out, const struct natural_options *o, char *const *dirs, int n_dirs,
                  struct error *err)
{
    struct schema_store store = { 0 };
    struct natural n = { .options = o, .out = out, .schemas = &store, .rng = { .seed = o->seed } };
    struct natural_corpus *corpora = xcalloc((size_t)n_dirs, sizeof *corpora);

    *out = (struct dataset){ 0 };
    int rc = arena_init(&n.sql, SQL_ARENA_BYTES, err);
    if (rc == 0)
        rc = read_all(&n, corpora, dirs, n_dirs, err);
    for (int m = 0; m < ARRAY_LEN(generators); m++)
        for (int i = 0; i < n_dirs && rc == 0; i++)
            rc = (generators[m] == several_make) == (o->several > 0) ? generators[m](&n, &corpora[i], err) : 0;
    if (rc == 0)
        shuffle(&n);
    if (rc == 0)
        rc = dataset_check_splits(out, err);
    for (int i = 0; i < n_dirs; i++)
        corpus_release(&corpora[i]);
    free(corpora);
    schema_store_release(&store);
    made_release(&n);
    strings_release(&n.questions);
    free(n.split_of);
    arena_release(&n.sql);
    return rc;
}

/* Prints the counts of one list by source and reason. */
static void print_list(const struct example_list *l, enum data_split split, FILE *out)
{
    struct strings keys = { 0 };
    int(*counts)[2] = xcalloc((size_t)l->n + 1, sizeof *counts);

    for (int i = 0; i < l->n; i++) {
        const struct example *e = &l->items[i];
        char key[256];
        snprintf(key, sizeof key, "%-14s %-22s %s", e->source, e->reason, example_type_name(e));
        counts[strings_add(&keys, key)][e->ambiguous]++;
    }
    for (int k = 0; k < keys.n; k++)
        fprintf(out, "%-6s %s %9d %14d\n", split_name(split), keys.items[k], counts[k][1], counts[k][0]);
    free(counts);
    strings_release(&keys);
}

void natural_print(const struct dataset *d, FILE *out)
{
    fprintf(out, "%-6s %-14s %-22s %s %9s %14s\n", "split", "source", "reason", "k", "ambiguous", "not ambiguous");
    for (int f = 0; f < SPLITS; f++)
        print_list(&d->splits[f], (enum data_split)f, out);
}
