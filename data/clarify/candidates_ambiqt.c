/* Part of candidates.h: published predictions on AmbiQT: candidates on the altered schema, which each record brings
 * along. */
#include "data/clarify/candidates_impl.h"
#include "data/corpora/ambiqt_text.h"
#include "data/schema/schema_build.h"
#include "data/score/ambiqt_map.h"
#include "data/score/ambiqt_score.h"
#include "data/sql_form/sql_form.h"
#include "data/util/stop.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ARENA_BYTES = 64 << 20 }; /* one statement's tree; only what is used is ever touched */

struct ambiqt_converter {
    struct candidates_sink *sink;
    struct ambiqt_cases cases;
    struct schema_set schemas; /* with --tables */
    struct arena scratch;
};

/* Takes the name that a piece of the schema's text begins with; what stands in double quotes is a stray value. */
static char *take_name(const char *from, const char *to)
{
    const char *quote = memchr(from, '"', (size_t)(to - from));

    to = quote ? quote : to;
    while (from < to && strchr(" \t", *from))
        from++;
    while (to > from && strchr(" \t", to[-1]))
        to--;
    char *name = xcalloc((size_t)(to - from) + 1, 1);
    memcpy(name, from, (size_t)(to - from));
    return name;
}

/* "table : column , column" from `from` to `to`. */
static void add_table(struct schema_build *b, const char *from, const char *to)
{
    const char *colon = memchr(from, ':', (size_t)(to - from));
    char *name = colon ? take_name(from, colon) : NULL;

    if (!name || !*name) {
        free(name);
        return;
    }
    int table = schema_build_table(b, name, NULL);
    free(name);
    for (const char *at = colon + 1, *end; at <= to; at = end + 1) {
        end = memchr(at, ',', (size_t)(to - at));
        end = end ? end : to;
        name = take_name(at, end);
        if (*name)
            schema_build_column(b, table, name, NULL, COLUMN_TEXT);
        free(name);
    }
}

static int built_column(const struct schema *s, const char *name)
{
    for (int c = 0; c < s->n_columns; c++)
        if (strcasecmp(s->columns[c].name, name) == 0)
            return c;
    return -1;
}

/* Whether a word of the reading is the name of a table with that column. */
static bool table_has(const struct schema *s, const struct ambiqt_words *reading, const char *column)
{
    for (int i = 0; i < reading->n; i++) {
        int t = schema_table_find(s, reading->items[i]);
        if (t >= 0 && schema_column_find(s, t, column) >= 0)
            return true;
    }
    return false;
}

/* The readings use columns that some records' schemas lack: those that P's new table repeats from the old one, and J's
 * column of the old table. */
static void add_needed(struct schema_build *b, const struct schema *s, const struct ambiqt_record *r)
{
    int old = schema_table_find(s, r->table), new = schema_table_find(s, r->new_table);
    struct strings added = { 0 };
    struct ambiqt_words w;

    if (r->kind == SIA_JOIN && old >= 0 && schema_column_find(s, old, r->column) < 0)
        schema_build_column(b, old, r->column, NULL, COLUMN_TEXT);
    ambiqt_words_split(&w, r->readings[1]);
    for (int i = 0; i < w.n && r->kind == SIA_AGGREGATE && new >= 0; i++) {
        const char *name = ambiqt_without_alias(w.items[i]);
        if (built_column(s, name) < 0 || table_has(s, &w, name) || strings_find(&added, name) >= 0)
            continue;
        strings_add(&added, name);
        schema_build_column(b, new, name, NULL, COLUMN_TEXT);
    }
    strings_release(&added);
    ambiqt_words_release(&w);
}

static void build_schema(struct schema *s, const struct ambiqt_record *r, const struct schema *told)
{
    struct schema_build b;

    schema_build_init(&b, r->db_id);
    for (const char *at = r->schema_text, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "|");
        add_table(&b, at, end);
    }
    if (told)
        add_needed(&b, told, r);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

/* The altered schema as the record tells it: names alone, so every column is text. */
static void read_schema(struct schema *s, const struct ambiqt_record *r)
{
    struct schema told;

    build_schema(&told, r, NULL);
    build_schema(s, r, &told);
    schema_release(&told);
}

/* Which readings prediction i is by AmbiQT's exact set match, as score finds it. */
static json_t *marks_json(struct ambiqt_converter *c, const struct ambiqt_case *of, const struct spider_schema *s,
                          int i)
{
    const struct ambiqt_judge judge = { s, NULL, false };
    const struct ambiqt_case one = { of->record, of->row, { of->predictions.items + i, 1, 1 } };
    struct ambiqt_found found = ambiqt_score(&judge, &c->cases, &one);
    json_t *golds = json_array();

    for (int g = 0; g < 2; g++)
        if (found.reading[AMBIQT_EM][g])
            json_array_append_new(golds, json_integer(g));
    return golds;
}

static void mark(struct ambiqt_converter *c, const struct ambiqt_case *of, json_t *item, int i)
{
    struct spider_schema s;

    spider_schema_init(&s, schema_find(&c->schemas, c->cases.corpus.items[of->record].db_id));
    json_object_set_new(item, "gold", marks_json(c, of, &s, i));
    spider_schema_release(&s);
}

/* The query as the schema takes it, its columns put under tables that have them where it must; NULL with an error.  The
 * caller frees. */
static char *readable(struct ambiqt_converter *c, const struct ambiqt_record *r, const struct schema *s,
                      const char *sql, struct error *why)
{
    struct form_store store = { 0 };
    struct error again;
    char *text = xstrdup(sql);

    if (!form_of_text(&store, text, s, &c->scratch, why)) {
        free(text);
        text = r->kind == SIA_JOIN ? ambiqt_qualify(r, s, sql) : NULL;
        if (text && !form_of_text(&store, text, s, &c->scratch, &again)) {
            free(text);
            text = NULL;
        }
    }
    form_store_release(&store);
    return text;
}

/* What SQL on that schema cannot be is left out, and told. */
static json_t *candidates_json(struct ambiqt_converter *c, const struct ambiqt_case *of, const struct schema *s,
                               json_t *left_out)
{
    const struct ambiqt_record *r = &c->cases.corpus.items[of->record];
    json_t *list = json_array();

    for (int i = 0; i < of->predictions.n; i++) {
        const char *sql = ambiqt_query_of(r, of->predictions.items[i]);
        double rank = (double)json_array_size(list);
        struct error why = { 0 };
        char *text = readable(c, r, s, sql, &why);
        if (!text) {
            json_array_append_new(
                left_out, json_pack("{s:i, s:s, s:o}", "candidate", i, "sql", sql, "error", json_message(why.text)));
            continue;
        }
        json_t *item = json_pack("{s:s, s:f}", "sql", text, "logprob", -rank / c->sink->request->temperature);
        if (c->sink->request->tables)
            mark(c, of, item, i);
        json_array_append_new(list, item);
        free(text);
    }
    return list;
}

static json_t *record_json(struct ambiqt_converter *c, const struct ambiqt_case *of, json_t *id)
{
    const struct ambiqt_record *r = &c->cases.corpus.items[of->record];
    json_t *left_out = json_array();
    struct schema s;

    read_schema(&s, r);
    json_t *list = candidates_json(c, of, &s, left_out);
    json_t *o = json_pack("{s:o, s:s, s:s, s:b, s:s, s:f, s:o, s:[s, s], s:o, s:o}", "id", id, "db_id", r->db_id,
                          "question", r->question, "ambiguous", true, "kind", sia_kind_letter(r->kind), "temperature",
                          c->sink->request->temperature, "candidates", list, "gold", r->readings[0], r->readings[1],
                          "left_out", left_out, "schema", schema_to_json(&s));
    schema_release(&s);
    return o;
}

/* Why a record has no candidates, in err. */
static void check_case(const struct ambiqt_converter *c, const struct ambiqt_case *of, const char *where,
                       struct error *err)
{
    const struct ambiqt_record *r = &c->cases.corpus.items[of->record];
    const char *tables = c->sink->request->tables;

    if (!r->schema_text)
        error_set(err, EXIT_CODE_DATA, "%s: field \"schema_without_content\" is missing", where);
    else if (tables && !schema_find(&c->schemas, r->db_id))
        error_set(err, EXIT_CODE_DATA, "%s: db_id: no schema \"%s\" in %s", where, r->db_id, tables);
    else if (of->predictions.n == 0)
        error_set(err, EXIT_CODE_DATA, "%s: no predictions", where);
}

static int emit_case(struct ambiqt_converter *c, const struct ambiqt_case *of, struct error *err)
{
    json_t *id = json_sprintf("%s-%d", sia_kind_letter(c->cases.corpus.items[of->record].kind), of->row);
    struct error why = { 0 };
    char where[512];

    snprintf(where, sizeof where, "%.400s: row %d", c->sink->request->file, of->row);
    check_case(c, of, where, &why);
    if (why.text[0])
        return candidates_emit_error(c->sink, id, &why);
    return candidates_emit(c->sink, record_json(c, of, id), where, err);
}

int candidates_of_ambiqt(struct candidates_sink *s, struct error *err)
{
    struct ambiqt_converter c = { .sink = s };
    const struct candidates_request *q = s->request;
    int rc = ambiqt_cases_read(&c.cases, q->gold, q->file, q->k, err);

    if (rc == 0 && q->tables)
        rc = schema_set_open(&c.schemas, q->tables, err);
    if (rc == 0)
        rc = arena_init(&c.scratch, ARENA_BYTES, err);
    for (int i = 0; i < c.cases.n && rc == 0; i++)
        rc = stop_requested() ? 1 : emit_case(&c, &c.cases.items[i], err);
    arena_release(&c.scratch);
    schema_set_close(&c.schemas);
    ambiqt_cases_release(&c.cases);
    return rc;
}
