/* Part of contrast.h: crossed pairs, the folds, and their examples. */
#include "data/contrast/contrast_impl.h"

#include "data/schema/schema_build.h"
#include "data/stats/pairing.h"
#include "data/util/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Records of one database and kind, in file order. */
struct record_group {
    const struct contrast *c;
    int *records;
    int n, cap;
};

static const bool *column_flags(const struct contrast *c, const struct contrast_question *q)
{
    return q->touched + c->in->schemas.schemas[q->db].n_tables;
}

/* All that a question wants of an element's table stands in the table that J or P adds, so that the new table would do
 * for the question too. */
static bool new_table_serves(const struct contrast *c, const struct contrast_question *q,
                             const struct contrast_element *e)
{
    const struct schema_table *t = &c->in->schemas.schemas[q->db].tables[e->a.table];

    if (e->a.kind == SIA_COLUMN || e->a.kind == SIA_TABLE || !q->touched[e->a.table])
        return false;
    for (int i = t->first_column; i < t->first_column + t->n_columns; i++) {
        bool there = e->a.kind == SIA_JOIN ? i == e->a.key || i == e->a.column : e->repeated[i];
        if (column_flags(c, q)[i] && !there)
            return false;
    }
    return true;
}

/* The question is as clear with the element doubled as without. */
static bool stays_clear(const struct contrast *c, const struct contrast_record *r, const struct contrast_record *other)
{
    const struct contrast_question *q = &c->questions[r->question];
    const struct contrast_element *e = &c->elements[other->element];
    bool touched = e->a.column < 0 ? q->touched[e->a.table] : column_flags(c, q)[e->a.column];
    return !touched && !new_table_serves(c, q, e);
}

static bool records_fit(const void *context, int i, int j)
{
    const struct record_group *g = context;
    const struct contrast_record *a = &g->c->records[g->records[i]], *b = &g->c->records[g->records[j]];
    return a->element != b->element && a->question != b->question && stays_clear(g->c, a, b) && stays_clear(g->c, b, a);
}

/* Both questions' own SQL still resolves on the other's schema: an invented name may clash with theirs. */
static bool resolves_crossed(struct contrast *c, const struct contrast_record *a, const struct contrast_record *b)
{
    return contrast_touch(c, a->source->original, &c->elements[b->element].both.schema, NULL) &&
           contrast_touch(c, b->source->original, &c->elements[a->element].both.schema, NULL);
}

/* Hands a schema over to the data set under the next free number of its database. */
static const char *give_schema(struct contrast *c, struct dataset *out, struct schema *s, int db, int *number)
{
    const char *db_id = c->in->schemas.schemas[db].db_id;
    if (number)
        db_id = strings_printf(&out->folds[FOLD_TRAIN].text, "%s__%d", db_id, ++*number);
    s->db_id = strings_keep(&out->folds[FOLD_TRAIN].text, db_id);
    CHECK(schema_set_add(&out->schemas, s, NULL) == 0, "schema %s twice", db_id);
    *s = (struct schema){ .db_id = s->db_id };
    return s->db_id;
}

static void emit(struct contrast *c, struct example_list *to, const struct contrast_record *r,
                 const struct contrast_schema *on, enum example_slice slice, const char *first, const char *second)
{
    const struct contrast_element *e = &c->elements[r->element];
    const struct schema *s = &c->in->schemas.schemas[e->db];
    struct example x = { .id = "", .db_id = on->schema.db_id, .source_db = s->db_id, .question = r->source->question };

    x.slice = slice;
    x.kind = e->a.kind;
    x.ambiguous = second != NULL;
    for (int i = 0; i < RENAMED_FORMS; i++)
        if (on->renamed[i])
            x.renamed[x.n_renamed++] = on->renamed[i];
    x.sql[x.n_sql++] = first;
    if (second) {
        x.sql[x.n_sql++] = second;
        for (int i = 0; i < 2; i++)
            x.alternatives[i] = alter_name(&to->text, s, &e->a, i, r->aggregate);
    }
    example_list_add(to, &x);
}

/* What one record of a pair gives: it stands on its own altered schema, on the other's, on the original one and on the
 * one with a single alternative. */
static void emit_record(struct contrast *c, struct example_list *to, const struct contrast_record *r,
                        const struct contrast_record *other, const struct contrast_schema *plain)
{
    const struct contrast_element *e = &c->elements[r->element];
    const char *const *readings = r->source->readings, *original = r->source->original;

    emit(c, to, r, &e->both, EXAMPLE_CROSSED, readings[0], readings[1]);
    emit(c, to, r, &c->elements[other->element].both, EXAMPLE_CROSSED, original, NULL);
    emit(c, to, r, plain, EXAMPLE_PRESENCE, original, NULL);
    emit(c, to, r, &e->one, EXAMPLE_PRESENCE, readings[e->which], NULL);
}

static void give_renamed(struct contrast *c, struct dataset *out, int db, const struct alteration *a,
                         struct contrast_schema *of, struct rng *rng, int *number)
{
    for (int i = 0; i < RENAMED_FORMS; i++) {
        struct schema s;
        if (contrast_rename(c, &s, of, db, a, rng) == 0)
            of->renamed[i] = give_schema(c, out, &s, db, number);
    }
}

/* New names are drawn from a sequence of their own: the rest of the data does not depend on them. */
static struct rng renaming_rng(const struct contrast *c, int db, int element)
{
    uint64_t key[3] = { c->options->seed, (uint64_t)db, (uint64_t)element };
    return (struct rng){ .seed = hash_bytes(HASH_START, key, sizeof key) };
}

static void give_element(struct contrast *c, struct dataset *out, int element, enum fold fold, int *number)
{
    struct contrast_element *e = &c->elements[element];
    struct rng rng = renaming_rng(c, e->db, element);
    if (e->emitted)
        return;
    bool both_first = rng_below(&c->rng, 2); /* so that the number does not tell the slice */
    struct contrast_schema *of[2] = { both_first ? &e->both : &e->one, both_first ? &e->one : &e->both };
    for (int i = 0; i < 2; i++)
        give_schema(c, out, &of[i]->schema, e->db, number);
    for (int i = 0; i < 2 && fold == FOLD_TRAIN; i++)
        give_renamed(c, out, e->db, &e->a, of[i], &rng, number);
    e->emitted = true;
}

/* All pairs of one database. */
struct db_pairs {
    struct pair *pairs; /* of record numbers */
    int n, cap;
};

static void emit_db(struct contrast *c, struct dataset *out, int db, const struct db_pairs *p, enum fold fold)
{
    const struct alteration none = { .kind = SIA_TABLE, .table = -1, .column = -1, .key = -1 };
    struct contrast_schema plain = { .form = ALTER_NONE, .placed = c->rng };
    struct rng rng = renaming_rng(c, db, -1);
    int number = 0;

    CHECK(alter_schema(&plain.schema, &c->in->schemas.schemas[db], &none, ALTER_NONE, "plain", &c->rng) == 0,
          "plain schema");
    give_schema(c, out, &plain.schema, db, NULL);
    if (fold == FOLD_TRAIN)
        give_renamed(c, out, db, &none, &plain, &rng, &number);
    for (int i = 0; i < p->n; i++) {
        const struct contrast_record *a = &c->records[p->pairs[i].a], *b = &c->records[p->pairs[i].b];
        give_element(c, out, a->element, fold, &number);
        give_element(c, out, b->element, fold, &number);
        emit_record(c, &out->folds[fold], a, b, &plain);
        emit_record(c, &out->folds[fold], b, a, &plain);
    }
}

static void match_group(struct contrast *c, const struct record_group *g, struct db_pairs *out, int *clashes)
{
    struct pair *pairs = xmalloc(((size_t)g->n / 2 + 1) * sizeof *pairs);
    int n = pairing_match(pairs, g->n, records_fit, g, &c->rng);

    for (int i = 0; i < n; i++) {
        struct pair p = { g->records[pairs[i].a], g->records[pairs[i].b] };
        if (!resolves_crossed(c, &c->records[p.a], &c->records[p.b])) {
            ++*clashes;
            continue;
        }
        GROW(out->pairs, out->n, out->cap);
        out->pairs[out->n++] = p;
    }
    free(pairs);
}

/* pairs: one for each database. */
static void match_all(struct contrast *c, struct db_pairs *pairs)
{
    int n_groups = c->in->schemas.n * SIA_KINDS, clashes = 0;
    struct record_group *groups = xcalloc((size_t)n_groups, sizeof *groups);

    for (int i = 0; i < c->in->ambiqt.n; i++) {
        const struct contrast_record *r = &c->records[i];
        if (!r->usable)
            continue;
        struct record_group *g = &groups[c->questions[r->question].db * SIA_KINDS + (int)r->source->kind];
        GROW(g->records, g->n, g->cap);
        g->records[g->n++] = i;
    }
    for (int i = 0; i < n_groups; i++) {
        groups[i].c = c;
        match_group(c, &groups[i], &pairs[i / SIA_KINDS], &clashes);
        free(groups[i].records);
    }
    if (clashes)
        log_info("pairs given up because an invented name clashes with the other question's SQL: %d", clashes);
    free(groups);
}

enum { SHARE_TRIES = 64 };

/* Pairs of each kind by database, and in all. */
struct kind_counts {
    int (*of_db)[SIA_KINDS];
    int all[SIA_KINDS];
};

static struct kind_counts count_kinds(const struct contrast *c, const struct db_pairs *pairs)
{
    struct kind_counts k = { .of_db = xcalloc((size_t)c->in->schemas.n, sizeof *k.of_db) };

    for (int db = 0; db < c->in->schemas.n; db++)
        for (int i = 0; i < pairs[db].n; i++) {
            int kind = (int)c->records[pairs[db].pairs[i].a].source->kind;
            k.of_db[db][kind]++;
            k.all[kind]++;
        }
    return k;
}

/* How far the kinds' shares of the first n databases are from the share that they should have. */
static double unevenness(const struct kind_counts *k, const int *order, int n, double share)
{
    double sum = 0;

    for (int kind = 0; kind < SIA_KINDS; kind++) {
        int count = 0;
        for (int i = 0; i < n; i++)
            count += k->of_db[order[i]][kind];
        sum += k->all[kind] ? fabs((double)count / k->all[kind] - share) : 0;
    }
    return sum;
}

/* A fold for each database that has pairs.  Of many shuffles the one counts whose folds have their share of every kind:
 * with so few aggregates a plain shuffle often leaves the test fold almost none. */
static void share_out(struct contrast *c, const struct db_pairs *pairs, enum fold *fold)
{
    size_t size = (size_t)c->in->schemas.n * sizeof(int);
    int *order = xmalloc(size), *best = xmalloc(size), n = 0;
    struct kind_counts k = count_kinds(c, pairs);
    double least = HUGE_VAL;

    for (int db = 0; db < c->in->schemas.n; db++)
        if (pairs[db].n)
            order[n++] = db;
    int test = (int)ceil(n * c->options->test_share), valid = (int)ceil(n * c->options->valid_share);
    test = test < n ? test : n;
    valid = valid < n - test ? valid : n - test;
    for (int try = 0; try < SHARE_TRIES; try++) {
        rng_shuffle(&c->rng, order, n, sizeof *order);
        double x = unevenness(&k, order, test, c->options->test_share) +
                   unevenness(&k, order + test, valid, c->options->valid_share);
        if (x < least) {
            least = x;
            memcpy(best, order, (size_t)n * sizeof *best);
        }
    }
    for (int i = 0; i < n; i++)
        fold[best[i]] = i < test ? FOLD_TEST : i < test + valid ? FOLD_VALID : FOLD_TRAIN;
    free(k.of_db);
    free(order);
    free(best);
}

/* Order and ids must not tell what belongs together. */
static void shuffle(struct example_list *l, enum fold fold, struct rng *rng)
{
    rng_shuffle(rng, l->items, l->n, sizeof *l->items);
    for (int i = 0; i < l->n; i++)
        l->items[i].id = strings_printf(&l->text, "%s-%06d", fold_name(fold), i + 1);
}

int contrast_emit(struct contrast *c, struct dataset *out, struct error *err)
{
    size_t n = (size_t)c->in->schemas.n;
    struct db_pairs *pairs = xcalloc(n, sizeof *pairs);
    enum fold *fold = xcalloc(n, sizeof *fold);
    int total = 0;

    match_all(c, pairs);
    share_out(c, pairs, fold);
    for (int db = 0; db < c->in->schemas.n; db++) {
        total += pairs[db].n;
        if (pairs[db].n)
            emit_db(c, out, db, &pairs[db], fold[db]);
        free(pairs[db].pairs);
    }
    for (int f = 0; f < FOLDS; f++)
        shuffle(&out->folds[f], (enum fold)f, &c->rng);
    free(pairs);
    free(fold);
    return total ? 0 : error_set(err, EXIT_CODE_DATA, "no two records can be paired");
}
