/*
 * trainer.h - the interface between the training loop and a trainer: a table of functions.
 *
 * The loop (run.h) selects batches, updates weights, estimates memory, logs metrics, keeps the best weights, writes
 * checkpoints, resumes from them and handles signals. Every function gets the trainer's own struct, which holds a
 * struct run. It returns 0, or -1 with err set. A function that "may stop" polls stop_requested() and returns 1 if
 * it stopped early; it is called again when the run resumes.
 */
#ifndef TRAIN_RUN_TRAINER_H
#define TRAIN_RUN_TRAINER_H

#include "data/base/metrics_log.h"

#include <jansson.h>

struct measurement; /* run.h */

enum { TRAINER_METRICS = 16 };

/* A part of a run with an order of examples, a schedule and optimizer moments of its own. */
struct stage {
    const char *phase, *title; /* name in metrics.jsonl; title of the progress bar */
    int64_t epochs;
};

/* Result of a validation. */
struct validation {
    struct metric list[TRAINER_METRICS]; /* for metrics.jsonl */
    int n;                               /* 0: there is no validation data */
    double score;                        /* larger is better */
    bool final;                          /* the weights of this stage may be the run's result */
    char text[96];                       /* for the log */
};

struct trainer {
    const char *kind;        /* "kind" in its checkpoints */
    const char *part, *unit; /* part: unit of measured memory, "step" or "micro-batch"; unit: of progress, "tokens" */
    double lowest;           /* below every validation score */
    const char *const *same; /* fields of `describe` that must be equal to resume; ends with NULL */

    /* Reads data and settings, declares the model and fills the trainer's fields of struct run. */
    int (*open)(void *t, struct error *err);
    /* Optional: takes the memory that open has measured, and fills the weights. */
    int (*start)(void *t, struct error *err);
    void (*close)(void *t); /* called even if open failed */

    /* Optional, for more than one stage: sets order, schedule and trained parameters of state.stage. fresh: resets
     * moments and random numbers. */
    int (*enter_stage)(void *t, bool fresh, struct error *err);
    /* Optional, may stop: slow work before the first step of a stage that no checkpoint contains. Returns 0 when it
     * stopped. */
    int (*prepare)(void *t, struct error *err);

    /* Computes the gradients of run_batch's examples and adds their loss to run.loss_total. The loop updates the
     * weights. */
    int (*step)(void *t, struct error *err);
    /* Calls measurement_add for everything that `step` would run. */
    void (*measure)(void *t, struct measurement *m);
    /* Optional: metrics of the newest step besides loss and learning rate. Returns their number. */
    int (*metrics)(void *t, struct metric list[TRAINER_METRICS]);
    /* Optional, may stop. */
    int (*validate)(void *t, struct validation *v, struct error *err);

    /* Adds the fields to a checkpoint's meta data that readers of the weights need. */
    void (*describe)(const void *t, json_t *meta);
    /* Optional: writes further files into a folder that holds weights. */
    int (*save_beside)(void *t, const char *dir, struct error *err);
    /* May stop. With the best weights loaded: evaluates them and writes reports and export formats. The loop writes
     * ambit.h5 afterwards. */
    int (*finish)(void *t, struct error *err);
};

#endif
