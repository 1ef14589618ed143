/* Part of commands.h: ambit-data sql. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/records.h"
#include "data/base/shard.h"
#include "data/cmd/commands.h"
#include "data/corpora/corpus_statistics.h"
#include "data/db/schema_catalog.h"
#include "data/sql/sql.h"
#include "data/sql/sql_check.h"

#include <string.h>

struct sql_request {
    const char *schema,
        *db; /* exactly one: tables.json with the schema of every db_id, or a database as in db_path.h */
    const char *out;
    enum record_format format_in;
    struct shard shard;
    bool statistics, json;
};

enum { ARENA_BYTES = 64 << 20 }; /* one record's trees, some 80,000 tokens; untouched pages take no memory */

/* The state of a run. */
struct sql_job {
    struct schema_catalog schemas;
    struct arena arena;
};

static json_t *use_to_json(const struct schema *s, const struct sql_use *u)
{
    const char *column = u->column < 0 ? NULL : s->columns[u->column].name;
    return json_pack("{s:s, s:s?, s:s, s:i, s:i, s:i}", "table", s->tables[u->table].name, "column", column, "clause",
                     sql_clause_name(u->clause), "depth", u->depth, "begin", u->begin, "end", u->end);
}

/* Appends the canonical text and the uses of one statement. */
static int parse_text(struct sql_job *p, const struct schema *s, const char *text, json_t *sql, json_t *uses,
                      struct error *err)
{
    struct sql_uses found;

    arena_reset(&p->arena, 0);
    struct sql_query *q = sql_parse(&p->arena, text, err);
    if (!q || sql_resolve(&p->arena, q, s, &found, err) || sql_check(q, s, err))
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

/* The SQL of a record, a string or a list: "query" as in Spider, else "sql". */
static json_t *find_sql(const json_t *record)
{
    json_t *query = json_object_get(record, "query");
    return query ? query : json_object_get(record, "sql");
}

static int parse_all(struct sql_job *p, const struct schema *s, const json_t *texts, json_t *sql, json_t *uses,
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

/* Adds canonical text and uses to the record's line. */
static int parse_record(void *job, json_t *record, json_t *line, const char *where, struct error *err)
{
    struct sql_job *p = job;
    json_t *sql = json_array(), *uses = json_array(), *texts = find_sql(record);

    schema_catalog_name(&p->schemas, record);
    const char *db_id = json_get_string(record, "db_id", where, err);
    const struct schema *s = db_id ? schema_catalog_find(&p->schemas, db_id, where, err) : NULL;
    int rc = -1;

    if (db_id)
        json_object_set_new(line, "db_id", json_string(db_id));
    if (s && parse_all(p, s, texts, sql, uses, where, err) == 0) {
        bool list = json_is_array(texts);
        json_object_set(line, "sql", list ? sql : json_array_get(sql, 0));
        json_object_set(line, "uses", list ? uses : json_array_get(uses, 0));
        rc = 0;
    }
    json_decref(sql);
    json_decref(uses);
    return rc;
}

/* Writes {"id", "db_id", "sql", "uses"} for each record. -1 with err. */
static int sql_records(const struct sql_request *q, const char *input, struct record_counts *counts, struct error *err)
{
    struct sql_job p = { 0 };
    int rc = -1;

    if (schema_catalog_open(&p.schemas, q->schema, q->db, err) == 0 && arena_init(&p.arena, ARENA_BYTES, err) == 0)
        rc = records_to_lines(input, q->format_in, &q->shard.range, q->out, parse_record, &p, counts, err);
    arena_release(&p.arena);
    schema_catalog_close(&p.schemas);
    return rc;
}

static const struct sql_request defaults = { .out = "-" };

#define AT(field) offsetof(struct sql_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .group = "input"),
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_JSONL_OPTION(AT(out)),
    FLAG_OPTION("statistics", AT(statistics), "print the numbers of questions, tables, columns, functions and joins",
                .group = "statistics"),
    FLAG_OPTION("json", AT(json), "statistics: print JSON objects in place of a table"),
    { 0 },
};

static enum exit_code run_statistics(const struct sql_request *q, const char *path, struct error *err)
{
    const struct corpus_statistics_request r = { path, q->schema, q->db, q->format_in, q->json };
    int64_t failed = 0;
    int rc = corpus_statistics_print(&r, &failed, err);

    return job_exit_code(rc, failed, err);
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct sql_request *q = call->options;
    struct record_counts counts = { 0 };

    if (q->schema && q->db)
        return usage_error(err, "--schema and --db cannot be used together");
    if (q->json && !q->statistics)
        return usage_error(err, "--json: expected --statistics as well");
    if (q->statistics && (q->shard.count || strcmp(q->out, defaults.out) != 0))
        return usage_error(err, "--statistics cannot be used with --shard or --out: it prints one table");
    if (q->statistics)
        return run_statistics(q, call->operands[0], err);
    if (!q->schema && !q->db)
        return usage_error(err, "expected one of --schema and --db");
    int rc = sql_records(q, call->operands[0], &counts, err);

    if (rc == 0)
        log_info("%lld records, %lld failed", (long long)counts.records, (long long)counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_sql = {
    .name = "sql",
    .summary = "print each record's SQL in canonical form",
    ONE_OPERAND("IN.json"),
    OPTIONS(options, defaults),
    .details = "A record has db_id and query, or sql, a string or a list of strings. Each line of the output has "
               "id, db_id, sql and uses: table, column (null for the table itself), clause, depth (0 is outermost) "
               "and byte offsets in the text. Requires --schema or --db. Statements that SQLite rejects get an "
               "error with line and column, and the exit code is 7.\n\n"
               "--statistics counts a file of questions, or a data folder: databases, their tables and columns, and "
               "functions and joins of the gold statements. Guide: docs/guides/make-data.md.",
    .examples = { "ambit-data sql queries.jsonl --schema tables.json -o canonical.jsonl",
                  "ambit-data sql --statistics train_spider.json --schema tables.json" },
    .run = run,
};
