/* Part of commands.h: ambit-data annotate. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/score/annotate.h"
#include "data/score/annotate_write.h"
#include "data/util/log.h"

static const struct annotate_request defaults = { .out = "-", .prompt = PROMPTER_DEFAULTS };

#define AT(field) offsetof(struct annotate_request, field)

static const struct option options[] = {
    DB_OPTION(AT(db), "", .required = true),
    STRING_OPTION("readings", AT(readings), "FILE",
                  "a model's readings, for records that have none: JSONL, or a published prediction file"),
    OUT_JSONL_OPTION(AT(out)),
    CHOICE_OPTION("target", AT(target), "WHAT", "infill|e2e|gold",
                  "what is learnt: the readings that are missing; the SQL of all readings; the text of all readings"),
    FLAG_OPTION("published", AT(published), "filter and cover as \"Disambiguate First, Parse Later\" does"),
    PROMPTER_OPTIONS(AT(prompt)),
    FORMAT_IN_OPTION(AT(form)),
    SHARD_OPTION(AT(shard), 1),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct annotate_request *q = call->options;
    struct annotate_counts counts = { 0 };

    if (q->shard.count && q->published)
        return usage_error(err, "--shard: expected no --published, which draws for one record after the other");
    if (q->readings && q->target != ANNOTATE_INFILL)
        return usage_error(err, "--readings: expected --target infill, the others are not told what exists");
    int rc = annotate_write(q, call->operands[0], &counts, err);

    if (rc == 0 && q->target != ANNOTATE_INFILL)
        log_info("%lld records, %lld failed", (long long)counts.all.records, (long long)counts.all.failed);
    else if (rc == 0)
        log_info("%lld records, %lld with every gold covered, %lld failed", (long long)counts.all.records,
                 (long long)counts.covered, (long long)counts.all.failed);
    return job_exit_code(rc, counts.all.failed, err);
}

const struct command command_annotate = {
    .name = "annotate",
    .summary = "finds by execution which gold readings a model's readings cover, and writes infilling examples",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "A record is {\"id\", \"db_id\", \"question\", \"golds\": [{\"sql\", \"text\"}], \"readings\": [{\"text\", "
        "\"sql\"}]}; the sql of a reading is a string or a list of strings, and a single gold may go without a text. "
        "Rows of AMBROSIA (with gold_queries) are read too. --readings FILE has {\"db_id\", \"question\", "
        "\"readings\"} on each line.\n\n"
        "Each line of the output is an example that ambit-train infill learns from: the record's id, db_id and "
        "question; messages: the prompt that asks for missing readings, and the target as its answer. Where it comes "
        "from stands beside: existing: texts of the readings that are kept, existing_text: the same as one text; "
        "missing: texts of golds that none of them covers; target: the same as one text, or "
        "\"" ANNOTATE_ALL_COVERED "\"; golds with covered_by, the number of a reading or null; readings with "
        "dropped, why, and same_as, the number of the reading whose result they "
        "repeat.\n\n"
        "A reading means what the first of its SQLs that runs returns. It covers "
        "the gold with the same rows, in the same order where the gold orders them; "
        "of readings with the same rows the first is kept. Also dropped are "
        "readings without text or SQL that runs, texts that end with a colon, and "
        "texts that are SQL themselves. --published instead drops texts that hold a "
        "capital word of SQL or are shorter than half the question, compares cells, "
        "and keeps one reading of each result, drawn as Python's random.choice with "
        "seed 42 draws.\n\n"
        "--target e2e teaches a model the SQL of all readings at once (e2e.txt; statements with an empty line between "
        "them), --target gold the texts of all readings (gold.txt; one a line): the two systems that the authors "
        "trained beside infilling. Readings of the records are then not looked at, and the line has target, golds and "
        "messages.\n\n"
        "A record that fails, for one because its golds fail or have the same "
        "result, has an error instead, and the exit code is 7.",
    .examples = { "ambit-data annotate records.jsonl --db databases -o examples.jsonl",
                  "ambit-data annotate ambrosia.jsonl --db databases --target e2e -o e2e.jsonl" },
    .run = run,
};
