#include "data/util/log.h"
#include "data/util/stop.h"
#include "infer/cmd/commands.h"
#include "infer/detect/detect.h"

static const struct detect_request defaults = { .out = "-", .device = "auto", .format = "jsonl", .tokens = 16384 };

#define AT(field) offsetof(struct detect_request, field)

static const struct option table[] = {
    { "model", 'm', OPTION_STRING, AT(model), "DIR", "folder that ambit-train gatekeeper left", NULL, 0, 0, true },
    { "schema", 0, OPTION_STRING, AT(schema), "FILE", "tables.json; records name their schema by db_id", NULL, 0, 0,
      false },
    { "db", 0, OPTION_STRING, AT(db), "FILE", "a SQLite database instead; all records are about it", NULL, 0, 0,
      false },
    { "out", 'o', OPTION_STRING, AT(out), "OUT.jsonl", "findings in input order; - is standard output", NULL, 0, 0,
      false },
    { "format", 0, OPTION_CHOICE, AT(format), "FORM", "JSONL, or lines for people", "jsonl|text", 0, 0, false },
    { "device", 'd', OPTION_STRING, AT(device), "DEVICE", "auto, cpu, cuda, cuda:N or simt", NULL, 0, 0, false },
    { "tokens", 0, OPTION_INT, AT(tokens), "N", "most tokens encoded at once", NULL, 512, 1 << 24, false },
    { 0 },
};

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    const struct detect_request *q = options;
    struct detect_counts counts = { 0 };

    (void)n_operands;
    if (!q->schema == !q->db) {
        error_set(err, EXIT_CODE_USAGE, "either --schema or --db is wanted");
        return EXIT_CODE_USAGE;
    }
    int rc = detect(q, operands[0], &counts, err);
    if (rc < 0)
        return err->code;
    if (rc > 0)
        return stop_exit_code();
    log_info("%lld questions, %lld ambiguous, %lld failed", (long long)counts.records, (long long)counts.ambiguous,
             (long long)counts.failed);
    if (!counts.failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; their \"error\" says why", (long long)counts.failed,
              (long long)counts.records);
    return EXIT_CODE_RECORDS;
}

const struct command command_detect = {
    .name = "detect",
    .summary = "says which questions are ambiguous for their schema, of which kind, and between what",
    .operands = "IN.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details = "IN.jsonl holds records {\"id\", \"db_id\", \"question\"}; - is standard input.  Each line of the "
               "output has the score (a calibrated probability), the decision at the stored threshold, kind (C, T, J "
               "or P), the alternatives, one sentence, and the relevance of every table and column.",
    .run = run,
};
