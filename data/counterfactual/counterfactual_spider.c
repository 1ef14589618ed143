/* Part of counterfactual.h: Spider's questions about one table, and the values of its databases. */
#include "data/corpora/spider.h"
#include "data/counterfactual/counterfactual_impl.h"
#include "data/exec/column_values.h"
#include "data/exec/db_path.h"
#include "data/schema/schema.h"
#include "data/sql/sql.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SQL_ARENA_BYTES = 16 << 20, VALUE_LETTERS = 3 };

struct spider_reading {
    struct counterfactual *c;
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

static int read_values(struct spider_reading *s, struct asked_table *t, const struct schema *schema, int table,
                       struct error *err)
{
    struct column_values v;
    char *path = db_path(s->db, schema->db_id, NULL);
    bool is_text;

    if (!path)
        return 0;
    int rc = column_values_read(&v, schema, path, err);
    for (int i = 0; i < t->n_columns && rc == 0; i++)
        for (int k = 0; k < v.counts[schema->tables[table].first_column + i]; k++) {
            const char *value = bare(s->c, v.columns[schema->tables[table].first_column + i][k], &is_text);
            if (*value)
                asked_column_add_value(&t->columns[i], value);
        }
    column_values_release(&v);
    free(path);
    return rc;
}

/* The table's number, -1 with err, or -2 where it is too wide. */
static int find_table(struct spider_reading *s, const struct schema *schema, int table, struct error *err)
{
    const struct schema_table *from = &schema->tables[table];
    bool is_new;

    if (from->n_columns > ASKED_COLUMNS || from->n_columns < 2)
        return -2;
    int at = asked_table_find(s->c, strings_printf(&s->c->text, "\x1f%s\x1f%s", schema->db_id, from->name), &is_new);
    struct asked_table *t = &s->c->tables[at];
    if (!is_new)
        return at;
    t->n_columns = from->n_columns;
    t->columns = xcalloc((size_t)t->n_columns, sizeof *t->columns);
    for (int i = 0; i < t->n_columns; i++) {
        const struct schema_column *column = &schema->columns[from->first_column + i];
        t->columns[i].name = strings_keep(&s->c->text, column->text);
        t->columns[i].type = column->type;
    }
    return s->db && read_values(s, t, schema, table, err) ? -1 : at;
}

/* The one table of the statement and what it uses of it: -1 where there are several, or all its columns are used, as
 * "*" uses them. */
static int one_table(struct spider_reading *s, const struct schema *schema, const char *sql, bool *used, bool *compared)
{
    struct sql_uses uses;
    size_t mark = arena_mark(&s->sql);
    struct sql_query *query = sql_parse(&s->sql, sql, NULL);
    int table = -1, n = 0;

    if (!query || sql_resolve(&s->sql, query, schema, &uses, NULL))
        uses.n = 0;
    for (int i = 0; i < uses.n; i++) {
        const struct sql_use *use = &uses.list[i];
        if (table >= 0 && use->table != table) {
            table = -1;
            break;
        }
        table = use->table;
        int column = use->column - schema->tables[table].first_column;
        if (use->column < 0 || column >= ASKED_COLUMNS)
            continue;
        n += !used[column];
        used[column] = true;
        compared[column] |= use->clause == SQL_WHERE || use->clause == SQL_HAVING;
    }
    arena_reset(&s->sql, mark);
    return table >= 0 && n < schema->tables[table].n_columns ? table : -1;
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

/* The longest value of the column that both question and SQL say. */
static void find_value(struct asked_question *q, const struct asked_table *t, int column, const char *sql)
{
    struct asked_value best = { .column = column };

    for (int i = 0; i < t->columns[column].n_values; i++) {
        const char *value = t->columns[column].values[i];
        int letters = text_letters(value, strlen(value)), start;
        if (letters >= VALUE_LETTERS && letters > best.end - best.start && strcasestr(sql, value) &&
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

static int add_question(struct spider_reading *s, const struct spider_question *from, bool test, struct error *err)
{
    struct asked_question q = { .source = "spider", .test = test };
    const struct schema *schema = schema_find(&s->schemas, from->db_id);
    bool compared[ASKED_COLUMNS] = { false };

    if (!schema)
        return error_set(err, EXIT_CODE_DATA, "db_id \"%s\" is not in tables.json", from->db_id);
    int table = one_table(s, schema, from->query, q.used, compared);
    q.table = table < 0 ? -2 : find_table(s, schema, table, err);
    if (q.table == -1)
        return -1;
    if (q.table < 0) {
        s->c->left_out++;
        return 0;
    }
    const struct asked_table *t = &s->c->tables[q.table];
    q.db_id = strings_keep(&s->c->text, from->db_id);
    q.text = strings_keep(&s->c->text, from->question);
    for (int i = 0; i < t->n_columns; i++)
        if (compared[i])
            find_value(&q, t, i, from->query);
    for (int i = 0; i < q.n_values; i++)
        if (stands_elsewhere(t, &q.values[i])) {
            s->c->left_out++;
            return 0;
        }
    asked_question_add(s->c, &q);
    return 0;
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
    schema_set_close(&s.schemas);
    free(tables);
    free(db);
    return rc;
}
