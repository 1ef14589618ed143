/* Part of commands.h: ambit-data candidates. */
#include "data/clarify/candidates.h"
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/util/log.h"
#include "data/util/stop.h"

static const struct candidates_request defaults = { .out = "-", .temperature = 1, .k = 1000 };

#define AT(field) offsetof(struct candidates_request, field)

static const struct option options[] = {
    CHOICE_OPTION("from", AT(from), "FORM", CANDIDATES_FORMS, "what FILE is"),
    STRING_OPTION("gold", AT(gold), "FILE",
                  "ambiqt-output: the benchmark's records; default: what the predictions' own say"),
    STRING_OPTION("tables", AT(tables), "FILE",
                  "ambiqt-output: Spider's tables.json, to mark candidates that are a gold reading by exact set match"),
    REAL_OPTION("temperature", AT(temperature), "T", OPTION_ABOVE_ZERO, 1e6,
                "ambiqt-output: the prediction of rank r, from 0, weighs exp(-r / T)"),
    STRING_OPTION("calibration", AT(calibration), "FILE",
                  "what calibrate wrote: alpha, temperature, and the reserve that coverage leaves"),
    INT_OPTION("top", AT(k), "N", 1, 1000, "candidates of a record that count", .letter = 'k'),
    OUT_OPTION(AT(out), "OUT.jsonl", "records in input order; - is standard output"),
    FORMAT_IN_OPTION(AT(form)),
    SHARD_OPTION(AT(shard), 1),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    struct candidates_request q = *(const struct candidates_request *)call->options;
    struct candidates_counts counts = { 0 };

    q.file = call->operands[0];
    if (q.from != CANDIDATES_AMBIQT && (q.gold || q.tables))
        return usage_error(err, "--%s: expected --from ambiqt-output too", q.gold ? "gold" : "tables");
    if (q.shard.count && q.from != CANDIDATES_PLAIN && q.from != CANDIDATES_AMBROSIA)
        return usage_error(err, "--shard: expected --from plain or ambrosia, whose records stand alone");
    stop_install();
    int rc = candidates_write(&q, &counts, err);
    if (rc == 0)
        log_info("%lld records, %lld candidates, %lld records failed", (long long)counts.records,
                 (long long)counts.candidates, (long long)counts.failed);
    return job_exit_code(rc, counts.failed, err);
}

const struct command command_candidates = {
    .name = "candidates",
    .summary = "candidate statements with probabilities, from published files or from anywhere, for clarify",
    ONE_OPERAND("FILE"),
    OPTIONS(options, defaults),
    .details =
        "plain: records {\"id\", \"db_id\", \"question\", \"candidates\": [{\"sql\", \"logprob\" or \"p\"}], \"gold\": "
        "[SQL, ...]}, whatever made them.\n\n"
        "ambiqt-output: a published prediction file of AmbiQT; each record brings its altered \"schema\" along, both "
        "readings are gold, and with --tables a candidate's \"gold\" says which of them it is by AmbiQT's exact set "
        "match, values aside, once it is mapped to the schema it was made from.\n\n"
        "dfpl: a prediction file of \"Disambiguate First, Parse Later\"; all its queries are equally likely, and the "
        "databases are AMBROSIA's.  ambrosia: AMBROSIA's questions, whose gold readings are the candidates.\n\n"
        "Written are probabilities that sum to 1 with the \"reserve\".",
    .examples = { "ambit-data candidates predictions.json --from ambiqt-output --gold ambiqt.jsonl -o candidates.jsonl",
                  "ambit-data candidates raw.jsonl --calibration calibration.json -o candidates.jsonl" },
    .run = run,
};
