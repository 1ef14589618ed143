#include "infer/ask/session_rows.h"

#include "data/base/real_text.h"
#include "data/base/table_writer.h"

#include <stdlib.h>
#include <string.h>

/* The statement of a dialogue, which the caller frees, or NULL with err. */
static char *statement_of(const struct session *s, const char *where, struct error *err)
{
    struct choose_outcome o = { 0 };

    if (choose_is(s)) {
        int rc = choose_outcome(&o, s, where, err);
        char *sql = o.sql ? xstrdup(o.sql) : NULL;
        choose_outcome_release(&o);
        if (rc == 0 && !sql)
            error_set(err, EXIT_CODE_DATA, "%s: the dialogue has no statement: it only rewrites the question", where);
        return sql;
    }
    if (s->why != STOP_ESCALATE)
        return xstrdup(s->current.sql[posterior_best(&s->current.dialogue.now)]);
    error_set(err, EXIT_CODE_DATA, "%s: the dialogue has no statement: no candidate is meant", where);
    return NULL;
}

json_t *session_rows(struct pipeline *a, struct session *s, const char *where, struct error *err)
{
    const char *db_id = json_string_value(json_object_get(json_object_get(s->value, "record"), "db_id"));
    char *sql = statement_of(s, where, err);

    if (!sql)
        return NULL;
    json_t *result = pipeline_rows(a, db_id, sql, SESSION_ROWS_MAX);
    free(sql);
    if (json_object_get(result, "rows"))
        return result;
    const char *why = json_string_value(json_object_get(result, "message"));
    error_set(err, EXIT_CODE_DATA, "%s: the statement does not run: %s", where,
              why ? why : "the service has a schema and no database");
    json_decref(result);
    return NULL;
}

static bool has_nul(const json_t *text)
{
    return json_is_string(text) && strlen(json_string_value(text)) < json_string_length(text);
}

/* Writes a cell with the digits that JSON has for it.  A text with a NUL is written as JSON. */
static void put_cell(FILE *f, const json_t *cell)
{
    const char *infinite = json_string_value(json_object_get(cell, "real"));
    char real[REAL_TEXT], *text = has_nul(cell) ? json_text(cell, JSON_EXACT) : NULL;

    if (json_is_real(cell))
        table_put_text(f, real_literal(real, json_real_value(cell)));
    else if (infinite || text)
        table_put_text(f, infinite ? infinite : text);
    else
        table_put(f, cell);
    free(text);
}

/* Many programs skip an empty line, so that a line of one empty cell has quotes. */
static void put_line(FILE *f, const json_t *cells)
{
    size_t n = json_array_size(cells);
    const json_t *first = json_array_get(cells, 0);

    if (n == 1 && (json_is_null(first) || (json_is_string(first) && !json_string_length(first))))
        fputs("\"\"", f);
    else
        for (size_t i = 0; i < n; i++) {
            fputs(i ? "," : "", f);
            put_cell(f, json_array_get(cells, i));
        }
    fputc('\n', f);
}

void session_rows_reply(struct http_reply *reply, const json_t *result)
{
    const json_t *rows = json_object_get(result, "rows");
    bool more = json_is_true(json_object_get(result, "truncated"));
    size_t n;
    FILE *f = open_memstream(&reply->text, &n);

    CHECK(f, "no memory for a table");
    put_line(f, json_object_get(result, "columns"));
    for (size_t i = 0; i < json_array_size(rows); i++)
        put_line(f, json_array_get(rows, i));
    CHECK(fclose(f) == 0, "no memory for a table");
    reply->type = "text/csv; charset=utf-8; header=present";
    reply->file = more ? "first-10000-rows.csv" : "rows.csv";
}
