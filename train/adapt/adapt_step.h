/*
 * adapt_step.h - the one batch of an adaptation: its questions, and a step forward and backward over them.
 */
#ifndef TRAIN_ADAPT_ADAPT_STEP_H
#define TRAIN_ADAPT_ADAPT_STEP_H

#include "train/adapt/adapt_questions.h"

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

#endif
