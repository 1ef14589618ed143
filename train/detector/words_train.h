/*
 * words_train.h - trains the head for words of a detector (gate_words.h).
 *
 * The detector encodes all questions once and stays unchanged.  The head is then trained on the cached features by
 * AdamW on the cross-entropy of the words' labels.  Every other question is read as if its stored values were unknown.
 * Temperature and thresholds are fitted on validation questions: a given share of those without AMB and UNK words may
 * have a word that is tagged so.
 */
#ifndef TRAIN_DETECTOR_WORDS_TRAIN_H
#define TRAIN_DETECTOR_WORDS_TRAIN_H

#include "models/gatekeeper/gate_words.h"

struct words_train_request {
    const char *model;        /* folder of the detector */
    const char *data, *valid; /* files of marked words */
    const char *out;          /* file */
    const char *device;
    int64_t questions; /* max number of training questions; a quarter each has AMB and UNK words */
    int64_t layer;     /* encoder layer before which states are read; 0: two thirds of the layers */
    int64_t hidden, epochs;
    double lr, weight_decay, dropout, false_alarms;
    uint64_t seed;
    int64_t tokens; /* max tokens encoded at once */
    bool no_graph;
};

struct words_train_counts {
    int64_t questions, words, skipped; /* of training; skipped: schemas that are too wide, questions without tokens */
    double loss;                       /* of the validation words, calibrated */
    double alarms;                     /* share of the validation questions without AMB and UNK that have such a word */
    double right[SPAN_LABELS];         /* F1 of the labels of validation words */
};

/* Returns -1 with EXIT_CODE_DATA naming file, line and field, EXIT_CODE_CHECKPOINT for a detector that can have no
 * head, or the code of a signal. */
int words_train(const struct words_train_request *q, struct words_train_counts *counts, struct error *err);

/* A list of words with their features, as bf16, and labels. */
struct word_examples {
    uint16_t *features; /* [n, inputs] */
    uint8_t *labels;    /* [n] */
    int *question;      /* [n] number of the question, ascending */
    int n, cap, n_questions;
};

/* Fits temperature and thresholds of a head to words. */
void words_calibrate(struct gate_words *h, const struct word_examples *valid, double false_alarms);

#endif
