/*
 * ablate_plan.h - the plan of an ablation: which detectors are trained, with which seeds, within which time.
 *
 * A YAML file:
 *   settings: {data: DIR, ...}       options of `ambit-train gatekeeper` that all rows have
 *   seeds: [1, 2, 3]                 each row is trained with each
 *   hours: 2                         most for one training; optional
 *   linker: {relevance-epochs: 1}    optional: options of a run for each seed that trains encoder and relevance alone,
 * which all rows with --encode element and --embedder linker then share rows: NAME: {classifier: gcn, ..., published:
 * "F1 .733"}   what it has beside; published is told beside its figures
 */
#ifndef TRAIN_ABLATE_ABLATE_PLAN_H
#define TRAIN_ABLATE_ABLATE_PLAN_H

#include "data/cli/yaml_tree.h"
#include "train/gate/gate_settings.h"

enum { ABLATE_SEEDS_MAX = 31 };

struct ablate_row {
    const char *name, *published; /* published: "" for none */
    const struct yaml_tree *options;
};

struct ablate_plan {
    const char *path;
    struct yaml_tree tree; /* what all else here lies in */
    const struct yaml_tree *shared,
        *linker; /* options of all rows, of the linker; NULL: none, each row trains its own */
    int64_t seeds[ABLATE_SEEDS_MAX];
    int n_seeds;
    double hours; /* INFINITY without */
    struct ablate_row *rows;
    int n_rows;
};

/* -1 with EXIT_CODE_USAGE naming file, line and key.  The caller releases either way. */
int ablate_plan_read(struct ablate_plan *p, const char *path, struct error *err);
void ablate_plan_release(struct ablate_plan *p);

/* The settings of a row, or with NULL of the linker's run.  texts keep their strings. */
int ablate_plan_request(const struct ablate_plan *p, const struct ablate_row *row, struct gate_request *q,
                        struct texts *texts, struct error *err);

#endif
