/* Part of commands.h: ambit-data calibrate. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/stop.h"
#include "data/clarify/calibration.h"
#include "data/cmd/commands.h"

static const struct calibrate_request defaults = { .out = "-", .keep = .9, .seed = 1 };

#define AT(field) offsetof(struct calibrate_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .group = "input"),
    SCHEMA_OPTION(AT(schema), "tables.json, for records without a schema"),
    FORMAT_IN_OPTION(AT(format_in)),
    OUT_OPTION(AT(out), "FILE", "write the calibration, JSON; - is standard output"),
    REAL_OPTION("keep", AT(keep), "SHARE", OPTION_ABOVE_ZERO, 1,
                "probability of keeping all gold statements of a question", .group = "threshold"),
    SEED_OPTION(AT(seed), "seed that halves the records"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct calibrate_request q = *(const struct calibrate_request *)call->options;
    struct calibrate_counts counts = { 0 };

    q.candidates = call->operands[0];
    if (q.schema && q.db)
        return usage_error(err, "--schema and --db cannot be used together");
    stop_install();
    int rc = calibrate(&q, &counts, err);
    if (rc == 0)
        log_info("%lld records, %lld gold statements, %lld of them among the candidates%s", (long long)counts.records,
                 (long long)counts.golds, (long long)counts.covered,
                 counts.keeps_all ? "; the threshold is 0, which keeps all candidates" : "");
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "fit the probabilities of candidate statements on a development file",
    ONE_OPERAND("CANDIDATES.jsonl"),
    OPTIONS(options, defaults),
    .details = "Reads records of `candidates` that have gold statements. Fits alpha and temperature of p = "
               "softmax(logprob / tokens^alpha / temperature) by maximum likelihood on one half of the records, and "
               "measures the share of gold statements among the candidates (coverage).\n\n"
               "The threshold \"keep\" comes from the other half by split conformal prediction: all gold statements of "
               "a new question pass it with a probability of at least --keep. Guides: docs/guides/parse.md, "
               "docs/guides/clarify.md.",
    .examples = { "ambit-data calibrate dev.jsonl --schema tables.json -o calibration.json",
                  "ambit-data calibrate dev.jsonl --db databases -o calibration.json" },
    .run = run,
};
