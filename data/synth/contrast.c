#include "data/synth/contrast.h"

#include "data/base/log.h"
#include "data/base/pairing.h"
#include "data/schema/schema_build.h"
#include "data/sql/sql.h"
#include "data/synth/alter.h"
#include "data/synth/probe.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A question of one database with all its rows and records. */
struct contrast_question {
    int db;
    bool usable;   /* all its SQL resolves, and no other database has the question */
    bool *touched; /* the tables, then the columns of the database that any of its SQL uses */
};

enum { RENAMED_FORMS = 3 }; /* of every training schema */

/* A schema for examples. */
struct contrast_schema {
    struct schema schema; /* moves to the data set, except its db_id */
    enum alter_form form;
    struct rng placed; /* the random state before new elements were placed, to place them equally again */
    const char *renamed[RENAMED_FORMS]; /* names of databases, NULL outside the training split */
};

/* An element that some record duplicates. */
struct contrast_element {
    int db;
    struct alteration a;
    bool *repeated;                   /* storage for a.repeated */
    bool usable;                      /* false if a schema could not be built */
    struct contrast_schema both, one; /* with both alternatives, and with one of them */
    int which;                        /* the alternative in `one` */
    bool emitted;                     /* the data set has its schemas */
};

struct contrast_record {
    const struct ambiqt_record *source;
    int question, element;
    int aggregate; /* P: the new column that the second interpretation uses */
    bool usable;
};

struct contrast {
    const struct contrast_options *options;
    const struct contrast_corpora *in; /* databases have the indices of its schemas */
    struct strings question_keys, element_keys;
    struct contrast_question *questions;
    struct contrast_element *elements;
    struct contrast_record *records; /* [in->ambiqt.n] */
    int questions_cap, elements_cap;
    struct arena sql; /* reset after each query */
    struct rng rng;
};

/* Step 1: collect the questions and elements of the records, alter the schemas, reject unusable records. */

/* The reason for rejecting a record. */
enum loss { LOSS_NONE, LOSS_ELEMENT, LOSS_SQL, LOSS_SHARED, LOSS_NAMES, LOSS_INTERPRETATIONS, LOSSES };

static const char *const loss_names[LOSSES] = { "usable",
                                                "element not in the schema",
                                                "SQL does not resolve",
                                                "question in several databases",
                                                "generated name not usable",
                                                "interpretations not distinct" };

/* Returns true if a query resolves on a schema. Sets the flags (n_tables + n_columns, may be NULL) of all used
 * elements. */
static bool contrast_touch(struct contrast *c, const char *sql, const struct schema *s, bool *flags)
{
    struct sql_uses uses;
    size_t mark = arena_mark(&c->sql);
    struct sql_query *q = sql_parse(&c->sql, sql, NULL);
    bool ok = q && sql_resolve(&c->sql, q, s, &uses, NULL) == 0;

    for (int i = 0; ok && flags && i < uses.n; i++) {
        if (uses.list[i].table >= 0)
            flags[uses.list[i].table] = true;
        if (uses.list[i].column >= 0)
            flags[s->n_tables + uses.list[i].column] = true;
    }
    arena_reset(&c->sql, mark);
    return ok;
}

/* Returns the question in lower case with single blanks, the key for equal questions. The caller frees it. */
static char *normalize(const char *question)
{
    char *s = xmalloc(strlen(question) + 1);
    size_t n = 0;

    for (const char *p = question; *p; p++)
        if (!isspace((unsigned char)*p))
            s[n++] = (char)tolower((unsigned char)*p);
        else if (n && s[n - 1] != ' ')
            s[n++] = ' ';
    n -= n && s[n - 1] == ' ';
    s[n] = 0;
    return s;
}

static bool *new_flags(const struct schema *s)
{
    return xcalloc((size_t)s->n_tables + (size_t)s->n_columns, sizeof(bool));
}

/* Returns the index of the question, adding it if new. */
static int find_question(struct contrast *c, int db, const char *question)
{
    char *text = normalize(question), *key = NULL;

    CHECK(asprintf(&key, "%d\x1f%s", db, text) >= 0, "cannot format a question");
    int before = c->question_keys.n, at = strings_add(&c->question_keys, key);
    if (at == before) {
        GROW(c->questions, before, c->questions_cap);
        c->questions[at] = (struct contrast_question){ db, true, new_flags(&c->in->schemas.schemas[db]) };
    }
    free(text);
    free(key);
    return at;
}

/* Returns the question of a key, which starts with the database's index. */
static const char *question_text(const struct contrast *c, int question)
{
    return strchr(c->question_keys.items[question], '\x1f') + 1;
}

static void add_sql(struct contrast *c, int question, const char *sql)
{
    struct contrast_question *q = &c->questions[question];
    if (!contrast_touch(c, sql, &c->in->schemas.schemas[q->db], q->touched))
        q->usable = false;
}

static int find_db(const struct contrast *c, const char *db_id, const char *what, struct error *err)
{
    const struct schema *s = schema_find(&c->in->schemas, db_id);
    if (!s)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\": expected a database of tables.json, got \"%s\"",
                         what, db_id);
    return (int)(s - c->in->schemas.schemas);
}

/* Rejects questions of several databases, which could fall into several splits. */
static void drop_shared(struct contrast *c)
{
    struct strings texts = { 0 };
    int *first = xcalloc((size_t)c->question_keys.n, sizeof *first);

    for (int i = 0; i < c->question_keys.n; i++) {
        int before = texts.n, at = strings_add(&texts, question_text(c, i));
        if (at == before) {
            first[at] = i;
            continue;
        }
        c->questions[i].usable = c->questions[first[at]].usable = false;
    }
    free(first);
    strings_release(&texts);
}

static int collect_questions(struct contrast *c, struct error *err)
{
    for (int i = 0; i < c->in->spider.n; i++) {
        const struct spider_question *q = &c->in->spider.items[i];
        int db = find_db(c, q->db_id, "train_spider.json", err);
        if (db < 0)
            return -1;
        add_sql(c, find_question(c, db, q->question), q->query);
    }
    for (int i = 0; i < c->in->ambiqt.n; i++) {
        const struct ambiqt_record *r = &c->in->ambiqt.items[i];
        int db = find_db(c, r->db_id, "an AmbiQT record", err);
        if (db < 0)
            return -1;
        c->records[i].source = r;
        c->records[i].question = find_question(c, db, r->question);
        add_sql(c, c->records[i].question, r->original);
    }
    return 0;
}

static int find_element(struct contrast *c, int db, const struct ambiqt_record *r)
{
    const struct schema *s = &c->in->schemas.schemas[db];
    struct alteration a;
    char key[64];

    if (alteration_find(&a, s, r))
        return -1;
    snprintf(key, sizeof key, "%d %d %d %d", (int)a.type, db, a.table, a.column);
    int before = c->element_keys.n, at = strings_add(&c->element_keys, key);
    if (at == before) {
        GROW(c->elements, before, c->elements_cap);
        bool *repeated = xcalloc((size_t)s->n_columns + 1, sizeof *repeated);
        a.repeated = repeated;
        c->elements[at] = (struct contrast_element){ .db = db, .a = a, .repeated = repeated };
    }
    return at;
}

/* Adds the columns that the second interpretation of a P record needs in the new table. */
static void add_repeated(struct contrast *c, const struct contrast_record *r)
{
    struct contrast_element *e = &c->elements[r->element];
    const struct schema *s = &c->in->schemas.schemas[e->db];
    const struct schema_table *t = &s->tables[e->a.table];
    bool *all = xcalloc((size_t)s->n_columns + 1, sizeof *all);
    struct alteration whole = e->a;
    struct schema full = { 0 };

    for (int i = t->first_column; i < t->first_column + t->n_columns; i++)
        all[i] = i != e->a.column;
    whole.repeated = all;
    if (alter_schema(&full, s, &whole, ALTER_BOTH, "full", &c->rng) == 0) {
        bool *flags = new_flags(&full);
        int table = schema_table_find(&full, e->a.new_table);
        contrast_touch(c, r->source->interpretations[1], &full, flags);
        for (int i = 0; i < full.tables[table].n_columns; i++) {
            int at = full.tables[table].first_column + i;
            int column = schema_column_find(s, e->a.table, full.columns[at].name);
            if (flags[full.n_tables + at] && column >= 0)
                e->repeated[column] = true;
        }
        free(flags);
    }
    schema_release(&full);
    free(all);
}

static bool make_schema(struct contrast *c, const struct contrast_element *e, struct contrast_schema *out,
                        enum alter_form form)
{
    const struct schema *s = &c->in->schemas.schemas[e->db];
    out->form = form;
    out->placed = c->rng;
    return alter_schema(&out->schema, s, &e->a, form, s->db_id, &c->rng) == 0;
}

static void collect_elements(struct contrast *c)
{
    for (int i = 0; i < c->in->ambiqt.n; i++) {
        struct contrast_record *r = &c->records[i];
        r->element = find_element(c, c->questions[r->question].db, r->source);
        if (r->element >= 0 && r->source->type == SIA_AGGREGATE)
            add_repeated(c, r);
    }
    for (int i = 0; i < c->element_keys.n; i++) {
        struct contrast_element *e = &c->elements[i];
        bool renamed = !ambiguity_types[e->a.type].new_table;
        e->which = renamed ? (int)rng_below(&c->rng, 2) : 1;
        e->usable = make_schema(c, e, &e->both, ALTER_BOTH) &&
                    make_schema(c, e, &e->one, e->which ? ALTER_SECOND : ALTER_FIRST);
    }
}

static bool is_touched(const struct schema *s, const bool *flags, const char *name)
{
    int table, column;
    if (example_element(s, name, &table, &column))
        return false;
    return column < 0 ? flags[table] : flags[s->n_tables + column];
}

/* Returns true if interpretation `which` uses its own alternative and not the other one. */
static bool reads_own(struct contrast *c, struct contrast_record *r, int which)
{
    const struct contrast_element *e = &c->elements[r->element];
    const struct schema *s = &c->in->schemas.schemas[e->db];
    struct strings text = { 0 };
    bool *flags = new_flags(&e->both.schema), own = false;

    if (contrast_touch(c, r->source->interpretations[which], &e->both.schema, flags)) {
        int n = which && e->a.type == SIA_AGGREGATE ? e->a.n_new_columns : 1;
        for (int i = n - 1; i >= 0; i--)
            if (is_touched(&e->both.schema, flags, alter_name(&text, s, &e->a, which, i))) {
                r->aggregate = i;
                own = true;
            }
        for (int i = 0; i < (which ? 1 : e->a.n_new_columns + (e->a.type != SIA_AGGREGATE)); i++)
            own = own && !is_touched(&e->both.schema, flags, alter_name(&text, s, &e->a, 1 - which, i));
    }
    strings_release(&text);
    free(flags);
    return own;
}

static enum loss judge(struct contrast *c, struct contrast_record *r, const bool *understood)
{
    const struct contrast_question *q = &c->questions[r->question];

    if (r->element < 0)
        return LOSS_ELEMENT;
    const struct contrast_element *e = &c->elements[r->element];
    const struct schema *s = &c->in->schemas.schemas[e->db];
    if (!understood[r->question])
        return LOSS_SQL;
    if (!q->usable)
        return LOSS_SHARED;
    if (!e->usable)
        return LOSS_NAMES;
    bool touched = e->a.column < 0 ? q->touched[e->a.table] : q->touched[s->n_tables + e->a.column];
    if (!touched || !reads_own(c, r, 0) || !reads_own(c, r, 1) ||
        !contrast_touch(c, r->source->interpretations[e->which], &e->one.schema, NULL))
        return LOSS_INTERPRETATIONS;
    return LOSS_NONE;
}

static void judge_all(struct contrast *c)
{
    int losses[AMBIQT_TYPES][LOSSES] = { { 0 } };
    bool *understood = xcalloc((size_t)c->question_keys.n, sizeof *understood);

    for (int i = 0; i < c->question_keys.n; i++)
        understood[i] = c->questions[i].usable;
    drop_shared(c);
    for (int i = 0; i < c->in->ambiqt.n; i++) {
        enum loss loss = judge(c, &c->records[i], understood);
        c->records[i].usable = loss == LOSS_NONE;
        losses[c->records[i].source->type][loss]++;
    }
    for (int k = 0; k < AMBIQT_TYPES; k++)
        for (int l = 0; l < LOSSES; l++)
            if (losses[k][l])
                log_info("%s records, %s: %d", sia_type_letter((enum sia_type)k), loss_names[l], losses[k][l]);
    free(understood);
}

/* Finds each record's question and element and alters the schemas. Rejects records with unresolved SQL, interpretations
 * that do not use their alternative, or clashing names. */
static int contrast_collect(struct contrast *c, struct error *err)
{
    c->records = xcalloc((size_t)c->in->ambiqt.n, sizeof *c->records);
    if (collect_questions(c, err))
        return -1;
    collect_elements(c);
    judge_all(c);
    return 0;
}

/* Step 2: forms of a schema in which other elements are renamed. */

static const float SHARE = 0.5f; /* share of the elements to rename */

/* The new names of a schema's elements. */
struct new_names {
    const struct schema *s;
    const struct alteration *a;
    const char **names; /* [tables, then columns] NULL: unchanged */
};

/* Elements of the alteration keep their names, since new elements are named after them. */
static bool is_altered(const struct alteration *a, int table, int column)
{
    return column < 0 ? table == a->table : column == a->column || column == a->key;
}

static bool is_invented(const struct alteration *a, const char *name)
{
    const char *const others[] = { a->names[0], a->names[1], a->new_table };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (others[i] && strcasecmp(others[i], name) == 0)
            return true;
    for (int i = 0; i < a->n_new_columns; i++)
        if (strcasecmp(a->new_columns[i], name) == 0)
            return true;
    return false;
}

/* Returns true if no element in [first, first + n) has the name, before or after renaming. */
static bool is_free(const struct new_names *r, int first, int n, const char *name)
{
    for (int i = first; i < first + n; i++) {
        const char *own = i < r->s->n_tables ? r->s->tables[i].name : r->s->columns[i - r->s->n_tables].name;
        if (strcasecmp(own, name) == 0 || (r->names[i] && strcasecmp(r->names[i], name) == 0))
            return false;
    }
    return name[0] && !strchr(name, '.') && !is_invented(r->a, name);
}

static void rename_element(struct new_names *r, const struct alteration *known, struct rng *rng)
{
    const struct schema_table *t = &r->s->tables[known->table];
    const char *name = known->names[rng_below(rng, 2)];
    bool chosen = rng_uniform(rng) < SHARE && !is_altered(r->a, known->table, known->column);

    if (chosen && known->column < 0 && is_free(r, 0, r->s->n_tables, name))
        r->names[known->table] = name;
    if (chosen && known->column >= 0 && is_free(r, r->s->n_tables + t->first_column, t->n_columns, name))
        r->names[r->s->n_tables + known->column] = name;
}

/* Builds a copy of the schema `of` in which rng picks other elements and one of the names that the corpus has for them.
 * Returns -1 if that fails. */
static int contrast_rename(const struct contrast *c, struct schema *out, const struct contrast_schema *of, int db,
                           const struct alteration *a, struct rng *rng)
{
    const struct schema *s = &c->in->schemas.schemas[db];
    struct new_names r = { s, a, xcalloc((size_t)s->n_tables + (size_t)s->n_columns, sizeof *r.names) };
    struct alteration renamed = *a;
    struct rng placed = of->placed;

    for (int i = 0; i < c->element_keys.n; i++) {
        const struct contrast_element *e = &c->elements[i];
        if (e->db == db && !ambiguity_types[e->a.type].new_table)
            rename_element(&r, &e->a, rng);
    }
    renamed.renamed = r.names;
    int rc = alter_schema(out, s, &renamed, of->form, "renamed", &placed);
    free(r.names);
    return rc;
}

/* Step 3: pair the records, assign splits, emit the examples. */

/* The records of one database and ambiguity type in file order. */
struct record_group {
    const struct contrast *c;
    int *records;
    int n, cap;
};

static const bool *column_flags(const struct contrast *c, const struct contrast_question *q)
{
    return q->touched + c->in->schemas.schemas[q->db].n_tables;
}

/* Returns true if the table that J or P adds holds all columns that the question needs of the element's table. The
 * question could then mean the new table too. */
static bool new_table_serves(const struct contrast *c, const struct contrast_question *q,
                             const struct contrast_element *e)
{
    const struct schema_table *t = &c->in->schemas.schemas[q->db].tables[e->a.table];

    if (!ambiguity_types[e->a.type].new_table || !q->touched[e->a.table])
        return false;
    for (int i = t->first_column; i < t->first_column + t->n_columns; i++) {
        bool there = e->a.type == SIA_JOIN ? i == e->a.key || i == e->a.column : e->repeated[i];
        if (column_flags(c, q)[i] && !there)
            return false;
    }
    return true;
}

/* Returns true if duplicating the element does not make the question ambiguous. */
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

/* Returns true if both questions' SQL resolves on the other's schema: a generated name may clash with it. */
static bool resolves_on_other(struct contrast *c, const struct contrast_record *a, const struct contrast_record *b)
{
    return contrast_touch(c, a->source->original, &c->elements[b->element].both.schema, NULL) &&
           contrast_touch(c, b->source->original, &c->elements[a->element].both.schema, NULL);
}

/* Moves a schema to the data set under the next free number of its database. */
static const char *give_schema(struct contrast *c, struct dataset *out, struct schema *s, int db, int *number)
{
    const char *db_id = c->in->schemas.schemas[db].db_id;
    if (number)
        db_id = strings_printf(&out->splits[SPLIT_TRAIN].text, "%s__%d", db_id, ++*number);
    s->db_id = strings_keep(&out->splits[SPLIT_TRAIN].text, db_id);
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
    x.type = e->a.type;
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

/* Emits the four examples of one record: on its own altered schema, on the other's, on the original one, and on the one
 * with a single alternative. */
static void emit_record(struct contrast *c, struct example_list *to, const struct contrast_record *r,
                        const struct contrast_record *other, const struct contrast_schema *plain)
{
    const struct contrast_element *e = &c->elements[r->element];
    const char *const *interpretations = r->source->interpretations, *original = r->source->original;

    emit(c, to, r, &e->both, EXAMPLE_CONTRAST, interpretations[0], interpretations[1]);
    emit(c, to, r, &c->elements[other->element].both, EXAMPLE_CONTRAST, original, NULL);
    emit(c, to, r, plain, EXAMPLE_HARD_NEGATIVE, original, NULL);
    emit(c, to, r, &e->one, EXAMPLE_HARD_NEGATIVE, interpretations[e->which], NULL);
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

/* Returns a random stream for new names, so that the rest of the data does not depend on them. */
static struct rng renaming_rng(const struct contrast *c, int db, int element)
{
    uint64_t key[3] = { c->options->seed, (uint64_t)db, (uint64_t)element };
    return (struct rng){ .seed = hash_bytes(HASH_START, key, sizeof key) };
}

static void give_element(struct contrast *c, struct dataset *out, int element, enum data_split split, int *number)
{
    struct contrast_element *e = &c->elements[element];
    struct rng rng = renaming_rng(c, e->db, element);
    if (e->emitted)
        return;
    bool both_first = rng_below(&c->rng, 2); /* so that the number does not reveal the slice */
    struct contrast_schema *of[2] = { both_first ? &e->both : &e->one, both_first ? &e->one : &e->both };
    for (int i = 0; i < 2; i++)
        give_schema(c, out, &of[i]->schema, e->db, number);
    for (int i = 0; i < 2 && split == SPLIT_TRAIN; i++)
        give_renamed(c, out, e->db, &e->a, of[i], &rng, number);
    e->emitted = true;
}

/* The pairs of one database. */
struct db_pairs {
    struct pair *pairs; /* pairs of record indices */
    int n, cap;
};

static void emit_db(struct contrast *c, struct dataset *out, int db, const struct db_pairs *p, enum data_split split)
{
    const struct alteration none = { .type = SIA_TABLE, .table = -1, .column = -1, .key = -1 };
    struct contrast_schema plain = { .form = ALTER_NONE, .placed = c->rng };
    struct rng rng = renaming_rng(c, db, -1);
    int number = 0;

    CHECK(alter_schema(&plain.schema, &c->in->schemas.schemas[db], &none, ALTER_NONE, "plain", &c->rng) == 0,
          "plain schema");
    give_schema(c, out, &plain.schema, db, NULL);
    if (split == SPLIT_TRAIN)
        give_renamed(c, out, db, &none, &plain, &rng, &number);
    for (int i = 0; i < p->n; i++) {
        const struct contrast_record *a = &c->records[p->pairs[i].a], *b = &c->records[p->pairs[i].b];
        give_element(c, out, a->element, split, &number);
        give_element(c, out, b->element, split, &number);
        emit_record(c, &out->splits[split], a, b, &plain);
        emit_record(c, &out->splits[split], b, a, &plain);
    }
}

static void match_group(struct contrast *c, const struct record_group *g, struct db_pairs *out, int *clashes)
{
    struct pair *pairs = xmalloc(((size_t)g->n / 2 + 1) * sizeof *pairs);
    int n = pairing_match(pairs, g->n, records_fit, g, &c->rng);

    for (int i = 0; i < n; i++) {
        struct pair p = { g->records[pairs[i].a], g->records[pairs[i].b] };
        if (!resolves_on_other(c, &c->records[p.a], &c->records[p.b])) {
            ++*clashes;
            continue;
        }
        GROW(out->pairs, out->n, out->cap);
        out->pairs[out->n++] = p;
    }
    free(pairs);
}

/* pairs: [schemas.n] */
static void match_all(struct contrast *c, struct db_pairs *pairs)
{
    int n_groups = c->in->schemas.n * AMBIQT_TYPES, clashes = 0;
    struct record_group *groups = xcalloc((size_t)n_groups, sizeof *groups);

    for (int i = 0; i < c->in->ambiqt.n; i++) {
        const struct contrast_record *r = &c->records[i];
        if (!r->usable)
            continue;
        struct record_group *g = &groups[c->questions[r->question].db * AMBIQT_TYPES + (int)r->source->type];
        GROW(g->records, g->n, g->cap);
        g->records[g->n++] = i;
    }
    for (int i = 0; i < n_groups; i++) {
        groups[i].c = c;
        match_group(c, &groups[i], &pairs[i / AMBIQT_TYPES], &clashes);
        free(groups[i].records);
    }
    if (clashes)
        log_info("rejected %d pairs: a generated name clashes with the other question's SQL", clashes);
    free(groups);
}

enum { SHARE_TRIES = 64 };

/* The number of pairs of each type, by database and in total. */
struct type_counts {
    int (*of_db)[AMBIQT_TYPES];
    int all[AMBIQT_TYPES];
};

static struct type_counts count_types(const struct contrast *c, const struct db_pairs *pairs)
{
    struct type_counts k = { .of_db = xcalloc((size_t)c->in->schemas.n, sizeof *k.of_db) };

    for (int db = 0; db < c->in->schemas.n; db++)
        for (int i = 0; i < pairs[db].n; i++) {
            int kind = (int)c->records[pairs[db].pairs[i].a].source->type;
            k.of_db[db][kind]++;
            k.all[kind]++;
        }
    return k;
}

/* Returns the deviation of the types' shares in the first n databases from the intended share. */
static double unevenness(const struct type_counts *k, const int *order, int n, double share)
{
    double sum = 0;

    for (int kind = 0; kind < AMBIQT_TYPES; kind++) {
        int count = 0;
        for (int i = 0; i < n; i++)
            count += k->of_db[order[i]][kind];
        sum += k->all[kind] ? fabs((double)count / k->all[kind] - share) : 0;
    }
    return sum;
}

/* Assigns a split to each database with pairs. The best of many shuffles counts, the one whose splits are closest to
 * their share of every type. There are few aggregates, so a single shuffle often leaves almost none to the test split.
 */
static void share_out(struct contrast *c, const struct db_pairs *pairs, enum data_split *split)
{
    size_t size = (size_t)c->in->schemas.n * sizeof(int);
    int *order = xmalloc(size), *best = xmalloc(size), n = 0;
    struct type_counts k = count_types(c, pairs);
    double min = HUGE_VAL;

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
        if (x < min) {
            min = x;
            memcpy(best, order, (size_t)n * sizeof *best);
        }
    }
    for (int i = 0; i < n; i++)
        split[best[i]] = i < test ? SPLIT_TEST : i < test + valid ? SPLIT_VALID : SPLIT_TRAIN;
    free(k.of_db);
    free(order);
    free(best);
}

/* Order and ids must not reveal the pairs. */
static void shuffle(struct example_list *l, enum data_split split, struct rng *rng)
{
    rng_shuffle(rng, l->items, l->n, sizeof *l->items);
    for (int i = 0; i < l->n; i++)
        l->items[i].id = strings_printf(&l->text, "%s-%06d", split_name(split), i + 1);
}

/* Pairs the usable records and writes the examples of every pair to the splits of out. */
static int contrast_emit(struct contrast *c, struct dataset *out, struct error *err)
{
    size_t n = (size_t)c->in->schemas.n;
    struct db_pairs *pairs = xcalloc(n, sizeof *pairs);
    enum data_split *split = xcalloc(n, sizeof *split);
    int total = 0;

    match_all(c, pairs);
    share_out(c, pairs, split);
    for (int db = 0; db < c->in->schemas.n; db++) {
        total += pairs[db].n;
        if (pairs[db].n)
            emit_db(c, out, db, &pairs[db], split[db]);
        free(pairs[db].pairs);
    }
    for (int f = 0; f < SPLITS; f++)
        shuffle(&out->splits[f], (enum data_split)f, &c->rng);
    free(pairs);
    free(split);
    return total ? 0 : error_set(err, EXIT_CODE_DATA, "expected two records that can be paired, got none");
}

enum { SQL_ARENA_BYTES = 64 << 20 };

static void contrast_release(struct contrast *c)
{
    for (int i = 0; i < c->question_keys.n; i++)
        free(c->questions[i].touched);
    for (int i = 0; i < c->element_keys.n; i++) {
        free(c->elements[i].repeated);
        schema_release(&c->elements[i].both.schema);
        schema_release(&c->elements[i].one.schema);
    }
    free(c->questions);
    free(c->elements);
    free(c->records);
    strings_release(&c->question_keys);
    strings_release(&c->element_keys);
    arena_release(&c->sql);
}

/* Checks splits, balance and leaks of the finished data set, independently of its construction. */
static int check(const struct dataset *d, struct error *err)
{
    struct probe_report report;

    if (dataset_check_splits(d, err) || dataset_check_balance(d, err))
        return -1;
    probe_run(&report, d, PROBE_CONTRAST);
    return probe_check(&report, err);
}

void contrast_corpora_release(struct contrast_corpora *c)
{
    schema_set_close(&c->schemas);
    spider_release(&c->spider);
    ambiqt_release(&c->ambiqt);
}

static int read_spider(struct contrast_corpora *c, const char *dir, struct error *err)
{
    char *path = NULL;
    CHECK(asprintf(&path, "%s/tables.json", dir) >= 0, "cannot format a path in %s", dir);
    int rc = schema_set_open(&c->schemas, path, err);
    free(path);
    if (rc)
        return rc;
    CHECK(asprintf(&path, "%s/train_spider.json", dir) >= 0, "cannot format a path in %s", dir);
    rc = spider_read(&c->spider, path, err);
    free(path);
    return rc;
}

int contrast_build_from(struct dataset *out, const struct contrast_options *o, const struct contrast_corpora *in,
                        struct error *err)
{
    struct contrast c = { .options = o, .in = in, .rng = { .seed = o->seed } };

    *out = (struct dataset){ 0 };
    int rc = arena_init(&c.sql, SQL_ARENA_BYTES, err);
    if (rc == 0)
        rc = contrast_collect(&c, err);
    if (rc == 0)
        rc = contrast_emit(&c, out, err);
    if (rc == 0)
        rc = check(out, err);
    contrast_release(&c);
    return rc;
}

int contrast_build(struct dataset *out, const struct contrast_options *o, const char *ambiqt, const char *spider,
                   struct error *err)
{
    struct contrast_corpora in = { 0 };

    *out = (struct dataset){ 0 };
    int rc = read_spider(&in, spider, err);
    for (int k = 0; k < AMBIQT_TYPES && rc == 0; k++)
        rc = ambiqt_read_train(&in.ambiqt, (enum sia_type)k, ambiqt, err);
    if (rc == 0)
        rc = contrast_build_from(out, o, &in, err);
    contrast_corpora_release(&in);
    return rc;
}
