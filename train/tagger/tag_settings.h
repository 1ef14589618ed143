/*
 * tag_settings.h - all settings of `ambit-train tag`, with defaults, in one table.
 */
#ifndef TRAIN_TAGGER_TAG_SETTINGS_H
#define TRAIN_TAGGER_TAG_SETTINGS_H

#include "train/run/encoder.h"
#include "train/run/train_settings.h"

/* Source of the weights in the grounding loss: the marked spans, the effect of erasing words on concepts, or no such
 * loss. */
enum tag_grounding { GROUND_SPANS, GROUND_ERASE, GROUND_NONE };

struct tag_settings {
    struct train_settings train;
    struct encoder_settings scratch; /* without --encoder */
    bool compat;
    int64_t hidden;
    enum { TAG_BF16, TAG_F32 } compute;
    double dropout;
    enum tag_grounding grounding;
    double smoothing;
    double concept_weight, grounding_weight, meaning_weight, tags_weight;
    /* fractions of the steps between which a loss weight rises from 0 */
    double grounding_from, grounding_to, tags_from, tags_to;
    double head_lr;
    bool heads_only;
    int64_t replay;    /* records of --from that are replayed */
    int64_t max_train; /* records of an epoch; 0: all */
    int64_t max_valid;
};

struct tag_training {
    const char *data, *encoder, *from, *out, *device, *config;
    int64_t seed;
    bool resume, dry_run, force, no_graph, shard_optimizer;
    struct tag_settings settings; /* last: fields before it do not change the result */
};

extern const struct tag_training tag_request_defaults;
extern const struct option tag_request_table[];

#endif
