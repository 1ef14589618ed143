/*
 * gate_trainer.h - one run of `ambit-train gatekeeper`: what it holds, its stages, its state.
 *
 * A run is a list of stages, each with its own sampler, schedule and optimizer moments.  Everything a stage will do is
 * a function of the seed and of struct train_state, so a run that was killed goes on exactly where its checkpoint
 * stood.
 */
#ifndef TRAIN_GATE_GATE_TRAINER_H
#define TRAIN_GATE_GATE_TRAINER_H

#include "data/report/metrics_log.h"
#include "kernels/optim.h"
#include "models/gate/gate_score.h"
#include "train/gate/gate_data.h"
#include "train/gate/gate_settings.h"
#include "train/run/sampler.h"

enum train_stage {
    STAGE_RELEVANCE, /* element: encoder and relevance head on (question, element) pairs */
    STAGE_FROZEN,    /* element: the classifier on cached states */
    STAGE_JOINT,     /* encoder, relevance and classifier together */
};
enum { MAX_STAGES = 2 };

/* What a checkpoint must bring back besides weights, moments and random numbers. */
struct train_state {
    int stage;            /* index into trainer.stages; n_stages when all are done */
    int64_t epoch, batch; /* the next batch of this stage */
    int64_t step;         /* optimizer steps of all stages */
    double best;          /* best validation figure of this stage, -1 before the first */
    int64_t best_step;
    int64_t worse; /* validations since */
};

/* A positive element of an example: what the relevance stage draws. */
struct relevant_slot {
    int example, node;
};

struct trainer {
    const struct gate_settings *set;
    const char *out, *encoder; /* encoder: Hugging Face folder, NULL: from scratch */
    int64_t saved_step;
    uint64_t seed;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct optim optim;
    struct tensor *loss_total; /* F32 [1], sum of losses since it was last read */
    int64_t loss_steps;
    struct dataset records;
    struct gate_data data;
    struct gate_scorer scorer;
    struct text_builder text;
    struct relevant_slot *slots;
    int n_slots;
    struct state_cache *cache, *valid_cache; /* frozen stage: states of what is trained and validated on */
    enum train_stage stages[MAX_STAGES];
    int n_stages;
    bool stock;             /* the encoder stays as it came: the relevance head learns beside the classifier */
    struct sampler sampler; /* of the current stage */
    struct train_state state;
    struct metrics_log metrics;
};

const char *train_stage_name(enum train_stage s);

/* Examples, sampler, schedule and frozen parameters of the current stage; fresh also zeroes the moments. */
int trainer_enter_stage(struct trainer *t, bool fresh, struct error *err);
/* What takes long and is no part of the state: the cached states of a frozen encoder.  Once, before a stage's first
 * step; when a signal comes meanwhile it returns early, and no step may follow. */
int trainer_prepare(struct trainer *t, struct error *err);
int64_t trainer_stage_batches(const struct trainer *t);
int64_t trainer_stage_epochs(const struct trainer *t);

/* One optimizer step on batch (state.epoch, state.batch); does not advance the state. */
int trainer_step(struct trainer *t, struct error *err);
/* Bytes of the largest of the first `batches` steps of the current stage. */
size_t trainer_measure(struct trainer *t, int64_t batches);

#endif
