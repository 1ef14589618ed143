#include "data/clarify/calibration.h"
#include "data/cmd/commands.h"
#include "data/util/log.h"
#include "data/util/stop.h"

static const struct calibrate_request defaults = { .out = "-" };

#define FIELD(name) offsetof(struct calibrate_request, name)
static const struct option options[] = {
    { .name = "schema",
      .type = OPTION_STRING,
      .offset = FIELD(schema),
      .value = "FILE",
      .help = "tables.json, for records that bring no schema along" },
    { .name = "db",
      .type = OPTION_STRING,
      .offset = FIELD(db),
      .value = "DIR",
      .help = "SQLite databases instead: DIR/ID.sqlite or DIR/ID/ID.sqlite" },
    { .name = "out",
      .letter = 'o',
      .type = OPTION_STRING,
      .offset = FIELD(out),
      .value = "FILE",
      .help = "the calibration, JSON; - is standard output" },
    { 0 },
};

static enum exit_code run(const void *arguments, char *const *operands, int n_operands, struct error *err)
{
    struct calibrate_request q = *(const struct calibrate_request *)arguments;
    struct calibrate_counts counts = { 0 };

    (void)n_operands;
    q.candidates = operands[0];
    if (q.schema && q.db) {
        error_set(err, EXIT_CODE_USAGE, "--schema or --db is wanted, not both");
        return err->code;
    }
    stop_install();
    int rc = calibrate(&q, &counts, err);
    if (rc)
        return rc < 0 ? err->code : stop_exit_code();
    log_info("%lld records, %lld gold statements, %lld of them among the candidates", (long long)counts.records,
             (long long)counts.golds, (long long)counts.covered);
    if (!counts.failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; \"failed\" says why", (long long)counts.failed,
              (long long)counts.records);
    return EXIT_CODE_RECORDS;
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "fits the probabilities of candidate statements on a development file",
    .operands = "CANDIDATES.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details =
        "Records are those that candidates writes, with \"gold\": [SQL, ...].  Written are \"alpha\" and "
        "\"temperature\", with which p = softmax(logprob / tokens^alpha / temperature) makes the gold statements "
        "likeliest, and \"coverage\", the share of them that are among the candidates; \"coverage_at\" has it for the "
        "first n candidates with 95 % of 1000 resamples of records.  `candidates --calibration` applies all three.",
    .run = run,
};
