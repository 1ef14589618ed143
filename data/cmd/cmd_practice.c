/* Part of commands.h: ambit-data practice. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/synth/practice.h"

#include <stdio.h>

struct practice_arguments {
    const char *out;
    int64_t seed;
    bool force, unlabelled;
};

static const struct practice_arguments defaults = { .seed = 1 };

#define AT(field) offsetof(struct practice_arguments, field)

static const struct option options[] = {
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    FLAG_OPTION("unlabelled", AT(unlabelled), "write questions for `natural`, without labels", .group = "generation"),
    SEED_OPTION(AT(seed), "random seed"),
    { 0 },
};

static int write_examples(const struct practice_arguments *a, struct error *err)
{
    struct dataset d = { 0 };

    int rc = practice_build(&d, (uint64_t)a->seed, err);
    if (rc == 0)
        rc = dataset_deliver(&d, a->out, a->force, stdout, err);
    dataset_release(&d);
    return rc;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct practice_arguments *a = call->options;

    /* The prefix keeps database names distinct, so that `natural` can read both folders. */
    const char *prefix = a->unlabelled ? "domain_" : "";
    int rc = practice_write_databases(a->out, prefix, a->force, err);
    if (rc == 0)
        rc = a->unlabelled ? practice_write_questions(a->out, prefix, (uint64_t)a->seed, a->force, err)
                           : write_examples(a, err);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    DATASET_FILES,
    { "DIR/db", "the SQLite database of each domain" },
    { 0 },
};

const struct command command_practice = {
    .name = "practice",
    .summary = "write synthetic data: small domains with questions, SQL and databases",
    OPTIONS(options, defaults),
    .details = "Some forty small domains have questions from templates and contrast sets as `contrast` builds "
               "them. The domains of the test split occur in no other split. Synthetic data serves the demo, tests "
               "and first steps; it is no benchmark. Guide: docs/guides/detector-data.md.",
    .examples = { "ambit-data practice -o practice --seed 2", "ambit-data practice --unlabelled -o domains" },
    .files = files,
    .run = run,
};
