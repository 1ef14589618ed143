/* Part of commands.h: ambit-data execute. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/exec/execute.h"
#include "data/util/stop.h"

#include <string.h>

static const struct execute_request defaults = { .out = "-", .steps = 500000000, .seconds = 120 };

#define AT(field) offsetof(struct execute_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .required = true),
    OUT_JSONL_OPTION(AT(out)),
    FLAG_OPTION("python-text", AT(python_text),
                "fail a query whose result has text that is no UTF-8, as Python's sqlite3 does"),
    INT_OPTION("steps", AT(steps), "N", 1, 1e15, "steps of SQLite's machine for one query"),
    REAL_OPTION("seconds", AT(seconds), "X", OPTION_ABOVE_ZERO, 86400,
                "time for one query, should its steps take longer"),
    RESUME_OPTION(AT(resume), "go on with what a run that was stopped left in FILE.part"),
    FORMAT_IN_OPTION(AT(form)),
    SHARD_OPTION(AT(shard), 1),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct execute_request *q = call->options;
    int64_t failed;

    if (q->resume && strcmp(q->out, "-") == 0)
        return usage_error(err, "--resume: expected --out FILE, a file to go on with");
    stop_install();
    int rc = execute(q, call->operands[0], &failed, err);
    return job_exit_code(rc, failed, err);
}

static const struct file_note files[] = {
    { "FILE.part", "lines of a run that was stopped, for --resume" },
    { 0 },
};

const struct command command_execute = {
    .name = "execute",
    .summary = "runs each record's SQL on its database: read-only, bounded, over all cores",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "IN.jsonl is JSONL or an array of records with id, db_id and sql, a string or a list of strings; - is standard "
        "input. Each line of the output has id, db_id, sqlite (the library's version), status (ok, refused, failed or "
        "stopped) and columns, their names, with rows, or a message; for a list of SQL these stand in results, one for "
        "each. A row is a list of JSON values; a blob is {\"blob\": hex}, a text that is no UTF-8 {\"text\": hex}, an infinite number "
        "{\"real\": text}.\n\n"
        "Only one SELECT is run, on a read-only database, with harmless functions, at most a million rows and 256 MiB. "
        "A query asked again, in whichever spelling, is run once, so random() is drawn once for both.\n\n"
        "Lines are kept in FILE.part until all are there. A record that fails has a message or an error, and the exit "
        "code is 7.",
    .examples = { "ambit-data execute queries.jsonl --db databases -o rows.jsonl",
                  "ambit-data execute queries.jsonl --db databases --seconds 10 -o rows.jsonl --resume" },
    .files = files,
    .run = run,
};
