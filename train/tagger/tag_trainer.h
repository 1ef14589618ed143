/*
 * tag_trainer.h - one run of `ambit-train tag`: a trainer of train/run/run.h with one stage.
 */
#ifndef TRAIN_TAGGER_TAG_TRAINER_H
#define TRAIN_TAGGER_TAG_TRAINER_H

#include "models/tagger/dte_tagger.h"
#include "train/run/run.h"
#include "train/tagger/tag_data.h"
#include "train/tagger/tag_settings.h"

struct tag_trainer {
    struct run run;
    const struct tag_training *request;
    const struct tag_settings *set;
    struct dte_model model;
    struct dte_tagger tagger;
    struct tag_data data;
    struct stage stage;
    int64_t *tokens; /* [training examples] */
};

/* As run_train. */
int tag_train(const struct tag_training *q, struct error *err);

/* Functions of struct trainer; t is a tag_trainer. tag_weights gives the loss weights after a fraction `at` of the
 * steps. */
struct dte_weights tag_weights(const struct tag_settings *s, double at);
int tag_step(void *t, struct error *err);

#endif
