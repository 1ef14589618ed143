#include "data/clarify/candidates.h"
#include "data/cmd/commands.h"
#include "data/util/log.h"
#include "data/util/stop.h"

#include <string.h>

static const struct candidates_request defaults = { .from = "plain", .out = "-", .temperature = 1, .k = 1000 };

#define FIELD(name) offsetof(struct candidates_request, name)
static const struct option options[] = {
    { .name = "from",
      .type = OPTION_CHOICE,
      .offset = FIELD(from),
      .choices = CANDIDATES_SOURCES,
      .value = "FORM",
      .help = "what FILE is" },
    { .name = "gold",
      .type = OPTION_STRING,
      .offset = FIELD(gold),
      .value = "FILE",
      .help = "ambiqt-output: the benchmark's records; default: what the predictions' own say" },
    { .name = "tables",
      .type = OPTION_STRING,
      .offset = FIELD(tables),
      .value = "FILE",
      .help = "ambiqt-output: Spider's tables.json, to mark candidates that are a gold reading by exact set match" },
    { .name = "temperature",
      .type = OPTION_REAL,
      .offset = FIELD(temperature),
      .value = "T",
      .help = "ambiqt-output: the prediction of rank r, from 0, weighs exp(-r / T)",
      .low = OPTION_ABOVE_ZERO,
      .high = 1e6 },
    { .name = "calibration",
      .type = OPTION_STRING,
      .offset = FIELD(calibration),
      .value = "FILE",
      .help = "what calibrate wrote: alpha, temperature, and the reserve that coverage leaves" },
    { .name = "top",
      .letter = 'k',
      .type = OPTION_INT,
      .offset = FIELD(k),
      .value = "N",
      .help = "candidates of a record that count",
      .low = 1,
      .high = 1000 },
    { .name = "out",
      .letter = 'o',
      .type = OPTION_STRING,
      .offset = FIELD(out),
      .value = "OUT.jsonl",
      .help = "records in input order; - is standard output" },
    { 0 },
};

static enum exit_code run(const void *arguments, char *const *operands, int n_operands, struct error *err)
{
    struct candidates_request q = *(const struct candidates_request *)arguments;
    struct candidates_counts counts = { 0 };

    (void)n_operands;
    q.file = operands[0];
    if (strcmp(q.from, "ambiqt-output") != 0 && (q.gold || q.tables)) {
        error_set(err, EXIT_CODE_USAGE, "--%s: only with --from ambiqt-output, not %s", q.gold ? "gold" : "tables",
                  q.from);
        return err->code;
    }
    stop_install();
    int rc = candidates_write(&q, &counts, err);
    if (rc)
        return rc < 0 ? err->code : stop_exit_code();
    log_info("%lld records, %lld candidates, %lld records failed", (long long)counts.records,
             (long long)counts.candidates, (long long)counts.failed);
    if (!counts.failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; their \"error\" says why", (long long)counts.failed,
              (long long)counts.records);
    return EXIT_CODE_RECORDS;
}

const struct command command_candidates = {
    .name = "candidates",
    .summary = "candidate statements with probabilities, from published files or from anywhere, for clarify",
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details =
        "plain: records {\"id\", \"db_id\", \"question\", \"candidates\": [{\"sql\", \"logprob\" or \"p\"}], \"gold\": "
        "[SQL, ...]}, whatever made them.\n\n"
        "ambiqt-output: a published prediction file of AmbiQT; each record brings its altered \"schema\" along, both "
        "readings are gold, and with --tables a candidate's \"gold\" says which of them it is by AmbiQT's exact set "
        "match, values aside, once it is mapped to the schema it was made from.\n\n"
        "dfpl: a prediction file of \"Disambiguate First, Parse Later\"; all its queries are equally likely, and the "
        "databases are AMBROSIA's.  ambrosia: AMBROSIA's questions, whose gold readings are the candidates.\n\n"
        "Written are probabilities that sum to 1 with the \"reserve\".",
    .run = run,
};
