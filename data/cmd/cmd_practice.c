/* Part of commands.h: ambit-data practice. */
#include "data/cli/option_rows.h"
#include "data/cmd/commands.h"
#include "data/contrast/practice.h"

#include <stdio.h>

struct practice_arguments {
    const char *out;
    int64_t seed;
    bool force;
};

static const struct practice_arguments defaults = { .seed = 1 };

#define AT(field) offsetof(struct practice_arguments, field)

static const struct option options[] = {
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    SEED_OPTION(AT(seed), "same seed, same bytes"),
    { 0 },
};

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct practice_arguments *a = call->options;
    struct dataset d = { 0 };

    int rc = practice_build(&d, (uint64_t)a->seed, err);
    if (rc == 0)
        rc = practice_write_databases(a->out, a->force, err);
    if (rc == 0)
        rc = dataset_deliver(&d, a->out, a->force, stdout, err);
    dataset_release(&d);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    DATASET_FILES,
    { "DIR/db", "a SQLite database of each domain" },
    { 0 },
};

const struct command command_practice = {
    .name = "practice",
    .summary = "writes practice data of our own making: small domains, questions, SQL, databases",
    OPTIONS(options, defaults),
    .details = "Some forty small domains with questions drawn from templates, in the same folder form and by the same "
               "crossed pairs as contrast: domains of the test fold are in no other. DIR/db holds each domain as a "
               "SQLite file with rows. For the demo, tests and first steps; it measures nothing.",
    .examples = { "ambit-data practice -o practice", "ambit-data practice -o other-practice --seed 2" },
    .files = files,
    .run = run,
};
