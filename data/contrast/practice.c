#include "data/contrast/practice.h"

#include "data/contrast/contrast.h"
#include "data/contrast/practice_query.h"
#include "data/schema/schema_build.h"
#include "data/util/json.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    DRAWS = 2000,  /* tries to find a question about one element */
    QUESTIONS = 90 /* plain questions of one domain that are tried */
};

/* Questions about one element of each kind: tables are few and aggregates fewer. */
static const int questions_of[SIA_KINDS] = { [SIA_COLUMN] = 2, [SIA_TABLE] = 5, [SIA_JOIN] = 1, [SIA_AGGREGATE] = 3 };

static enum column_type type_of(enum practice_role role)
{
    if (role & (PRACTICE_NAME | PRACTICE_CLASS))
        return COLUMN_TEXT;
    return role == PRACTICE_TIME ? COLUMN_TIME : COLUMN_NUMBER;
}

/* The domain's schema as questions know it. */
static void make_schema(struct schema *out, const struct practice_domain *d, const char *db_id)
{
    int n = practice_n_tables(d), at[PRACTICE_TABLES][PRACTICE_COLUMNS];
    struct schema_build b;

    schema_build_init(&b, db_id);
    for (int t = 0; t < n; t++) {
        int table = schema_build_table(&b, d->tables[t].name, NULL);
        for (int i = 0; i < practice_n_columns(&d->tables[t]); i++) {
            const struct practice_column *c = &d->tables[t].columns[i];
            at[t][i] = schema_build_column(&b, table, c->name, NULL, type_of(c->role));
        }
        schema_build_primary(&b, at[t][0]);
    }
    for (int t = 0; t < n; t++)
        for (int i = 0; i < practice_n_columns(&d->tables[t]); i++)
            if (d->tables[t].columns[i].role == PRACTICE_LINK)
                schema_build_foreign_key(&b, at[t][i], at[practice_table_find(d, d->tables[t].columns[i].table)][0]);
    schema_build_finish(&b, out);
}

struct practice_corpus {
    struct contrast_corpora in;
    struct strings asked; /* kind and question: not twice */
    struct rng rng;
};

static const char *keep(struct strings *text, char *s)
{
    const char *kept = strings_keep(text, s);
    free(s);
    return kept;
}

static void name_alternatives(struct ambiqt_record *r, struct strings *text, const struct practice_table *t, int column)
{
    static const char *const aggregates[] = { "max", "min", "avg", "total" };

    r->table = t->name;
    if (r->kind == SIA_TABLE || r->kind == SIA_COLUMN) {
        for (int i = 0; i < 2; i++)
            r->names[i] = r->kind == SIA_TABLE ? t->synonyms[i] : t->columns[column].synonyms[i];
    } else {
        r->key = t->columns[0].name;
        r->new_table = strings_printf(text, "%s_%s", t->name, t->columns[column].name);
    }
    if (r->kind != SIA_TABLE)
        r->column = t->columns[column].name;
    for (int i = 0; i < ARRAY_LEN(aggregates) && r->kind == SIA_AGGREGATE; i++)
        r->new_columns[r->n_new_columns++] = strings_printf(text, "%s_%s", aggregates[i], r->column);
}

static void add_record(struct practice_corpus *m, const struct practice_query *q, struct practice_reading element)
{
    struct ambiqt_corpus *c = &m->in.ambiqt;
    struct ambiqt_record r = { .kind = element.kind, .db_id = q->domain->name };

    r.question = keep(&c->text, practice_question(q));
    if (strings_find(&m->asked, strings_printf(&c->text, "%d %s", (int)r.kind, r.question)) >= 0)
        return;
    strings_printf(&m->asked, "%d %s", (int)r.kind, r.question);
    element.which = -1;
    r.original = keep(&c->text, practice_sql(q, &element));
    for (element.which = 0; element.which < 2; element.which++)
        r.readings[element.which] = keep(&c->text, practice_sql(q, &element));
    name_alternatives(&r, &c->text, &q->domain->tables[element.table], element.column);
    GROW(c->items, c->n, c->cap);
    c->items[c->n++] = r;
}

static void ask(struct practice_corpus *m, const struct practice_domain *d, struct practice_reading element)
{
    struct practice_query q;
    int wanted = questions_of[element.kind];

    for (int i = 0; i < DRAWS && wanted > 0; i++)
        if (practice_draw(&q, d, &m->rng) && practice_asks(&q, element.kind, element.table, element.column)) {
            add_record(m, &q, element);
            wanted--;
        }
}

static void ask_column(struct practice_corpus *m, const struct practice_domain *d, int table, int column)
{
    enum practice_role role = d->tables[table].columns[column].role;

    if (role == PRACTICE_KEY || role == PRACTICE_LINK)
        return;
    ask(m, d, (struct practice_reading){ SIA_COLUMN, table, column, -1 });
    ask(m, d, (struct practice_reading){ SIA_JOIN, table, column, -1 });
    if (role == PRACTICE_NUMBER)
        ask(m, d, (struct practice_reading){ SIA_AGGREGATE, table, column, -1 });
}

static int ask_domain(struct practice_corpus *m, const struct practice_domain *d, struct error *err)
{
    struct schema s;

    make_schema(&s, d, d->name);
    for (int t = 0; t < practice_n_tables(d); t++) {
        ask(m, d, (struct practice_reading){ SIA_TABLE, t, -1, -1 });
        for (int i = 0; i < practice_n_columns(&d->tables[t]); i++)
            ask_column(m, d, t, i);
    }
    return schema_set_add(&m->in.schemas, &s, err);
}

int practice_build(struct dataset *out, uint64_t seed, struct error *err)
{
    const struct contrast_options options = { .seed = seed, .test_share = 0.2, .valid_share = 0.1 };
    struct practice_corpus m = { .rng = { .seed = seed } };
    const struct practice_domain *d;
    int rc = 0;

    *out = (struct dataset){ 0 };
    for (int i = 0; (d = practice_domain(i)) && rc == 0; i++)
        rc = ask_domain(&m, d, err);
    if (rc == 0)
        rc = contrast_build_from(out, &options, &m.in, err);
    strings_release(&m.asked);
    contrast_corpora_release(&m.in);
    return rc;
}

/* The questions of one domain, none twice. */
static void add_questions(json_t *list, struct strings *asked, const struct practice_domain *d, const char *db_id,
                          struct rng *rng)
{
    const struct practice_reading plain = { .which = -1 };
    struct practice_query q;

    for (int i = 0; i < QUESTIONS; i++) {
        if (!practice_draw(&q, d, rng))
            continue;
        char *question = practice_question(&q), *sql = practice_sql(&q, &plain);
        int before = asked->n;
        if (strings_add(asked, question) == before)
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:s}", "db_id", db_id, "question", question, "query", sql));
        free(question);
        free(sql);
    }
}

static json_t *domain_to_json(const struct practice_domain *d, const char *db_id)
{
    struct schema s;

    make_schema(&s, d, db_id);
    json_t *v = schema_to_json(&s);
    schema_release(&s);
    return v;
}

static int write_both(const char *dir, json_t *const lists[2], bool force, struct error *err)
{
    static const char *const names[] = { "tables.json", "train_spider.json" };
    struct out_file files[2] = { 0 };
    int rc = make_dirs(dir, err);

    for (int i = 0; i < 2 && rc == 0; i++) {
        char *path = NULL;
        CHECK(asprintf(&path, "%s/%s", dir, names[i]) >= 0, "cannot format a path in %s", dir);
        rc = out_file_open(&files[i], path, err);
        free(path);
        if (rc == 0)
            rc = json_write_line(&files[i], lists[i], err);
    }
    if (rc == 0)
        rc = out_files_commit(files, 2, force, err);
    for (int i = 0; i < 2; i++)
        out_file_abort(&files[i]);
    return rc;
}

int practice_write_questions(const char *dir, const char *prefix, uint64_t seed, bool force, struct error *err)
{
    json_t *lists[2] = { json_array(), json_array() };
    struct rng rng = { .seed = seed };
    struct strings asked = { 0 };
    const struct practice_domain *d;

    for (int i = 0; (d = practice_domain(i)); i++) {
        char *db_id = NULL;
        CHECK(asprintf(&db_id, "%s%s", prefix, d->name) >= 0, "cannot format a name");
        json_array_append_new(lists[0], domain_to_json(d, db_id));
        add_questions(lists[1], &asked, d, db_id, &rng);
        free(db_id);
    }
    int rc = write_both(dir, lists, force, err);
    strings_release(&asked);
    json_decref(lists[0]);
    json_decref(lists[1]);
    return rc;
}
