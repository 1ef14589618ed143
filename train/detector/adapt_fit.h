/*
 * adapt_fit.h - fits some parameters of a detector to a few labelled questions, and restores them.
 *
 * The loss is binary cross entropy of the likeliest pair's score, or of the true pair's if it is known, at the
 * base's temperature. A pull adds pull / 2 times the squared distance from the base's parameters. All questions form
 * one batch and nothing is random, so that the same labels give the same result. Cross-validation over parts of the
 * support chooses the number of steps, which may be 0. Temperature and shift are fitted to the held-out logits.
 */
#ifndef TRAIN_DETECTOR_ADAPT_FIT_H
#define TRAIN_DETECTOR_ADAPT_FIT_H

#include "data/base/stats.h"
#include "models/gatekeeper/gate_adapter.h"
#include "train/detector/adapt_questions.h"

/* Calibration with few labels: sigmoid(a x + b) of calibrated logits x (Platt 1999). A penalty pull / 2 ((a - 1)^2 +
 * b^2) is added to the sum of losses. Leave-one-out cross-validation chooses the pull, which may be infinite. */

struct adapt_scale {
    double a, b;
};

/* Mean loss of the labels under sigmoid(a x + b). */
double adapt_loss(struct scored s, struct adapt_scale k);
/* Minimises loss plus penalty. A pull of INFINITY gives a = 1, b = 0. Question `without` is left out (-1: none). */
struct adapt_scale adapt_scale_fit(struct scored logits, double pull, int without);
/* The fit with the best pull by leave-one-out cross-validation; *loss is its mean held-out loss. */
struct adapt_scale adapt_calibrate(struct scored logits, double *loss);

/* The batch of an adaptation. It borrows from adapt_questions. */
struct adapt_batch {
    const struct gate_model *model;
    struct gate_item *items;
    int n, n_nodes, n_logits; /* n_logits: pairs, or questions */
    uint8_t *label;
    int *truth, *part;        /* truth: the true pair, -1: none or unknown; part: for cross-validation */
    int *at_base, *likeliest; /* likeliest pair of the base, and of the newest step */
    double *base, *logit;     /* logit of that pair */
    float *states;            /* [n_nodes, C]; NULL: encoder layers run in each step */
    float *below;             /* [n_tokens, C] input of those layers; NULL: all layers run */
    struct text_builder text;
    int n_tokens, first;              /* tokens of the text; the first layer that runs */
    float *target, *weight, *answers; /* [n_logits] */
    int left_out;                     /* the held-out part; -1: none */
    struct gate_sizes sizes;
};

/* encode: layers with adapters run in each step. The caller releases b either way. */
int adapt_batch_init(struct adapt_batch *b, const struct adapt_questions *q, struct gate_scorer *s, const int *which,
                     int n, bool encode, struct error *err);
void adapt_batch_release(struct adapt_batch *b);
/* Starts a training from the base's parameters without one part (-1: none). */
void adapt_batch_begin(struct adapt_batch *b, int left_out);
/* Computes the logits of all questions and, if `learn`, the gradients of the loss of those that are not held out. */
int adapt_batch_step(struct adapt_batch *b, struct gate_scorer *s, double temperature, bool learn, struct error *err);

struct adapt_settings {
    enum gate_adapt method;
    int64_t steps, parts; /* max steps; max parts of cross-validation, of one question each if possible */
    double lr;            /* 0: the method's default, as for steps and parts */
    double pull;
};

struct adapt_outcome {
    int steps; /* chosen number of steps */
    double base_loss, left_out_loss,
        final_loss; /* mean held-out loss: of the base, of the best step, and after calibration */
};

struct adapt_fit {
    struct gate_scorer *scorer;
    struct gate_model *model; /* the scorer's */
    struct adapt_settings set;
    struct params params; /* trained parameters */
    struct arena host, grads;
    struct tensor **grad;              /* [params] */
    int64_t n;                         /* floats of all parameters */
    float *start, *value, *m, *v, *dw; /* [n] */
    double temperature;                /* the base's */
    void (*told)(void *arg, int taken,
                 int most); /* called after each step with the number of steps so far and in all; may be NULL */
    void *told_arg;
    int taken, most;
};

/* The model has not run yet; with LoRA, its adapters are declared. The caller releases f either way. */
int adapt_fit_init(struct adapt_fit *f, struct gate_model *m, struct gate_scorer *s, const struct adapt_settings *set,
                   struct error *err);
/* Trains on the n questions `which`. It changes parameters, temperature and shift of the model. */
int adapt_fit_run(struct adapt_fit *f, const struct adapt_questions *q, const int *which, int n,
                  struct adapt_outcome *out, struct error *err);
/* Restores the base's parameters and calibration. */
void adapt_fit_reset(struct adapt_fit *f);
void adapt_fit_release(struct adapt_fit *f);

#endif
