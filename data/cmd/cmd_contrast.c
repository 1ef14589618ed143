/* Part of commands.h: ambit-data contrast. */
#include "data/base/option_rows.h"
#include "data/cmd/commands.h"
#include "data/synth/contrast.h"
#include "data/synth/gatekeeper_labels.h"

#include <stdio.h>

struct contrast_arguments {
    const char *ambiqt, *spider, *out;
    enum { CONTRASTIVE, THESIS } labels;
    int64_t seed;
    double test_share, valid_share;
    bool force;
};

static const struct contrast_arguments defaults = { .test_share = 0.2, .valid_share = 0.1 };

#define AT(field) offsetof(struct contrast_arguments, field)

static const struct option options[] = {
    STRING_OPTION("ambiqt", AT(ambiqt), "DIR", "AmbiQT's folder: records and synonyms", .required = true,
                  .group = "input"),
    STRING_OPTION("spider", AT(spider), "DIR", "Spider's folder: tables.json, train_spider.json, dev.json",
                  .required = true),
    OUT_DIR_OPTION(AT(out)),
    FORCE_OPTION(AT(force)),
    CHOICE_OPTION("labels", AT(labels), "WHICH", "contrastive|thesis",
                  "contrast sets, or the labels of Skadborg and Mortensen's thesis", .group = "generation"),
    REAL_OPTION("test-share", AT(test_share), "X", 0.01, 0.8, "share of the databases in the test split"),
    REAL_OPTION("valid-share", AT(valid_share), "X", 0.01, 0.5, "share of the databases in the validation split"),
    SEED_OPTION(AT(seed), "random seed"),
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
    struct gatekeeper_counts counts[2];

    if (gatekeeper_labels_build(d, counts, o, a->ambiqt, a->spider, err))
        return -1;
    for (int i = 0; i < 2; i++)
        printf("%s: %d records, %d ambiguous, %d not\n", names[i], counts[i].records, counts[i].ambiguous,
               counts[i].records - counts[i].ambiguous);
    return 0;
}

static enum exit_code run(const struct call *call, struct error *err)
{
    const struct contrast_arguments *a = call->options;
    const struct contrast_options o = { (uint64_t)a->seed, a->test_share, a->valid_share };
    struct dataset d = { 0 };
    bool thesis = a->labels == THESIS;

    int rc = thesis ? build_thesis(a, &o, &d, err) : build_contrastive(a, &o, &d, err);
    if (rc == 0)
        rc = dataset_deliver(&d, a->out, a->force, stdout, err);
    dataset_release(&d);
    return job_exit_code(rc, 0, err);
}

static const struct file_note files[] = {
    DATASET_FILES,
    { 0 },
};

const struct command command_contrast = {
    .name = "contrast",
    .summary = "build contrast sets whose labels neither question nor schema reveals",
    OPTIONS(options, defaults),
    .details =
        "Two AmbiQT records of one database and one ambiguity type give four examples. Each question is "
        "asked on the schema with its own duplicated element (ambiguous) and on the schema with the other's "
        "(clear). Splits share no database and no question. The slice \"hard-negative\" holds the same questions "
        "on schemas with at most one alternative. Guide: docs/guides/detector-data.md.",
    .examples = { "ambit-data contrast --ambiqt ambiqt --spider spider -o contrast --seed 1",
                  "ambit-data contrast --ambiqt ambiqt --spider spider --labels thesis -o published" },
    .files = files,
    .run = run,
};
