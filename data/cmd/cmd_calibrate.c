/* Part of commands.h: ambit-data calibrate. */
#include "data/clarify/calibration.h"
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/util/log.h"
#include "data/util/stop.h"

static const struct calibrate_request defaults = { .out = "-", .keep = .9 };

#define AT(field) offsetof(struct calibrate_request, field)

static const struct option options[] = {
    SCHEMA_OPTION(AT(schema), "tables.json, for records that bring no schema along"),
    DB_OPTION(AT(db), ", in place of --schema"),
    REAL_OPTION("keep", AT(keep), "SHARE", OPTION_ABOVE_ZERO, 1,
                "share of gold statements that a threshold is to keep"),
    OUT_OPTION(AT(out), "FILE", "the calibration, JSON; - is standard output"),
    FORMAT_IN_OPTION(AT(form)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct calibrate_request q = *(const struct calibrate_request *)call->options;
    struct calibrate_counts counts = { 0 };

    q.candidates = call->operands[0];
    if (q.schema && q.db)
        return usage_error(err, "expected --schema or --db, got both");
    stop_install();
    int rc = calibrate(&q, &counts, err);
    if (rc == 0)
        log_info("%lld records, %lld gold statements, %lld of them among the candidates", (long long)counts.records,
                 (long long)counts.golds, (long long)counts.covered);
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "fits the probabilities of candidate statements on a development file",
    ONE_OPERAND("CANDIDATES.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "Records are those that candidates writes, with \"gold\": [SQL, ...].  Written are \"alpha\" and "
        "\"temperature\", with which p = softmax(logprob / tokens^alpha / temperature) makes the gold statements "
        "likeliest, and \"coverage\", the share of them that are among the candidates; \"coverage_at\" has it for the "
        "first n candidates with 95 % of 1000 resamples of records.  `candidates --calibration` applies all three.\n\n"
        "\"keep\" is the threshold of p, shares of 1, that a gold statement yet to come passes with a chance of at least "
        "--keep (split conformal prediction; one that is among no candidates is lost).  `ambit-infer parse --calibration` "
        "leaves out what is less likely.",
    .examples = { "ambit-data calibrate dev.jsonl --schema tables.json -o calibration.json",
                  "ambit-data calibrate dev.jsonl --db databases -o calibration.json" },
    .run = run,
};
