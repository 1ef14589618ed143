/*
 * gate_settings.h - all settings of `ambit-train gatekeeper`, with defaults, in one table.
 */
#ifndef TRAIN_DETECTOR_GATE_SETTINGS_H
#define TRAIN_DETECTOR_GATE_SETTINGS_H

#include "data/base/record_reader.h"
#include "data/schema/schema_graph.h"
#include "models/net/gatekeeper.h"
#include "train/run/encoder.h"
#include "train/run/train_settings.h"

/* Encoder of the element encoding: pretrained and frozen, frozen after relevance training, or trained jointly. */
enum gate_embedder { EMBEDDER_STOCK, EMBEDDER_LINKER, EMBEDDER_JOINT };

struct gate_settings {
    struct train_settings train;
    /* network */
    enum gate_encode encode;
    enum gate_classifier classifier;
    enum gate_features features;
    enum { GATE_TEXT_QUALIFIED, GATE_TEXT_PUBLISHED } element_text;
    bool relevance_word; /* in the text of an element; GATE_TEXT_PUBLISHED always has it */
    double random_edges;
    enum gate_pool pool;
    enum graph_mode graph;
    enum { GATE_BF16, GATE_F32 } compute;
    enum gat_precision gat_precision;
    int64_t gat_hidden, gat_layers, gat_heads, pair_hidden;
    double dropout;
    /* a new encoder, without a Hugging Face folder */
    struct encoder_settings scratch;
    /* relevance stage of the element encoding, on (question, element) pairs */
    int64_t relevance_epochs, relevance_batch, negatives;
    double relevance_lr;
    enum { RELEVANCE_BCE, RELEVANCE_MSE } relevance_loss;
    /* classifier stage, on questions */
    enum gate_embedder embedder;
    enum { GATE_BY_AP, GATE_BY_F1 } select;
    double head_lr; /* learning rate of the classifier */
    enum { GATE_LINEAR, GATE_COSINE } schedule;
    double pair_weight, duplicates_weight, relevance_weight, linguistic_weight, pos_weight;
    bool shuffle_schema;
    double hard_negatives; /* fraction of the hard negatives that is trained on */
    double false_alarms;   /* max fraction of validation's hard negatives above the threshold */
    double renamed;        /* fraction of training questions read on a renamed schema */
    double distractors;    /* fraction of training questions read with distractor tables */
    bool allow_overlap;    /* a question or a database may occur in two splits */
    double labels_share;   /* fraction of training questions that come from labels */
    int64_t max_train;     /* questions of an epoch; 0: all */
};

/* A whole command line. */
struct gate_request {
    const char *data, *labels, *label_field, *db, *encoder, *init, *linker, *states, *out, *device, *config, *preset;
    int64_t seed;
    enum record_format format_in; /* of a custom data set */
    bool resume, dry_run, force, no_graph, shard_optimizer;
    struct gate_settings settings; /* last: fields before it do not change the result */
};

extern const struct gate_request gate_request_defaults;
extern const struct option gate_request_table[];
extern const struct preset gate_presets[]; /* of --preset */

#endif
