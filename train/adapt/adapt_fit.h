/*
 * adapt_fit.h - a few of a detector's parameters trained on a few questions, and put back.
 *
 * The loss is binary cross entropy of what detection says: the score of the likeliest pair, at the base's temperature,
 * or of the true one where alternatives are known; beside it pull / 2 times the squared distance from the base's
 * values.  All questions are one batch and nothing is drawn, so that the same labels give the same numbers.  Each part
 * of the support is left out in turn, and training ends at the step at which what is left out costs least on average,
 * which may be before the first.  The logits of that step are calibrated (adapt_calibrate.h): nobody learnt from them.
 */
#ifndef TRAIN_ADAPT_ADAPT_FIT_H
#define TRAIN_ADAPT_ADAPT_FIT_H

#include "models/gate/gate_adapter.h"
#include "train/adapt/adapt_questions.h"

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
