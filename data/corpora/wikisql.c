/* Part of table_corpus.h: the reader of WikiSQL. */
#include "data/base/records.h"
#include "data/corpora/table_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const splits[] = { "train", "dev", "test" };

/* The aggregates and comparisons by their number in the files (lib/query.py of WikiSQL); -1: no keyword. */
static const int aggregates[] = {
    -1, SQL_KEYWORD_MAX, SQL_KEYWORD_MIN, SQL_KEYWORD_COUNT, SQL_KEYWORD_SUM, SQL_KEYWORD_AVG
};
static const int comparisons[] = { SQL_KEYWORD_EQUAL, SQL_KEYWORD_GREATER, SQL_KEYWORD_LESS, -1 };

static void add_keyword(struct corpus_question *q, int keyword)
{
    if (keyword >= 0)
        q->keywords |= 1u << keyword;
}

static int read_row(struct table_corpus *c, struct corpus_table *t, const json_t *row, const char *where,
                    struct error *err)
{
    if (!json_is_array(row) || (int)json_array_size(row) != t->n_columns)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"rows\": expected rows of %d cells, got %zu", where,
                         t->n_columns, json_array_size(row));
    for (int i = 0; i < t->n_columns; i++)
        corpus_column_add(c, &t->columns[i], json_array_get(row, (size_t)i));
    return 0;
}

static int read_column(struct table_corpus *c, struct corpus_column *column, const json_t *name, const json_t *type,
                       const char *where, struct error *err)
{
    if (!json_is_string(name))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"header\": expected strings, got %s", where,
                         json_type_name(name));
    const char *word = json_string_value(type);
    if (!word || (strcmp(word, "text") != 0 && strcmp(word, "real") != 0))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"types\": expected \"text\" or \"real\", got %s%s", where,
                         word ? "" : json_type_name(type), word ? word : "");
    corpus_column_name(c, column, json_string_value(name));
    column->type = *word == 'r' ? COLUMN_NUMBER : COLUMN_TEXT;
    return 0;
}

/* A record_fn for a table. */
static int read_table(void *user, json_t *record, const char *where, struct error *err)
{
    struct table_corpus *c = user;
    const char *id = json_get_string(record, "id", where, err);
    json_t *header = id ? json_get_array(record, "header", where, err) : NULL;
    json_t *types = header ? json_get_array(record, "types", where, err) : NULL;
    json_t *rows = types ? json_get_array(record, "rows", where, err) : NULL, *row;
    size_t i, n = json_array_size(header);

    if (!rows)
        return -1;
    if (json_array_size(types) != n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"types\": expected %zu types, got %zu", where, n,
                         json_array_size(types));
    struct corpus_table *t =
        table_corpus_add_table(c, id, n > CORPUS_COLUMNS ? CORPUS_COLUMNS + 1 : (int)n, where, err);
    for (i = 0; t && i < n; i++)
        if (read_column(c, &t->columns[i], json_array_get(header, i), json_array_get(types, i), where, err))
            return -1;
    json_array_foreach(rows, i, row) if (t && read_row(c, t, row, where, err)) return -1;
    return t ? 0 : -1;
}

/* An integer of the array, from 0 to below n. */
static int number_in(const json_t *list, size_t place, int n, int *out, const char *field, const char *where,
                     struct error *err)
{
    const json_t *x = json_array_get(list, place);
    json_int_t i = json_integer_value(x);

    if (!json_is_integer(x))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"conds\": expected %s as a number, got %s", where, field,
                         json_type_name(x));
    if (i < 0 || i >= n)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"conds\": expected %s from 0 to %d, got %lld", where, field,
                         n - 1, (long long)i);
    *out = (int)i;
    return 0;
}

/* Reads [column, comparison, value]. */
static int read_condition(struct table_corpus *c, struct corpus_question *q, const json_t *condition, const char *where,
                          struct error *err)
{
    int column = 0, comparison = 0, n = c->tables[q->table].n_columns;
    const char *value = table_corpus_text(c, json_array_get(condition, 2));

    if (json_array_size(condition) != 3 || !value)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"conds\": expected [column, comparison, value] with a string or number as value",
                         where);
    if (number_in(condition, 0, n, &column, "a column", where, err) ||
        number_in(condition, 1, ARRAY_LEN(comparisons), &comparison, "a comparison", where, err))
        return -1;
    corpus_question_use(q, column, value);
    add_keyword(q, comparisons[comparison]);
    return 0;
}

static int read_sql(struct table_corpus *c, struct corpus_question *q, const json_t *sql, const char *where,
                    struct error *err)
{
    json_t *conditions = json_get_array(sql, "conds", where, err), *condition;
    int64_t selected, aggregate;
    size_t i;

    if (!conditions || json_get_int(sql, "sel", 0, c->tables[q->table].n_columns - 1, &selected, where, err) ||
        json_get_int(sql, "agg", 0, ARRAY_LEN(aggregates) - 1, &aggregate, where, err))
        return -1;
    corpus_question_use(q, (int)selected, NULL);
    add_keyword(q, aggregates[aggregate]);
    json_array_foreach(conditions, i, condition) if (read_condition(c, q, condition, where, err)) return -1;
    return 0;
}

/* A record_fn for a question. */
static int read_question(void *user, json_t *record, const char *where, struct error *err)
{
    struct table_corpus *c = user;
    const char *id = json_get_string(record, "table_id", where, err);
    const char *text = id ? json_get_string(record, "question", where, err) : NULL;
    json_t *sql = text ? json_get_object(record, "sql", where, err) : NULL;
    int table = sql ? strings_find(&c->ids, id) : -1;

    if (!sql)
        return -1;
    if (table < 0)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"table_id\": expected a table of the file .tables.jsonl beside it, got \"%s\"",
                         where, id);
    return read_sql(c, table_corpus_add_question(c, text, table), sql, where, err);
}

int wikisql_read(struct table_corpus *c, const char *dir, struct error *err)
{
    int rc = 0, found = 0;

    *c = (struct table_corpus){ 0 };
    for (int i = 0; i < ARRAY_LEN(splits) && rc == 0; i++) {
        char questions[4096], tables[4096];
        snprintf(questions, sizeof questions, "%s/%s.jsonl", dir, splits[i]);
        snprintf(tables, sizeof tables, "%s/%s.tables.jsonl", dir, splits[i]);
        if (access(questions, F_OK) != 0)
            continue;
        found++;
        rc = records_each_as_is(tables, RECORDS_AUTO, read_table, c, err);
        if (rc == 0)
            rc = records_each_as_is(questions, RECORDS_AUTO, read_question, c, err);
    }
    if (rc == 0 && !found)
        rc = error_set(err, EXIT_CODE_DATA,
                       "%s: expected train.jsonl with train.tables.jsonl, or those of dev or test, got none", dir);
    return rc;
}
