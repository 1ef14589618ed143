/*
 * tag_trainer.h - one run of `ambit-train tag`: a trainer of train/run/run.h with one stage.
 */
#ifndef TRAIN_TAGGER_TAG_TRAINER_H
#define TRAIN_TAGGER_TAG_TRAINER_H

#include "data/base/options.h"
#include "models/tagger/dte_tagger.h"
#include "train/run/encoder.h"
#include "train/run/run.h"
#include "train/run/train_settings.h"
#include "train/tagger/tag_data.h"

/* Labels: all marked spans, or the concepts of each question's SQL with the marks AMB and UNK alone (dte_target.h). */
enum tag_supervision { SUPERVISED_BY_SPANS, SUPERVISED_BY_SQL };

/* Source of the weights in the grounding loss: the marked spans, the effect of erasing words on concepts, or no such
 * loss. */
enum tag_grounding { GROUND_SPANS, GROUND_ERASE, GROUND_NONE };

struct tag_settings {
    struct train_settings train;
    int64_t steps;                   /* rounded up to whole epochs; 0: train.epochs decides */
    struct encoder_settings scratch; /* without --encoder */
    bool published;
    int64_t hidden;
    enum { TAG_BF16, TAG_F32 } compute;
    double dropout;
    enum tag_supervision supervision;
    enum tag_grounding grounding;
    double smoothing;
    double concept_weight, grounding_weight, meaning_weight, tags_weight;
    /* fractions of the steps between which a loss weight rises from 0 */
    double grounding_from, grounding_to, tags_from, tags_to;
    double head_lr;
    bool heads_only;
    int64_t replay;    /* records of --init that are replayed */
    int64_t max_train; /* records of an epoch; 0: all */
    int64_t max_valid;
};

struct tag_training {
    const char *data, *encoder, *init, *out, *device, *config, *preset;
    int64_t seed;
    bool resume, dry_run, force, no_graph, shard_optimizer;
    struct tag_settings settings; /* last: fields before it do not change the result */
};

extern const struct tag_training tag_request_defaults;
extern const struct option tag_request_table[];
extern const struct preset tag_presets[]; /* of --preset */

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
