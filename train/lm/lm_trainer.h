/*
 * lm_trainer.h - one run of `ambit-train infill`: what it holds, its steps, its state.
 *
 * Everything a run will do is a function of the seed, the data and struct lm_state, so a run that was killed goes
 * on exactly where its checkpoint stood.  A step takes one batch; the batch is cut into micro-batches of whole texts,
 * each run forward and backward by itself.  The loss is the mean over all target tokens of the batch, so how it is cut
 * changes memory and rounding, and nothing else.
 */
#ifndef TRAIN_LM_LM_TRAINER_H
#define TRAIN_LM_LM_TRAINER_H

#include "data/report/metrics_log.h"
#include "kernels/optim.h"
#include "kernels/workspace.h"
#include "models/lm/llama_batch.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"
#include "train/run/sampler.h"

/* What a checkpoint must bring back besides weights, moments and random numbers. */
struct lm_state {
    int64_t epoch, batch; /* the next batch */
    int64_t step;
    double best;              /* best validation figure so far, larger is better; -HUGE_VAL before the first */
    int64_t best_step, worse; /* validations since */
    int64_t tokens;           /* trained on so far */
    bool unvalidated;         /* a signal came before the epoch's validation */
};

struct lm_trainer {
    const struct lm_request *request;
    const struct lm_settings *set;
    struct device device;
    struct workspace work;
    size_t step_bytes; /* of the largest micro-batch, as the estimate said */
    struct llama_model model;
    struct params *trained; /* the adapter's, or all of the model's */
    struct optim optim;
    struct tensor *loss_total; /* F32 [1]: sum of the steps' losses since it was last read */
    int64_t loss_steps;        /* steps in it */
    int64_t tokens_before;     /* state.tokens at the start of the process */
    struct lm_data train, valid;
    struct sampler sampler;
    struct llama_batch batch; /* of the micro-batch under way */
    struct lm_state state;
    struct metrics_log metrics;
    uint64_t base_hash; /* of the weights it started from; 0 from scratch */
    int64_t saved_step;
};

/* Reads model and data, prints the memory estimate, takes memory, fills the weights.  A dry run stops after the
 * estimate. */
int lm_open(struct lm_trainer *t, const struct lm_request *q, struct error *err);
void lm_close(struct lm_trainer *t);

/* The order of the training data. */
void lm_sampler(struct lm_trainer *t);
int64_t lm_batches(const struct lm_trainer *t);
/* One optimizer step on batch (state.epoch, state.batch); does not advance the state. */
int lm_step(struct lm_trainer *t, struct error *err);
/* Bytes of the largest micro-batch of all epochs. */
size_t lm_measure(struct lm_trainer *t);

/* Mean -log p of the target tokens of the validation texts. */
int lm_valid_loss(struct lm_trainer *t, double *loss, struct error *err);
/* Mean share of a validation text's readings that the model writes by itself, word for word but for capitals and
 * punctuation; texts whose answer is that all are covered are left out.  1 when a signal asked to stop. */
int lm_valid_recall(struct lm_trainer *t, double *recall, struct error *err);

#endif
