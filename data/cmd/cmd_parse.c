#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/sql/sql.h"
#include "data/util/json.h"
#include "data/util/log.h"

#include <string.h>

enum { ARENA_BYTES = 64 << 20 }; /* one record's trees: some 80,000 tokens; only what is used is ever touched */

struct parse_arguments {
    const char *schema, *out;
};

static const struct parse_arguments defaults = { .out = "-" };

#define AT(field) offsetof(struct parse_arguments, field)

static const struct option options[] = {
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id", .required = true),
    OUT_JSONL_OPTION(AT(out)),
    { 0 },
};

/* What the whole run needs. */
struct parsing {
    struct schema_set schemas;
    struct arena arena;
    struct json_reader *in;
    struct out_file out;
    int64_t records, failed;
};

static json_t *use_to_json(const struct schema *s, const struct sql_use *u)
{
    const char *column = u->column < 0 ? NULL : s->columns[u->column].name;
    return json_pack("{s:s, s:s?, s:s, s:i, s:i, s:i}", "table", s->tables[u->table].name, "column", column, "clause",
                     sql_clause_name(u->clause), "depth", u->depth, "begin", u->begin, "end", u->end);
}

/* Appends the canonical text and the uses of one statement. */
static int parse_text(struct parsing *p, const struct schema *s, const char *text, json_t *sql, json_t *uses,
                      struct error *err)
{
    struct sql_uses found;

    arena_reset(&p->arena, 0);
    struct sql_query *q = sql_parse(&p->arena, text, err);
    if (!q || sql_resolve(&p->arena, q, s, &found, err))
        return -1;
    const char *canonical = sql_print(&p->arena, q);
    if (!canonical)
        return error_set(err, EXIT_CODE_MEMORY, "SQL of %zu bytes is too long to print", strlen(text));
    json_t *list = json_array();
    for (int i = 0; i < found.n; i++)
        json_array_append_new(list, use_to_json(s, &found.list[i]));
    json_array_append_new(uses, list);
    json_array_append_new(sql, json_string(canonical));
    return 0;
}

/* The statement of a record, or several: "query" as in Spider, else "sql", a string or a list of strings. */
static json_t *find_sql(const json_t *record)
{
    json_t *query = json_object_get(record, "query");
    return query ? query : json_object_get(record, "sql");
}

static int parse_all(struct parsing *p, const struct schema *s, const json_t *texts, json_t *sql, json_t *uses,
                     const char *where, struct error *err)
{
    size_t n = json_is_array(texts) ? json_array_size(texts) : 1;

    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_is_array(texts) ? json_array_get(texts, i) : texts);
        if (!text)
            return error_set(err, EXIT_CODE_DATA, "%s: field \"query\" or \"sql\": expected a string or strings",
                             where);
        if (parse_text(p, s, text, sql, uses, err))
            return error_prefix(err, "%s", where);
    }
    return 0;
}

static int parse_record(struct parsing *p, const json_t *record, json_t *o, const char *where, struct error *err)
{
    json_t *sql = json_array(), *uses = json_array(), *texts = find_sql(record);
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct schema *s = db_id ? schema_find(&p->schemas, db_id) : NULL;
    int rc = -1;

    if (db_id && !s)
        error_set(err, EXIT_CODE_DATA, "%s: field \"db_id\": no schema \"%s\"", where, db_id);
    if (s && parse_all(p, s, texts, sql, uses, where, err) == 0) {
        bool list = json_is_array(texts);
        json_object_set(o, "sql", list ? sql : json_array_get(sql, 0));
        json_object_set(o, "uses", list ? uses : json_array_get(uses, 0));
        rc = 0;
    }
    json_decref(sql);
    json_decref(uses);
    return rc;
}

/* The line for one record, whose id is its number where it has none; NULL record: one that could not be read. */
static int write_record(struct parsing *p, const json_t *record, struct error *bad, struct error *err)
{
    json_t *o = json_object(), *id = json_object_get(record, "id"), *db_id = json_object_get(record, "db_id");

    json_object_set_new(o, "id", id ? json_incref(id) : json_integer(p->records));
    json_object_set_new(o, "db_id", db_id ? json_incref(db_id) : json_null());
    if (!record || parse_record(p, record, o, json_reader_where(p->in), bad)) {
        json_object_set_new(o, "error", json_message(bad->text));
        p->failed++;
    }
    p->records++;
    int rc = json_write_line(&p->out, o, err);
    json_decref(o);
    return rc;
}

static int write_records(struct parsing *p, struct error *err)
{
    int rc;

    do {
        json_t *record = NULL;
        struct error bad = { 0 };
        rc = json_reader_next(p->in, &record, &bad);
        if (rc && write_record(p, record, &bad, err)) {
            json_decref(record);
            return -1;
        }
        json_decref(record);
    } while (rc);
    return 0;
}

static int parse_file(struct parsing *p, const struct parse_arguments *a, const char *input, struct error *err)
{
    if (schema_set_open(&p->schemas, a->schema, err) || arena_init(&p->arena, ARENA_BYTES, err) ||
        !(p->in = json_reader_open(input, err)) || out_file_open(&p->out, a->out, err))
        return -1;
    return write_records(p, err) ? -1 : out_file_commit(&p->out, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    struct parsing p = { 0 };

    int rc = parse_file(&p, call->options, call->operands[0], err);
    out_file_abort(&p.out);
    if (p.in)
        json_reader_close(p.in);
    arena_release(&p.arena);
    schema_set_close(&p.schemas);
    if (rc)
        return err->code;
    log_info("%lld records, %lld failed", (long long)p.records, (long long)p.failed);
    return p.failed ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}

const struct command command_parse = {
    .name = "parse",
    .summary = "writes each record's SQL in one canonical form, with every table and column it touches",
    ONE_OPERAND("IN.json"),
    OPTIONS(options, defaults),
    .details =
        "IN.json is JSONL or an array of records with db_id and query (or sql, a string or a list of strings); - is "
        "standard input. Each line of the output has id, db_id, sql, and uses: table, column (null for the table "
        "itself), clause (select, from, on, where, group, having, order or limit), depth (0 outermost), and where it "
        "stands in the record's text, in bytes. The SQL is SQLite's.\n\n"
        "A record that fails has an error instead, and the exit code is 7.",
    .run = run,
};
