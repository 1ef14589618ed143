/*
 * gate_settings.h - every setting of `ambit-train gatekeeper`, with defaults, in one table.
 */
#ifndef TRAIN_GATE_GATE_SETTINGS_H
#define TRAIN_GATE_GATE_SETTINGS_H

#include "data/schema/schema_graph.h"
#include "data/util/record_reader.h"
#include "models/net/gatekeeper.h"
#include "train/run/encoder.h"

/* The encoder of the element encoding: frozen as it came, frozen after relevance training, or trained on. */
enum gate_embedder { EMBEDDER_STOCK, EMBEDDER_LINKER, EMBEDDER_JOINT };

struct gate_settings {
    /* the network */
    enum gate_encode encode;
    enum gate_classifier classifier;
    enum gate_features features;
    enum { GATE_TEXT_QUALIFIED, GATE_TEXT_THESIS } element_text;
    bool relevance_word; /* in the text: of the thesis' it always is */
    double random_edges;
    enum gate_pool pool;
    enum graph_mode graph;
    enum { GATE_BF16, GATE_F32 } compute;
    enum gat_precision gat_precision;
    int64_t gat_hidden, gat_layers, gat_heads, pair_hidden;
    double dropout;
    /* an encoder from scratch, when no Hugging Face folder is given */
    struct encoder_settings scratch;
    /* relevance stage of the element encoding: (question, element) pairs */
    int64_t relevance_epochs, relevance_batch, negatives;
    double relevance_lr;
    enum { RELEVANCE_BCE, RELEVANCE_MSE } relevance_loss;
    /* graph stage: questions */
    enum gate_embedder embedder;
    int64_t epochs, batch, patience;
    enum { GATE_BY_AP, GATE_BY_F1 } select;
    double lr, head_lr, warmup, decay, clip;
    enum { GATE_LINEAR, GATE_COSINE } schedule;
    double pair_weight, twins_weight, relevance_weight, linguistic_weight, pos_weight;
    bool shuffle_schema;
    double presence;     /* share of the presence slice that is trained on */
    double false_alarms; /* most of validation's presence slice that the threshold may call ambiguous */
    double renamed;      /* share of the training questions that are read on a renamed schema */
    double appended;     /* share of the training questions whose schema has other databases' tables behind its own */
    bool allow_overlap;  /* a question or a database may stand in two folds */
    double labels_share; /* of what is trained on, that the labels beside the data give */
    int64_t max_train;   /* questions of one epoch, 0 for all */
    /* running */
    int64_t eval_every; /* steps between validations, 0: once an epoch */
    int64_t save_every; /* steps between checkpoints, 0: at validations only */
    int64_t tokens;     /* most tokens encoded at once outside training */
};

/* A whole command line: what to train on, where to, and how. */
struct gate_request {
    const char *data, *labels, *label_field, *db, *encoder, *linker, *states, *out, *device, *config, *compat;
    int64_t seed;
    enum record_form form; /* of own labels */
    bool resume, dry_run, force, no_graph, shard_optimizer;
    struct gate_settings settings; /* last: what stands before it does not change the result */
};

extern const struct gate_request gate_request_defaults;
extern const struct option gate_request_table[];
extern const struct preset gate_presets[]; /* of --compat */

#endif
