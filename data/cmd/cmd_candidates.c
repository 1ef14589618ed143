/* Part of commands.h: ambit-data candidates. */
#include "data/base/log.h"
#include "data/base/option_rows.h"
#include "data/base/stop.h"
#include "data/clarify/candidates.h"
#include "data/cmd/commands.h"

static const struct candidates_request defaults = { .out = "-", .temperature = 1, .k = 1000 };

#define AT(field) offsetof(struct candidates_request, field)

static const struct option options[] = {
    CHOICE_OPTION("from", AT(from), "FORM", CANDIDATES_FORMS, "form of FILE", .group = "input"),
    STRING_OPTION("gold", AT(gold), "FILE", "gold records of ambiqt-output (default: the predictions' own) or spider"),
    SCHEMA_OPTION(AT(tables), "ambiqt-output, spider: tables.json, to mark gold candidates"),
    FORMAT_IN_OPTION(AT(format_in)),
    SHARD_OPTION(AT(shard), 1),
    OUT_OPTION(AT(out), "FILE", "output file in JSONL; - is standard output"),
    INT_OPTION("top", AT(k), "K", 1, 1000, "maximum number of candidates of a record", .letter = 'k',
               .group = "probabilities"),
    REAL_OPTION("temperature", AT(temperature), "T", OPTION_ABOVE_ZERO, 1e6,
                "ambiqt-output, spider: weigh rank r, from 0, by exp(-r / T)"),
    REAL_OPTION("below", AT(below), "P", OPTION_ABOVE_ZERO, 1,
                "spider: only records whose best candidate is less probable"),
    STRING_OPTION("calibration", AT(calibration), "FILE", "apply this calibration of `calibrate`"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct candidates_request q = *(const struct candidates_request *)call->options;
    struct candidates_counts counts = { 0 };

    q.file = call->operands[0];
    bool marks = q.from == CANDIDATES_AMBIQT || q.from == CANDIDATES_SPIDER;
    if (!marks && (q.gold || q.tables))
        return usage_error(err, "--%s requires --from ambiqt-output or spider", q.gold ? "gold" : "schema");
    if (q.from == CANDIDATES_SPIDER && (!q.gold || !q.tables))
        return usage_error(err, "--from spider requires --%s", q.gold ? "schema" : "gold");
    if (q.below > 0 && q.from != CANDIDATES_SPIDER)
        return usage_error(err, "--below requires --from spider");
    if (q.shard.count && q.from != CANDIDATES_PLAIN && q.from != CANDIDATES_AMBROSIA)
        return usage_error(err, "--shard requires --from plain or ambrosia");
    stop_install();
    int rc = candidates_write(&q, &counts, err);
    if (rc == 0)
        log_info("%lld records, %lld candidates, %lld records failed", (long long)counts.records,
                 (long long)counts.candidates, (long long)counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_candidates = {
    .name = "candidates",
    .summary = "convert predictions to candidate statements with probabilities",
    ONE_OPERAND("FILE"),
    OPTIONS(options, defaults),
    .details =
        "FILE is one of: plain, records with \"candidates\" [{\"sql\", \"logprob\" or \"p\"}]; "
        "ambiqt-output, a published prediction file of AmbiQT; dfpl, a prediction file of \"Disambiguate "
        "First, Parse Later\"; ambrosia, AMBROSIA's questions with their gold statements as candidates; spider, "
        "predictions in any form of `score --rule spider`.\n\n"
        "The probabilities of a record sum to 1 with its \"none_of_the_above\", the probability that no candidate is "
        "right. Fields: docs/reference/records.md, section Candidates. Guide: docs/guides/clarify.md.",
    .examples = { "ambit-data candidates predictions.json --from ambiqt-output --gold ambiqt.jsonl -o candidates.jsonl",
                  "ambit-data candidates raw.jsonl --calibration calibration.json -o candidates.jsonl" },
    .run = run,
};
