/* Part of commands.h: ambit-data natural. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/natural/natural.h"

#include <stdio.h>

struct natural_arguments {
    const char *out;
    struct natural_options natural;
    int64_t seed;
    bool force;
};

static const struct natural_arguments defaults = {
    .natural = { .test_share = 0.1, .valid_share = 0.1, .clear = 1, .edits = 40, .wording = 4 },
    .seed = 1,
};

#define AT(field) offsetof(struct natural_arguments, field)

static const struct option options[] = {
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    STRING_OPTION("splits", AT(natural.splits), "DIR", "a data folder whose databases keep their split"),
    REAL_OPTION("test-share", AT(natural.test_share), "X", 0, 0.8,
                "share of the other databases held out for the test"),
    REAL_OPTION("valid-share", AT(natural.valid_share), "X", 0, 0.5,
                "share of the other databases held out for validation"),
    INT_OPTION("edits", AT(natural.edits), "N", 0, 10000, "sets of four examples on edited schemas, for each database"),
    INT_OPTION("wording", AT(natural.wording), "N", 0, 10000,
               "questions that are ambiguous in their words, of each kind on each schema"),
    REAL_OPTION("clear", AT(natural.clear), "X", 0, 100, "clear questions as they stand for each ambiguous question"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct natural_arguments *a = call->options;
    struct natural_options o = a->natural;
    struct dataset d = { 0 };

    o.seed = (uint64_t)a->seed;
    int rc = natural_build(&d, &o, call->operands, call->n_operands, err);
    if (rc == 0)
        rc = dataset_deliver(&d, a->out, a->force, stdout, err);
    if (rc == 0)
        natural_print(&d, stdout);
    dataset_release(&d);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    DATASET_FILES,
    { 0 },
};

const struct command command_natural = {
    .name = "natural",
    .summary = "builds ambiguous and clear questions from real schemas and real questions",
    .operands = "DIR...",
    .min_operands = 1,
    .max_operands = 64,
    OPTIONS(options, defaults),
    .details =
        "Each DIR has Spider's form: tables.json, train_spider.json and, where there are rows, a folder db of SQLite "
        "files. The name of the folder becomes the field source of its examples.\n\n"
        "A question that names one of two columns with the same head word (start date, end date) loses the words that "
        "tell which one. It is ambiguous on a schema with both columns and clear on a schema with one of them. The second "
        "statement runs on the database, where there is one, and gives other rows. The original question is clear. Further "
        "questions are taken as they stand, where each of their columns has no namesake or is told from it.\n\n"
        "Edited schemas have two columns, keys or tables in the place of one (list_price and sale_price for price; orders "
        "and orders_archive). A question that says no modifier is ambiguous on them, one that says a modifier is clear. "
        "--edits bounds how many; each set is two questions on two schemas, ambiguous on one and clear on the other.\n\n"
        "Templates of wording (attachment, scope, vague) are filled with the names of each schema; --wording bounds "
        "them. Their examples have the slice own.\n\n"
        "The field reason says why a question has its label. Splits share no database and no question.",
    .examples = { "ambit-data natural spider -o natural --seed 1",
                  "ambit-data natural spider wikisql --splits contrast -o natural" },
    .files = files,
    .run = run,
};
