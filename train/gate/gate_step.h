/*
 * gate_step.h - the batches of each stage and their losses.
 */
#ifndef TRAIN_GATE_GATE_STEP_H
#define TRAIN_GATE_GATE_STEP_H

#include "train/gate/gate_trainer.h"

/* A step as workspace_run takes it. */
struct train_step {
    struct trainer *trainer;
    enum train_stage stage;
    bool update;                    /* backward and optimizer too */
    struct gate_item *items;        /* questions of the batch; relevance: none */
    const struct gate_form **forms; /* the schema of each */
    int n_items;
    float *target; /* F32 [items] ambiguous, or [pairs] relevant in the relevance stage */
    int n_target;
    float *pair_target;      /* F32 [candidate pairs] */
    float *twins_target;     /* likewise */
    float *relevance_target; /* F32 [nodes] */
    int n_pairs, n_nodes;
    const float *states; /* frozen: [nodes, C] */
};

/* Fills the step, and the trainer's text builder, for examples (or slots) of one batch. */
void train_step_init(struct train_step *s, struct trainer *t, enum train_stage stage, const int *batch, int n);
void train_step_release(struct train_step *s);
/* A step_fn. */
void train_step_run(struct ctx *c, void *step);

#endif
