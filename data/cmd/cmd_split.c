/* Part of commands.h: ambit-data split. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/corpora/split.h"

static const struct split_request defaults = { .valid = .1, .test = .1 };

#define AT(field) offsetof(struct split_request, field)

static const struct option options[] = {
    CHOICE_OPTION("format-in", AT(format_in), "FORMAT", RECORD_FORMS, FORMAT_IN_HELP, .group = "input"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    REAL_OPTION("valid-share", AT(valid), "X", 0, 1, "share of the databases in valid.jsonl", .group = "splits"),
    REAL_OPTION("test-share", AT(test), "X", 0, 1, "share of the databases in test.jsonl"),
    FLAG_OPTION("published", AT(published), "reproduce the split of \"Disambiguate First, Parse Later\""),
    SEED_OPTION(AT(seed), "random seed"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct split_request *q = call->options;

    if (q->valid + q->test > 1)
        return usage_error(err, "--valid-share and --test-share: expected a sum of at most 1, got %g and %g", q->valid,
                           q->test);
    if (q->published && (q->valid < defaults.valid || q->valid > defaults.valid || q->test < defaults.test ||
                         q->test > defaults.test || q->seed != defaults.seed))
        return usage_error(err, "--published cannot be used together with --valid-share, --test-share or --seed");
    return job_exit_code(split_records(q, call->operands[0], err), 0, err);
}

static const struct file_note files[] = {
    { "DIR/train.jsonl, DIR/valid.jsonl, DIR/test.jsonl", "records of the three splits" },
    { 0 },
};

const struct command command_split = {
    .name = "split",
    .summary = "split records into train.jsonl, valid.jsonl and test.jsonl by database",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details = "All records of one source_db, or else of one db_id, go to one file. Records keep their order; "
               "those with an error are omitted. Shares of the databases are rounded up. Rows of the published "
               "ambrosia.csv get their interpretations, which are rows of their own there. --published shuffles"
               " with numpy's generator and seed 42, 80, 10 and 10 % of the databases; the authors' splits "
               "require their complete ambrosia.csv. Guide: docs/guides/make-data.md.",
    .examples = { "ambit-data split records.jsonl -o splits",
                  "ambit-data split records.jsonl --valid-share 0.2 --test-share 0 --seed 1 -o splits" },
    .files = files,
    .run = run,
};
