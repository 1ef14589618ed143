/* Part of commands.h: ambit-data execute. */
#include "data/base/option_rows.h"
#include "data/base/stop.h"
#include "data/cmd/commands.h"
#include "data/db/execute.h"

#include <string.h>

static const struct execute_request defaults = { .out = "-", .steps = 500000000, .seconds = 120 };

#define AT(field) offsetof(struct execute_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .required = true, .group = "input"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_JSONL_OPTION(AT(out)),
    RESUME_OPTION(AT(resume), "continue an interrupted run from FILE.part"),
    INT_OPTION("vm-steps", AT(steps), "N", 1, 1e15, "maximum number of steps of SQLite's virtual machine for a query",
               .group = "execution"),
    REAL_OPTION("timeout", AT(seconds), "SECONDS", OPTION_ABOVE_ZERO, 86400, "maximum time of a query"),
    FLAG_OPTION("python-text", AT(python_text), "fail on text that is not UTF-8, as Python's sqlite3 does"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct execute_request *q = call->options;
    int64_t failed;

    if (q->resume && strcmp(q->out, "-") == 0)
        return usage_error(err, "--resume requires --out FILE");
    stop_install();
    int rc = execute(q, call->operands[0], &failed, err);
    return job_exit_code(rc, failed, err);
}

static const struct file_note files[] = {
    { "FILE.part", "finished lines of a stopped run, for --resume" },
    { 0 },
};

const struct command command_execute = {
    .name = "execute",
    .summary = "execute each record's SQL on its database, read-only and within limits",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details = "A record has id, db_id and sql, a string or a list of strings. Each line of the output has status "
               "(ok, refused, failed or stopped), columns and rows, or a message; for a list of SQL it has "
               "results. Only SELECT statements run, with at most a million rows and 256 MiB. Equal statements run "
               "once. If a record fails, the exit code is 7. Guide: docs/guides/score.md.",
    .examples = { "ambit-data execute queries.jsonl --db databases -o rows.jsonl",
                  "ambit-data execute queries.jsonl --db databases --timeout 10 -o rows.jsonl --resume" },
    .files = files,
    .run = run,
};
