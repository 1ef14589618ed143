/* Part of asker.h: what is known of a question, and what a session says, as JSON. */
#include "infer/ask/asker.h"

#include "data/exec/execute.h"

#include <stdlib.h>
#include <string.h>

/* A result that has more rows than may be is asked for its first ones alone. */
static struct exec_result run_first(struct exec_db *db, const char *sql, int64_t rows)
{
    struct exec_result all = exec_run(db, sql), first;
    size_t n = strlen(sql);
    char *cut = NULL;

    if (all.status != EXEC_STOPPED)
        return all;
    while (n && strchr("; \t\r\n", sql[n - 1]))
        n--;
    CHECK(asprintf(&cut, "SELECT * FROM (%.*s\n) LIMIT %lld", (int)n, sql, (long long)rows + 1) >= 0, "out of memory");
    first = exec_run(db, cut);
    free(cut);
    bool better = first.status == EXEC_OK;
    exec_result_release(better ? &all : &first);
    return better ? first : all;
}

json_t *asker_rows(struct asker *a, const char *db_id, const char *sql)
{
    struct exec_db *db = NULL;
    struct error why;

    if (schema_catalog_connect(&db, &a->context.schemas, db_id, &why) || !db)
        return NULL;
    struct exec_result r = run_first(db, sql, a->q->rows);
    bool more = r.n > a->q->rows;
    if (more)
        r.n = a->q->rows;
    json_t *o = exec_result_json(&r);
    if (r.status == EXEC_OK)
        json_object_set_new(o, "more", json_boolean(more));
    exec_result_release(&r);
    return o;
}

/* Of the fields those that are there. */
static json_t *some_fields(const json_t *from, const char *const *fields, int n)
{
    json_t *o = json_object();

    for (int i = 0; i < n; i++)
        if (json_object_get(from, fields[i]))
            json_object_set(o, fields[i], json_object_get(from, fields[i]));
    return o;
}

static json_t *finding_part(const json_t *finding, bool relevance)
{
    static const char *const fields[] = { "score",        "ambiguous", "kind",     "alternatives",
                                          "question_cut", "sentence",  "relevance" };
    return finding ? some_fields(finding, fields, ARRAY_LEN(fields) - !relevance) : json_null();
}

static json_t *marked_part(const json_t *marked)
{
    static const char *const fields[] = { "status", "problem", "spans", "sentence" };
    return marked ? some_fields(marked, fields, ARRAY_LEN(fields)) : json_null();
}

static json_t *candidates_part(const struct asked *k)
{
    size_t n = json_array_size(json_object_get(k->record, "candidates"));

    if (k->origin == FROM_NOWHERE)
        return json_null();
    return json_pack("{s:s, s:I, s:i, s:i, s:O*}", "from", candidate_origin_name(k->origin), "n", (json_int_t)n,
                     "added", k->made.added, "raised", k->made.raised, "errors", k->errors);
}

json_t *asker_session_line(struct asker *a, struct session *s, bool gated)
{
    const json_t *record = json_object_get(s->value, "record");
    const char *db_id = json_string_value(json_object_get(record, "db_id"));
    json_t *o = session_json(s), *session = json_incref(json_object_get(o, "session"));
    bool lost = s->why == STOP_HAND_OVER;

    if (!o)
        return NULL;
    if (gated && s->why == STOP_TURNS)
        json_object_set_new(o, "stop", json_string("gate"));
    const char *sql = lost ? NULL : json_string_value(json_object_get(o, "best"));
    json_t *rows = sql ? asker_rows(a, db_id, sql) : NULL;
    json_object_del(o, "session");
    json_object_set_new(o, "regenerated", json_boolean(json_is_true(json_object_get(record, "regenerated"))));
    json_object_set(o, "turns", json_object_get(s->value, "turns"));
    json_object_set_new(o, "sql", sql ? json_string(sql) : json_null());
    json_object_set_new(o, "result", rows ? rows : json_null());
    json_object_set_new(o, "session", session);
    return o;
}

/* Of a question without candidates. */
static json_t *nothing_to_ask(void)
{
    return json_pack("{s:n, s:s, s:n, s:n}", "ask", "stop", "no-candidates", "sql", "result");
}

json_t *asker_line(struct asker *a, const struct asked *k, struct session *s, bool relevance)
{
    json_t *o = json_pack("{s:O*, s:O, s:O, s:o, s:o, s:o, s:b}", "id", json_object_get(k->record, "id"), "db_id",
                          json_object_get(k->record, "db_id"), "question", json_object_get(k->record, "question"),
                          "detector", finding_part(k->finding, relevance), "tagger", marked_part(k->marked),
                          "candidates", candidates_part(k), "gated", k->gated);
    json_t *rest = s ? asker_session_line(a, s, k->gated) : nothing_to_ask();

    if (!rest || json_object_update(o, rest)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(rest);
    return o;
}
