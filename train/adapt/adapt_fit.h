/*
 * adapt_fit.h - a few of a detector's parameters trained on a few questions, and put back.
 *
 * The loss is binary cross entropy of what detection says: the score of the likeliest pair, at the base's temperature,
 * or of the true one where alternatives are known; beside it pull / 2 times the squared distance from the base's
 * values.  All questions are one batch and nothing is drawn, so that the same labels give the same numbers.  Each part
 * of the support is left out in turn, and training ends at the step at which what is left out costs least on average,
 * which may be before the first.  The logits of that step are calibrated: nobody learnt from them.
 */
#ifndef TRAIN_ADAPT_ADAPT_FIT_H
#define TRAIN_ADAPT_ADAPT_FIT_H

#include "data/stats/stats.h"
#include "models/gate/gate_adapter.h"
#include "train/adapt/adapt_questions.h"

/* Temperature and shift of a detector's scores from few labels.
 *
 * sigmoid(a x + b) of logits x that the base has calibrated already: a and b are those of Platt (1999), pulled towards
 * 1 and 0 by pull / 2 ((a - 1)^2 + b^2) beside the sum of losses.  How strongly, and whether anything moves at all, is
 * chosen by what each label's loss is where the others alone have been learnt from. */

struct adapt_scale {
    double a, b;
};

/* Mean loss of labels under sigmoid(a x + b). */
double adapt_loss(struct scored s, struct adapt_scale k);
/* The least loss with that pull; INFINITY: a = 1, b = 0.  `without` (-1: none) is left out. */
struct adapt_scale adapt_scale_fit(struct scored logits, double pull, int without);
/* By the pull that leaving one out chooses; *loss is then the mean of what was left out. */
struct adapt_scale adapt_calibrate(struct scored logits, double *loss);

/* The one batch of an adaptation: its questions, and a step forward and backward over them. */

/* Of n questions; borrows what adapt_questions has. */
struct adapt_batch {
    const struct gate_model *model;
    struct gate_item *items;
    int n, n_nodes, n_logits; /* logits: of pairs, or of questions */
    uint8_t *label;
    int *truth, *part;        /* the true pair, -1: none or not known; which part of the support it is */
    int *at_base, *likeliest; /* its likeliest pair: of the base, of the newest step */
    double *base, *logit;     /* of the likeliest: of the base, of the newest step */
    float *states;            /* [n_nodes, C]; NULL: the encoder's last layers read the text, */
    float *below;             /* [n_tokens, C] from the states before them; NULL: all of its layers do */
    struct text_builder text;
    int n_tokens, first;              /* of the text; the layer that below is before */
    float *target, *weight, *answers; /* [n_logits] */
    int left_out;                     /* the part, -1: none */
    struct gate_sizes sizes;
};

/* encode: the layers with adapters read the texts at each step.  The caller releases either way. */
int adapt_batch_init(struct adapt_batch *b, const struct adapt_questions *q, struct gate_scorer *s, const int *which,
                     int n, bool encode, struct error *err);
void adapt_batch_release(struct adapt_batch *b);
/* A training from the base on, without a part. */
void adapt_batch_begin(struct adapt_batch *b, int left_out);
/* Logits of all questions and, where it is to learn, gradients of the loss of those that are not left out. */
int adapt_batch_step(struct adapt_batch *b, struct gate_scorer *s, double temperature, bool learn, struct error *err);

struct adapt_settings {
    enum gate_adapt method;
    int64_t steps, parts; /* most steps; parts that are left out: at most so many, each of one question where it can */
    double lr;            /* 0: the method's own, as the two above */
    double pull;
};

struct adapt_outcome {
    int steps;                                   /* the best number of them */
    double base_loss, left_out_loss, final_loss; /* mean loss of what is left out: of the base, of the best step, and
                                                    calibrated */
};

struct adapt_fit {
    struct gate_scorer *scorer;
    struct gate_model *model; /* the scorer's */
    struct adapt_settings set;
    struct params params; /* what is trained */
    struct arena host, grads;
    struct tensor **grad;                         /* of each */
    int64_t n;                                    /* numbers of all parameters */
    float *start, *value, *m, *v, *dw;            /* [n] */
    double temperature;                           /* the base's */
    void (*told)(void *arg, int taken, int most); /* after each step, of at most how many; NULL: nobody asks */
    void *told_arg;
    int taken, most;
};

/* Of a model that has run nothing yet, with its LoRA declared where that is the method.  The caller releases either
 * way. */
int adapt_fit_init(struct adapt_fit *f, struct gate_model *m, struct gate_scorer *s, const struct adapt_settings *set,
                   struct error *err);
/* Trains on the n questions `which`: parameters, temperature and shift of the model are others then. */
int adapt_fit_run(struct adapt_fit *f, const struct adapt_questions *q, const int *which, int n,
                  struct adapt_outcome *out, struct error *err);
/* The base again. */
void adapt_fit_reset(struct adapt_fit *f);
void adapt_fit_release(struct adapt_fit *f);

#endif
