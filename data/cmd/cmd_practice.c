#include "data/cmd/commands.h"
#include "data/contrast/practice.h"

#include <stdio.h>

struct practice_arguments {
    const char *out;
    int64_t seed;
};

static const struct practice_arguments defaults = { .seed = 1 };

static const struct option options[] = {
    { .name = "out",
      .letter = 'o',
      .type = OPTION_STRING,
      .offset = offsetof(struct practice_arguments, out),
      .value = "DIR",
      .help = "folder to write",
      .required = true },
    { .name = "seed",
      .type = OPTION_INT,
      .offset = offsetof(struct practice_arguments, seed),
      .value = "N",
      .help = "same seed, same bytes",
      .low = 0,
      .high = 9e15 },
    { 0 },
};

static enum exit_code run(const void *arguments, char *const *operands, int n_operands, struct error *err)
{
    const struct practice_arguments *a = arguments;
    struct dataset d = { 0 };

    (void)operands;
    (void)n_operands;
    int rc = practice_build(&d, (uint64_t)a->seed, err);
    if (rc == 0)
        rc = practice_write_databases(a->out, err);
    if (rc == 0)
        rc = dataset_write(&d, a->out, err);
    if (rc == 0)
        dataset_print_counts(&d, stdout);
    dataset_release(&d);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_practice = {
    .name = "practice",
    .summary = "writes practice data of our own making: small domains, questions, SQL, databases",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details = "Some forty small domains with questions drawn from templates, in the same folder form and by the same "
               "crossed pairs as contrast: domains of the test fold are in no other. DIR/db holds each domain as a "
               "SQLite file with rows. For the demo, tests and first steps; it measures nothing.",
    .run = run,
};
