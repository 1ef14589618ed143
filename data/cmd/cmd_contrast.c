#include "data/cmd/commands.h"
#include "data/contrast/contrast.h"

#include <stdio.h>
#include <string.h>

struct contrast_arguments {
    const char *ambiqt, *spider, *out, *labels;
    int64_t seed;
    double test_share, valid_share;
};

static const struct contrast_arguments defaults = { .labels = "contrastive", .test_share = 0.2, .valid_share = 0.1 };

static const struct option options[] = {
    { .name = "ambiqt",
      .type = OPTION_STRING,
      .offset = offsetof(struct contrast_arguments, ambiqt),
      .value = "DIR",
      .help = "AmbiQT records, .jsonl or .jsonl.xz, and synonyms",
      .required = true },
    { .name = "spider",
      .type = OPTION_STRING,
      .offset = offsetof(struct contrast_arguments, spider),
      .value = "DIR",
      .help = "Spider: tables.json, train_spider.json, dev.json",
      .required = true },
    { .name = "out",
      .letter = 'o',
      .type = OPTION_STRING,
      .offset = offsetof(struct contrast_arguments, out),
      .value = "DIR",
      .help = "folder to write",
      .required = true },
    { .name = "seed",
      .type = OPTION_INT,
      .offset = offsetof(struct contrast_arguments, seed),
      .value = "N",
      .help = "same seed, same bytes",
      .low = 0,
      .high = 9e15 },
    { .name = "labels",
      .type = OPTION_CHOICE,
      .offset = offsetof(struct contrast_arguments, labels),
      .choices = "contrastive|thesis",
      .value = "WHICH",
      .help = "what ambiguous means" },
    { .name = "test-share",
      .type = OPTION_REAL,
      .offset = offsetof(struct contrast_arguments, test_share),
      .value = "X",
      .help = "share of the databases held out for the test",
      .low = 0.01,
      .high = 0.8 },
    { .name = "valid-share",
      .type = OPTION_REAL,
      .offset = offsetof(struct contrast_arguments, valid_share),
      .value = "X",
      .help = "share of the databases held out for validation",
      .low = 0.01,
      .high = 0.5 },
    { 0 },
};

static int build_contrastive(const struct contrast_arguments *a, const struct contrast_options *o, struct dataset *d,
                             struct error *err)
{
    return contrast_build(d, o, a->ambiqt, a->spider, err);
}

static int build_thesis(const struct contrast_arguments *a, const struct contrast_options *o, struct dataset *d,
                        struct error *err)
{
    static const char *const names[] = { "train and valid", "test" };
    struct thesis_counts counts[2];

    if (thesis_build(d, counts, o, a->ambiqt, a->spider, err))
        return -1;
    for (int i = 0; i < 2; i++)
        printf("%s: %d records, %d ambiguous, %d not\n", names[i], counts[i].records, counts[i].ambiguous,
               counts[i].records - counts[i].ambiguous);
    return 0;
}

static enum exit_code run(const void *arguments, char *const *operands, int n_operands, struct error *err)
{
    const struct contrast_arguments *a = arguments;
    const struct contrast_options o = { (uint64_t)a->seed, a->test_share, a->valid_share };
    struct dataset d = { 0 };
    bool thesis = strcmp(a->labels, "thesis") == 0;

    (void)operands;
    (void)n_operands;
    int rc = thesis ? build_thesis(a, &o, &d, err) : build_contrastive(a, &o, &d, err);
    if (rc == 0)
        rc = dataset_write(&d, a->out, err);
    if (rc == 0)
        dataset_print_counts(&d, stdout);
    dataset_release(&d);
    return rc ? err->code : EXIT_CODE_OK;
}

const struct command command_contrast = {
    .name = "contrast",
    .summary = "builds examples in which neither question nor schema alone tells ambiguity",
    .options = options,
    .defaults = &defaults,
    .size = sizeof defaults,
    .details =
        "Two AmbiQT records of one database and kind, each about an element that the other's SQL does not touch, give "
        "four examples: each question on its own doubled element (ambiguous) and on the other's (not). Splits share no "
        "database and no question. The presence slice holds the same questions where at most one alternative "
        "stands.\n\n"
        "--labels thesis reproduces the labels of the GATekeeper thesis, which say nothing about the schema.",
    .run = run,
};
