/* Part of commands.h: ambit-data natural. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/synth/natural.h"

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
    STRING_OPTION("materialise", AT(natural.materialise), "DIR",
                  "write the databases of --several, if DIR... have rows", .writes = true),
    FORCE_OPTION(AT(force)),
    STRING_OPTION("splits", AT(natural.splits), "DIR", "data folder whose databases keep their split",
                  .group = "splits"),
    REAL_OPTION("test-share", AT(natural.test_share), "X", 0, 0.8, "share of the other databases in the test split"),
    REAL_OPTION("valid-share", AT(natural.valid_share), "X", 0, 0.5,
                "share of the other databases in the validation split"),
    INT_OPTION("edits", AT(natural.edits), "N", 0, 10000, "contrast sets on edited schemas, for each database",
               .group = "generation"),
    INT_OPTION("wording", AT(natural.wording), "N", 0, 10000,
               "linguistically ambiguous questions, for each type and schema"),
    INT_OPTION("several", AT(natural.several), "N", 0, 10000,
               "questions with two or three ambiguities, for each database, in place of all others"),
    REAL_OPTION("clear", AT(natural.clear), "X", 0, 100, "unchanged clear questions for each ambiguous question"),
    SEED_OPTION(AT(seed), "random seed"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct natural_arguments *a = call->options;
    struct natural_options o = a->natural;
    struct dataset d = { 0 };

    if (o.materialise && !o.several)
        return usage_error(err, "--materialise: expected --several as well");
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
    .summary = "build ambiguous and clear questions from real schemas and questions",
    .operands = "DIR...",
    .min_operands = 1,
    .max_operands = 64,
    OPTIONS(options, defaults),
    .details = "Each DIR has Spider's form: tables.json, train_spider.json and, optionally, SQLite files in db. "
               "Its name becomes the field \"source\" of the examples.\n\n"
               "A question that names one of two similar columns (start date, end date) loses the words that "
               "distinguish them. Further examples use edited schemas, templates of linguistic ambiguity "
               "(attachment, scope, vague) and unchanged questions. The field \"reason\" states why a question has "
               "its label. Splits share no database and no question. Guide: docs/guides/detector-data.md.\n\n"
               "With --several, each question has two or three words that each fit two elements of an edited schema, "
               "and comes with none, one and all of these ambiguities. Guide: docs/guides/several-data.md.",
    .examples = { "ambit-data natural spider -o natural --seed 1",
                  "ambit-data natural spider wikisql --splits contrast -o natural" },
    .files = files,
    .run = run,
};
