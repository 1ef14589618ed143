/*
 * trainer.h - what the training loop asks of a trainer: a table of functions over what the trainer keeps.
 *
 * The loop (run.h) does all the rest: which batch comes when, the optimizer's update, the memory estimate, progress and
 * metrics, choosing the best weights, checkpoints, going on from one, signals, the folder.  A function gets the
 * trainer's own struct, which holds a struct run; it returns 0, or -1 with err set.  "May stop" means that it looks at
 * stop_requested() now and then and returns 1 when it left its work undone; it is called again when the run goes on.
 */
#ifndef TRAIN_RUN_TRAINER_H
#define TRAIN_RUN_TRAINER_H

#include "data/report/metrics_log.h"

#include <jansson.h>

struct measurement; /* run.h */

enum { TRAINER_METRICS = 16 };

/* A stretch of a run with an order of examples, a schedule and moments of its own. */
struct stage {
    const char *phase, *title; /* in metrics.jsonl; on the screen */
    int64_t epochs;
};

/* What the weights are worth now. */
struct validation {
    struct metric list[TRAINER_METRICS]; /* for metrics.jsonl */
    int n;                               /* 0: there is nothing to validate on */
    double score;                        /* larger is better */
    bool final;                          /* weights of this stage may be the run's result */
    char text[96];                       /* for a person */
};

struct trainer {
    const char *kind;        /* what its checkpoints say they are */
    const char *part, *unit; /* what is measured and run at once, "step" or "micro-batch"; of progress, "tokens" */
    double lowest;           /* below every figure of a validation */
    const char *const *same; /* fields of `describe` that must be alike for a run to go on; ends with NULL */

    /* Reads data and settings, declares the model; fills what struct run says is the trainer's. */
    int (*open)(void *t, struct error *err);
    /* Optional: takes the memory that open only measured, and fills the weights. */
    int (*start)(void *t, struct error *err);
    void (*close)(void *t); /* also after an open that failed */

    /* Optional, for more than one stage: order, schedule, trained parameters of stage state.stage; fresh: moments and
     * random numbers start anew. */
    int (*enter_stage)(void *t, bool fresh, struct error *err);
    /* Optional: what takes long before a stage's first step and is no part of a checkpoint.  Stops by itself. */
    int (*prepare)(void *t, struct error *err);

    /* Gradients of what run_batch gives, and its loss added to run.loss_total.  The loop updates. */
    int (*step)(void *t, struct error *err);
    /* Hands what `step` would run for it to measurement_add. */
    void (*measure)(void *t, struct measurement *m);
    /* Optional: figures of the newest step beside loss and learning rate; returns how many. */
    int (*metrics)(void *t, struct metric list[TRAINER_METRICS]);
    /* Optional, may stop. */
    int (*validate)(void *t, struct validation *v, struct error *err);

    /* Adds to a checkpoint's meta what a reader of the weights must know. */
    void (*describe)(const void *t, json_t *meta);
    /* Optional: writes what belongs beside the weights into a folder that has them. */
    int (*save_beside)(void *t, const char *dir, struct error *err);
    /* May stop: with the best weights loaded, judges them and writes report and other forms; the loop's own comes last.
     */
    int (*finish)(void *t, struct error *err);
};

#endif
