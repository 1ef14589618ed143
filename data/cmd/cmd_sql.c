/* Part of commands.h: ambit-data sql. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/plan/sql_records.h"
#include "data/util/log.h"

static const struct sql_request defaults = { .out = "-" };

#define AT(field) offsetof(struct sql_request, field)

static const struct option options[] = {
    SCHEMA_OPTION(AT(schema), "tables.json with the schema of every db_id"),
    DB_OPTION(AT(db), ", in place of --schema"),
    OUT_JSONL_OPTION(AT(out)),
    FORMAT_IN_OPTION(AT(form)),
    SHARD_OPTION(AT(shard), 1),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct sql_request *q = call->options;
    struct record_counts counts = { 0 };

    if (!q->schema == !q->db)
        return usage_error(err, "expected either --schema or --db");
    int rc = sql_records(q, call->operands[0], &counts, err);

    if (rc == 0)
        log_info("%lld records, %lld failed", (long long)counts.records, (long long)counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_sql = {
    .name = "sql",
    .summary = "writes each record's SQL in one canonical form, with every table and column it touches",
    ONE_OPERAND("IN.json"),
    OPTIONS(options, defaults),
    .details =
        "IN.json is JSONL or an array of records with db_id and query (or sql, a string or a list of strings); - is "
        "standard input. Each line of the output has id, db_id, sql, and uses: table, column (null for the table "
        "itself), clause (select, from, on, where, group, having, order or limit), depth (0 outermost), and where it "
        "stands in the record's text, in bytes. The SQL is SQLite's; what "
        "SQLite refuses is refused, with line and column.\n\n"
        "A record that fails has an error instead, and the exit code is 7.",
    .examples = { "ambit-data sql queries.jsonl --schema tables.json -o canonical.jsonl",
                  "ambit-data sql queries.jsonl --db shop.sqlite" },
    .run = run,
};
