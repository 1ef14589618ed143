/* Part of commands.h: ambit-infer detect. */
#include "data/cli/option_rows.h"
#include "data/util/log.h"
#include "infer/cmd/commands.h"
#include "infer/detect/detect.h"

static const struct detect_request defaults = { .out = "-", .device = "auto", .tokens = 16384 };

#define AT(field) offsetof(struct detect_request, field)

static const struct option table[] = {
    STRING_OPTION("model", AT(model), "DIR", "folder that ambit-train gatekeeper left", .letter = 'm',
                  .required = true),
    SCHEMA_OPTION(AT(schema), "tables.json; records name their schema by db_id"),
    DB_OPTION(AT(db), ", in place of --schema"),
    FORMAT_IN_OPTION(AT(form)),
    OUT_OPTION(AT(out), "OUT.jsonl", "findings in input order; - is standard output"),
    CHOICE_OPTION("format", AT(format), "FORM", "jsonl|text", "JSONL, or lines for people"),
    DEVICE_OPTION(AT(device)),
    INT_OPTION("tokens", AT(tokens), "N", 512, 1 << 24, "most tokens encoded at once"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct detect_request *q = call->options;
    struct detect_counts counts = { 0 };

    if (!q->schema == !q->db)
        return usage_error(err, "expected either --schema or --db");
    int rc = detect(q, call->operands[0], &counts, err);
    if (rc == 0)
        log_info("%lld questions, %lld ambiguous, %lld failed", (long long)counts.records, (long long)counts.ambiguous,
                 (long long)counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_detect = {
    .name = "detect",
    .summary = "says which questions are ambiguous for their schema, of which kind, and between what",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(table, defaults),
    .details = "IN.jsonl holds records {\"id\", \"db_id\", \"question\"}; - is standard input.  Each line of the "
               "output has the score (a calibrated probability), the decision at the stored threshold, kind (C, T, J "
               "or P), the alternatives, one sentence, and the relevance of every table and column.",
    .examples = { "ambit-infer detect questions.jsonl --model runs/gate --schema tables.json -o findings.jsonl",
                  "ambit-infer detect questions.jsonl --model runs/gate --db shop.sqlite --format text" },
    .run = run,
};
