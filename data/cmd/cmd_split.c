/* Part of commands.h: ambit-data split. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/corpora/split.h"

static const struct split_request defaults = { .valid = .1, .test = .1 };

#define AT(field) offsetof(struct split_request, field)

static const struct option options[] = {
    REAL_OPTION("valid", AT(valid), "SHARE", 0, 1, "of the databases that go to valid.jsonl"),
    REAL_OPTION("test", AT(test), "SHARE", 0, 1, "of the databases that go to test.jsonl"),
    SEED_OPTION(AT(seed), "same seed, same databases"),
    FLAG_OPTION(
        "published", AT(published),
        "as the authors of \"Disambiguate First, Parse Later\" split AMBROSIA anew: numpy's shuffle with seed 42, "
        "80, 10 and 10 % of the databases"),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    FORMAT_IN_OPTION(AT(form)),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct split_request *q = call->options;

    if (q->valid + q->test > 1)
        return usage_error(err, "--valid and --test: expected at most 1 together, got %g and %g", q->valid, q->test);
    if (q->published && (q->valid < defaults.valid || q->valid > defaults.valid || q->test < defaults.test ||
                         q->test > defaults.test || q->seed != defaults.seed))
        return usage_error(err, "--published: expected no --valid, --test and --seed, the authors' stand");
    return job_exit_code(split_records(q, call->operands[0], err), 0, err);
}

static const struct file_note files[] = {
    { "DIR/train.jsonl, DIR/valid.jsonl, DIR/test.jsonl", "the records of the three folds" },
    { 0 },
};

const struct command command_split = {
    .name = "split",
    .summary = "splits records into train.jsonl, valid.jsonl and test.jsonl by database",
    ONE_OPERAND("IN.jsonl"),
    OPTIONS(options, defaults),
    .details =
        "All records of one database go to one file: of one source_db, where records have that field, which says what "
        "altered copies were made from, else of one db_id (AMBROSIA's rows have db_file or db). Shares are shares of the databases, rounded up. Records "
        "keep their order; those with an error are left out.\n\n"
        "--published puts the databases in the order in which the file names them first, shuffles them as "
        "numpy.random.seed(42) and numpy.random.shuffle do, and takes the first 80 % for train.jsonl, the next 10 % for "
        "test.jsonl and the rest for valid.jsonl. The authors' folds come of the whole of their ambrosia.csv alone.",
    .examples = { "ambit-data split records.jsonl -o folds",
                  "ambit-data split records.jsonl --valid 0.2 --test 0 --seed 1 -o folds" },
    .files = files,
    .run = run,
};
