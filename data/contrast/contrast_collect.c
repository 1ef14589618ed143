/* Part of contrast.h: the questions and elements of records, the altered schemas, and what cannot be used. */
#include "data/contrast/contrast_impl.h"

#include "data/schema/schema_build.h"
#include "data/sql/sql.h"
#include "data/util/log.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why a record is left out. */
enum loss { LOSS_NONE, LOSS_ELEMENT, LOSS_SQL, LOSS_SHARED, LOSS_NAMES, LOSS_READINGS, LOSSES };
static const char *const loss_names[LOSSES] = { "usable",
                                                "element not in the schema",
                                                "SQL not understood",
                                                "question in several databases",
                                                "invented name not usable",
                                                "readings not apart" };

bool contrast_touch(struct contrast *c, const char *sql, const struct schema *s, bool *flags)
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

/* Lower case, one space between words: questions that differ only so are one question.  The caller frees it. */
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

/* The question's number; new ones get an entry. */
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

/* The question of a key, behind the database's number. */
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
        return error_set(err, EXIT_CODE_DATA, "%s: db_id \"%s\" is not in tables.json", what, db_id);
    return (int)(s - c->in->schemas.schemas);
}

/* Questions that stand in several databases would stand in several folds. */
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
    snprintf(key, sizeof key, "%d %d %d %d", (int)a.kind, db, a.table, a.column);
    int before = c->element_keys.n, at = strings_add(&c->element_keys, key);
    if (at == before) {
        GROW(c->elements, before, c->elements_cap);
        bool *repeated = xcalloc((size_t)s->n_columns + 1, sizeof *repeated);
        a.repeated = repeated;
        c->elements[at] = (struct contrast_element){ .db = db, .a = a, .repeated = repeated };
    }
    return at;
}

/* The columns that the second reading of a P record wants in the new table join the element's. */
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
        contrast_touch(c, r->source->readings[1], &full, flags);
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
        if (r->element >= 0 && r->source->kind == SIA_AGGREGATE)
            add_repeated(c, r);
    }
    for (int i = 0; i < c->element_keys.n; i++) {
        struct contrast_element *e = &c->elements[i];
        bool renamed = e->a.kind == SIA_COLUMN || e->a.kind == SIA_TABLE;
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

/* Reading `which` reads its own alternative and not the other. */
static bool reads_own(struct contrast *c, struct contrast_record *r, int which)
{
    const struct contrast_element *e = &c->elements[r->element];
    const struct schema *s = &c->in->schemas.schemas[e->db];
    struct strings text = { 0 };
    bool *flags = new_flags(&e->both.schema), own = false;

    if (contrast_touch(c, r->source->readings[which], &e->both.schema, flags)) {
        int n = which && e->a.kind == SIA_AGGREGATE ? e->a.n_new_columns : 1;
        for (int i = n - 1; i >= 0; i--)
            if (is_touched(&e->both.schema, flags, alter_name(&text, s, &e->a, which, i))) {
                r->aggregate = i;
                own = true;
            }
        for (int i = 0; i < (which ? 1 : e->a.n_new_columns + (e->a.kind != SIA_AGGREGATE)); i++)
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
        !contrast_touch(c, r->source->readings[e->which], &e->one.schema, NULL))
        return LOSS_READINGS;
    return LOSS_NONE;
}

static void judge_all(struct contrast *c)
{
    int losses[SIA_KINDS][LOSSES] = { { 0 } };
    bool *understood = xcalloc((size_t)c->question_keys.n, sizeof *understood);

    for (int i = 0; i < c->question_keys.n; i++)
        understood[i] = c->questions[i].usable;
    drop_shared(c);
    for (int i = 0; i < c->in->ambiqt.n; i++) {
        enum loss loss = judge(c, &c->records[i], understood);
        c->records[i].usable = loss == LOSS_NONE;
        losses[c->records[i].source->kind][loss]++;
    }
    for (int k = 0; k < SIA_KINDS; k++)
        for (int l = 0; l < LOSSES; l++)
            if (losses[k][l])
                log_info("%s records, %s: %d", sia_kind_letter((enum sia_kind)k), loss_names[l], losses[k][l]);
    free(understood);
}

int contrast_collect(struct contrast *c, struct error *err)
{
    c->records = xcalloc((size_t)c->in->ambiqt.n, sizeof *c->records);
    if (collect_questions(c, err))
        return -1;
    collect_elements(c);
    judge_all(c);
    return 0;
}
