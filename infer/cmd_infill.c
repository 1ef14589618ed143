#include "data/log.h"
#include "data/stop.h"
#include "infer/commands.h"
#include "infer/infill.h"

static const struct infill_request defaults = { .out = "-", .prompt = PROMPTER_DEFAULTS };

#define AT(field) offsetof(struct infill_request, field)

static const struct option table[] = {
    { "db", 0, OPTION_STRING, AT(db), "DIR", "databases, DIR/ID.sqlite or DIR/ID/ID.sqlite", NULL, 0, 0, true },
    { "defaults", 0, OPTION_STRING, AT(defaults), "FILE", "default readings, with or without their SQL", NULL, 0, 0,
      true },
    { "sqls", 0, OPTION_STRING, AT(sqls), "FILE", "SQL of readings that have none, by database and text", NULL, 0, 0,
      false },
    { "infilled", 0, OPTION_STRING, AT(infilled), "FILE", "readings that infilling adds; none without", NULL, 0, 0,
      false },
    { "published", 0, OPTION_FLAG, AT(published), NULL,
      "parse and filter as \"Disambiguate First, Parse Later\" does; every reading added stays", NULL, 0, 0, false },
    PROMPTER_ROWS(AT(prompt.dir), AT(prompt.context), AT(prompt.rows)),
    { "out", 'o', OPTION_STRING, AT(out), "OUT.jsonl", "records in input order; - is standard output", NULL, 0, 0,
      false },
    { 0 },
};

static enum exit_code run(const void *options, char *const *operands, int n_operands, struct error *err)
{
    struct infill_request q = *(const struct infill_request *)options;
    struct infill_counts counts = { 0 };

    (void)n_operands;
    q.input = operands[0];
    int rc = infill(&q, &counts, err);
    if (rc < 0)
        return err->code;
    if (rc > 0)
        return stop_exit_code();
    log_info("%lld records, %lld default readings, %lld added, %lld records failed", (long long)counts.records,
             (long long)counts.defaults, (long long)counts.added, (long long)counts.failed);
    if (!counts.failed)
        return EXIT_CODE_OK;
    error_set(err, EXIT_CODE_RECORDS, "%lld of %lld records failed; their \"error\" says why", (long long)counts.failed,
              (long long)counts.records);
    return EXIT_CODE_RECORDS;
}

const struct command command_infill = {
    .name = "infill",
    .summary = "completes a model's default readings of questions by those that are missing, with SQL and results",
    .operands = "IN.jsonl",
    .min_operands = 1,
    .max_operands = 1,
    .options = table,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details =
        "IN.jsonl holds records {\"id\", \"db_id\", \"question\"}, perhaps with \"golds\": [{\"sql\", \"text\"}], or "
        "rows of AMBROSIA; - is standard input.\n\n"
        "--defaults and --infilled have on each line {\"db_id\", \"question\", \"readings\": [{\"text\", \"sql\"}]}, "
        "the sql a string, a list or missing, or {\"id\", \"text\"}: what a model answered to the prompt, as it is; "
        "--defaults may be a published prediction file of \"Disambiguate First, Parse Later\" too. --sqls has "
        "{\"db_id\", \"text\", \"sql\"} for each reading, or records with golds and readings as ambit-data annotate "
        "writes them; texts that differ in case, white space or their final mark are one.\n\n"
        "Each line of the output has the readings that are left, with their SQL, how many rows it returns and the "
        "first ten, whether a reading is from the defaults or infilled, and what was dropped and why: of readings "
        "with the same result the first stays, default ones before infilled ones. ambit-data score --rule dfpl scores "
        "it.",
    .run = run,
};
