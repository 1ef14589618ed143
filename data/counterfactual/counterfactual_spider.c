/* Part of counterfactual.h: Spider's questions about one table, or on a whole database, and values of both. */
#include "data/corpora/spider.h"
#include "data/counterfactual/counterfactual_impl.h"
#include "data/exec/column_values.h"
#include "data/exec/db_path.h"
#include "data/rewrite/sql_edit.h"
#include "data/schema/schema.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SQL_ARENA_BYTES = 16 << 20, VALUE_LETTERS = 3, WHOLE_COLUMNS = 40 };

/* A value that the statement compares a column with, without blanks around it and the % of a pattern. */
struct compared_value {
    int column;
    const char *text;
};

struct spider_reading {
    struct counterfactual *c;
    struct compared_value *values; /* of the statement that is read */
    int n_values, values_cap;
    struct schema_set schemas;
    const char *db; /* NULL: no databases */
    struct arena sql;
};

/* A value without the quotes that mark a text, and whether it is one. */
static const char *bare(struct counterfactual *c, const char *shown, bool *is_text)
{
    size_t n = strlen(shown);

    *is_text = n >= 2 && *shown == '"';
    return *is_text ? strings_printf(&c->text, "%.*s", (int)n - 2, shown + 1) : strings_keep(&c->text, shown);
}

/* Columns of a schema, n of them from `first` on: those of a table, or all. */
struct schema_part {
    const struct schema *schema;
    int first, n;
    const char *name; /* of the table, "" of all */
};

static struct schema_part part_of(const struct schema *schema, int table)
{
    if (table < 0)
        return (struct schema_part){ schema, 0, schema->n_columns, "" };
    return (struct schema_part){ schema, schema->tables[table].first_column, schema->tables[table].n_columns,
                                 schema->tables[table].name };
}

static int read_values(struct spider_reading *s, struct asked_table *t, const struct schema_part *part,
                       struct error *err)
{
    struct column_values v;
    char *path = db_path(s->db, part->schema->db_id, NULL);
    bool is_text;

    if (!path)
        return 0;
    int rc = column_values_read(&v, part->schema, path, err);
    for (int i = 0; i < t->n_columns && rc == 0; i++)
        for (int k = 0; k < v.counts[part->first + i]; k++) {
            const char *value = bare(s->c, v.columns[part->first + i][k], &is_text);
            if (*value)
                asked_column_add_value(&t->columns[i], value);
        }
    column_values_release(&v);
    free(path);
    return rc;
}

static void describe_column(struct spider_reading *s, struct asked_column *to, const struct schema *schema, int column,
                            bool whole)
{
    const struct schema_column *from = &schema->columns[column];
    const struct schema_table *table = &schema->tables[from->table];

    to->name = strings_keep(&s->c->text, from->text);
    to->table = whole ? strings_keep(&s->c->text, table->text) : NULL;
    to->type = from->type;
    to->synonyms = synonyms_find(&s->c->listed.dictionary, schema->db_id, table->name, from->name);
    for (int k = 0; to->synonyms && k < 2; k++)
        counterfactual_add_synonym(s->c, to->name, counterfactual_blanks(s->c, to->synonyms[k]));
}

/* The number of the table, or of all where it is -1; -1 with err, or -2 where it is too wide. */
static int find_table(struct spider_reading *s, const struct schema *schema, int table, struct error *err)
{
    struct schema_part part = part_of(schema, table);
    bool is_new, whole = table < 0;

    if (part.n > (whole ? WHOLE_COLUMNS : ASKED_COLUMNS) || part.n < 2 || (whole && schema->n_tables < 2))
        return -2;
    int at = asked_table_find(s->c, strings_printf(&s->c->text, "\x1f%s\x1f%s", schema->db_id, part.name), &is_new);
    struct asked_table *t = &s->c->tables[at];
    if (!is_new)
        return at;
    t->whole = whole;
    t->n_columns = part.n;
    t->columns = xcalloc((size_t)t->n_columns, sizeof *t->columns);
    for (int i = 0; i < t->n_columns; i++)
        describe_column(s, &t->columns[i], schema, part.first + i, whole);
    return s->db && read_values(s, t, &part, err) ? -1 : at;
}

static void add_compared(struct spider_reading *s, int column, const struct sql_expr *e, bool pattern)
{
    for (; e; e = e->next) {
        if (e->kind != SQL_EXPR_STRING && e->kind != SQL_EXPR_LITERAL)
            continue;
        const char *around = pattern ? " \t%" : " \t";
        size_t skip = strspn(e->text, around), n = strlen(e->text);
        while (n > skip && strchr(around, e->text[n - 1]))
            n--;
        GROW(s->values, s->n_values, s->values_cap);
        s->values[s->n_values++] =
            (struct compared_value){ column, strings_printf(&s->c->text, "%.*s", (int)(n - skip), e->text + skip) };
    }
}

/* A comparison of a column on one side with values on the other. */
static void read_comparison(void *reading, struct sql_expr *e, struct sql_core *core)
{
    struct spider_reading *s = reading;
    bool binary = e->kind == SQL_EXPR_BINARY, pattern = binary && (e->op == SQL_LIKE || e->op == SQL_GLOB);

    (void)core;
    if (!binary && e->kind != SQL_EXPR_BETWEEN && e->kind != SQL_EXPR_IN)
        return;
    if (e->left->kind == SQL_EXPR_COLUMN && e->left->column >= 0) {
        add_compared(s, e->left->column, e->right, pattern);
        add_compared(s, e->left->column, e->kind == SQL_EXPR_BETWEEN ? e->third : NULL, false);
        add_compared(s, e->left->column, e->list, false);
    }
    if (binary && e->right->kind == SQL_EXPR_COLUMN && e->right->column >= 0)
        add_compared(s, e->right->column, e->left, false);
}

static bool is_compared(const struct spider_reading *s, int column, const char *value)
{
    for (int i = 0; i < s->n_values; i++)
        if (s->values[i].column == column && strcasecmp(s->values[i].text, value) == 0)
            return true;
    return false;
}

/* The one table of the statement, -1 where there are several. */
static int one_table(const struct sql_uses *uses)
{
    for (int i = 1; i < uses->n; i++)
        if (uses->list[i].table != uses->list[0].table)
            return -1;
    return uses->n ? uses->list[0].table : -1;
}

/* What the statement uses of these columns; false where it uses all of them, as "*" does. */
static bool read_uses(struct asked_question *q, bool *compared, const struct schema_part *part,
                      const struct sql_uses *uses)
{
    int n = 0;

    for (int i = 0; i < uses->n; i++) {
        const struct sql_use *use = &uses->list[i];
        int column = use->column - part->first;
        if (use->column < 0 || column >= ASKED_COLUMNS)
            continue;
        bool *of = use->clause == SQL_ON ? q->joined : q->used;
        n += !q->joined[column] && !q->used[column];
        of[column] = true;
        compared[column] |= use->clause == SQL_WHERE || use->clause == SQL_HAVING;
    }
    return uses->n && n < part->n;
}

/* Whether the question says the value, letters of any case, as whole words: where, in code points. */
static bool says(const char *question, const char *value, int *start)
{
    size_t n = strlen(value);

    for (const char *at = strcasestr(question, value); at; at = strcasestr(at + 1, value))
        if ((at == question || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[n])) {
            *start = text_letters(question, (size_t)(at - question));
            return true;
        }
    return false;
}

/* The longest value of the column, number `first` + column of the schema, that the statement compares it with and the
 * question says. */
static void find_value(const struct spider_reading *s, struct asked_question *q, const struct asked_table *t,
                       int column, int first)
{
    struct asked_value best = { .column = column };

    for (int i = 0; i < t->columns[column].n_values; i++) {
        const char *value = t->columns[column].values[i];
        int letters = text_letters(value, strlen(value)), start;
        if (letters >= VALUE_LETTERS && letters > best.end - best.start && is_compared(s, first + column, value) &&
            says(q->text, value, &start)) {
            best.start = start;
            best.end = start + letters;
            best.text = value;
        }
    }
    if (best.text && q->n_values < ASKED_VALUES)
        q->values[q->n_values++] = best;
    else
        q->unlocated[column] = true;
}

static bool stands_elsewhere(const struct asked_table *t, const struct asked_value *v)
{
    for (int i = 0; i < t->n_columns; i++)
        for (int k = 0; k < t->columns[i].n_values && i != v->column; k++)
            if (strcasecmp(t->columns[i].values[k], v->text) == 0)
                return true;
    return false;
}

/* Whether two columns are said by the same words, so that nobody knows which is. */
static bool says_twice(const struct asked_table *t, const struct asked_question *q)
{
    int said[2] = { 0, 0 }, start, end;

    for (int i = 0; i < t->n_columns; i++)
        for (int k = 0; k < i && q->used[i] && asked_mention(t, q, i, &said[0], &said[1]); k++)
            if (q->used[k] && asked_mention(t, q, k, &start, &end) && start < said[1] && said[0] < end)
                return true;
    return false;
}

/* Fills in what the question says of the table; false where that is not clear. */
static bool locate(const struct spider_reading *s, struct asked_question *q, const bool *compared, int first)
{
    const struct asked_table *t = &s->c->tables[q->table];

    for (int i = 0; i < t->n_columns; i++)
        if (compared[i])
            find_value(s, q, t, i, first);
    for (int i = 0; i < q->n_values; i++)
        if (stands_elsewhere(t, &q->values[i]))
            return false;
    return !t->whole || !says_twice(t, q);
}

/* The question on a table, or on all where it is -1: 1 where it was added, 0 where it cannot be, -1 with err. */
static int ask_of(struct spider_reading *s, const struct schema *schema, int table, const struct sql_uses *uses,
                  const struct asked_question *from, struct error *err)
{
    struct schema_part part = part_of(schema, table);
    struct asked_question q = *from;
    bool compared[ASKED_COLUMNS] = { false };

    if (!read_uses(&q, compared, &part, uses))
        return 0;
    q.table = find_table(s, schema, table, err);
    if (q.table < 0)
        return q.table == -1 ? -1 : 0;
    if (!locate(s, &q, compared, part.first))
        return 0;
    asked_question_add(s->c, &q);
    return 1;
}

static int ask_all(struct spider_reading *s, const struct schema *schema, const struct sql_uses *uses,
                   const struct asked_question *q, struct error *err)
{
    int table = one_table(uses), alone = table < 0 ? 0 : ask_of(s, schema, table, uses, q, err);
    int whole = alone < 0 ? -1 : s->c->options->databases ? ask_of(s, schema, -1, uses, q, err) : 0;

    s->c->left_out += alone == 0 && whole == 0;
    return whole < 0 ? -1 : 0;
}

static int add_question(struct spider_reading *s, const struct spider_question *from, bool test, struct error *err)
{
    const struct schema *schema = schema_find(&s->schemas, from->db_id);
    const struct sql_walker walker = { .context = s, .expr = read_comparison };
    struct sql_uses uses = { 0 };
    size_t mark = arena_mark(&s->sql);

    if (!schema)
        return error_set(err, EXIT_CODE_DATA, "db_id \"%s\" is not in tables.json", from->db_id);
    struct sql_query *query = sql_parse(&s->sql, from->query, NULL);
    s->n_values = 0;
    if (!query || sql_resolve(&s->sql, query, schema, &uses, NULL))
        uses.n = 0;
    else
        sql_walk(&walker, query->select);
    const struct asked_question q = { .source = "spider",
                                      .db_id = strings_keep(&s->c->text, from->db_id),
                                      .text = strings_keep(&s->c->text, from->question),
                                      .test = test };
    int rc = ask_all(s, schema, &uses, &q, err);
    arena_reset(&s->sql, mark);
    return rc;
}

static int read_questions(struct spider_reading *s, const char *dir, const char *name, bool test, struct error *err)
{
    struct spider_corpus questions;
    char *path = path_in(dir, name);
    int rc = spider_read(&questions, path, err);

    for (int i = 0; i < questions.n && rc == 0; i++)
        if ((rc = add_question(s, &questions.items[i], test, err)))
            error_prefix(err, "%s: record %d", path, i + 1);
    spider_release(&questions);
    free(path);
    return rc;
}

static void add_headers(struct spider_reading *s)
{
    for (int i = 0; i < s->schemas.n; i++) {
        const struct schema *schema = &s->schemas.schemas[i];
        for (int t = 0; t < schema->n_tables; t++) {
            const struct schema_table *table = &schema->tables[t];
            const char **names = xcalloc((size_t)table->n_columns + 1, sizeof *names);
            enum column_type *types = xcalloc((size_t)table->n_columns + 1, sizeof *types);
            for (int k = 0; k < table->n_columns; k++) {
                names[k] = schema->columns[table->first_column + k].text;
                types[k] = schema->columns[table->first_column + k].type;
            }
            header_pool_add(&s->c->pool, names, types, table->n_columns);
            free(types);
            free(names);
        }
    }
}

int counterfactual_read_spider(struct counterfactual *c, const char *dir, struct error *err)
{
    struct spider_reading s = { .c = c };
    char *tables = path_in(dir, "tables.json"), *db = path_in(dir, "db");

    s.db = db_path_is_folder(db) ? db : NULL;
    int rc = schema_set_open(&s.schemas, tables, err);
    if (rc == 0)
        rc = arena_init(&s.sql, SQL_ARENA_BYTES, err);
    if (rc == 0) {
        add_headers(&s);
        rc = read_questions(&s, dir, "train_spider.json", false, err);
    }
    if (rc == 0)
        rc = read_questions(&s, dir, "dev.json", true, err);
    arena_release(&s.sql);
    free(s.values);
    schema_set_close(&s.schemas);
    free(tables);
    free(db);
    return rc;
}
