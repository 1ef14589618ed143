/*
 * gate_config.h - what a GATekeeper consists of: how elements are read, by which classifier, of what size.
 */
#ifndef MODELS_NET_GATE_CONFIG_H
#define MODELS_NET_GATE_CONFIG_H

#include "models/net/bert.h"

enum gate_encode { ENCODE_ELEMENT, ENCODE_SCHEMA };
enum gate_classifier {
    CLASSIFIER_PAIR,
    CLASSIFIER_GAT_MEAN, /* GAT layers (Velickovic et al. 2018), heads averaged, ELU after each */
    CLASSIFIER_GAT_CAT,  /* heads side by side, a layer norm before ELU */
    CLASSIFIER_GCN,      /* GCN layers (Kipf and Welling 2017), ReLU */
    CLASSIFIER_RGCN,     /* R-GCN layers (Schlichtkrull et al. 2018), one matrix a relation, ReLU */
    CLASSIFIER_BERT_ONLY /* no graph: the pooled states, a hidden layer of pair_hidden channels with ReLU */
};
/* What stands behind the question, of the element encoding (models/gatekeeper/gate_batch.h). */
enum gate_texts {
    TEXTS_QUALIFIED, /* the element */
    TEXTS_RELEVANCE, /* and a word that says whether it is relevant */
    TEXTS_THESIS     /* its bare name and that word, as the thesis' released code writes them */
};
enum gate_features { FEATURES_STATES, FEATURES_RELEVANCE };
enum gate_pool { GATE_POOL_ATTENTION, GATE_POOL_MEAN, GATE_POOL_SUM };
/* What factors of a GAT's projections, all of them F32, are rounded to before they are multiplied. */
enum gat_precision { GAT_F32, GAT_TF32, GAT_BF16 };

struct gatekeeper_config {
    struct bert_config bert;
    enum gate_encode encode;
    enum gate_classifier classifier;
    enum gate_features features; /* what the thesis' classifiers know of a node: its state, or its relevance alone */
    enum gate_texts texts;
    int embedder;        /* 1: states come of an encoder of their own, relevance of the other one */
    float random_edges;  /* > 0: each question's graph is drawn, so many edges a node; 0: the schema's */
    enum gate_pool pool; /* of the thesis' classifiers */
    int gat_hidden, gat_layers, gat_heads;
    enum gat_precision gat_precision; /* where w is F32; TF32 on tensor cores alone, elsewhere it is F32 */
    int edge_types;                   /* number of relations of the schema graph, at most GATE_RELATIONS_MAX */
    int pair_hidden, pair_features;
    int linguistic; /* 1: of the pair classifier, a head for the linguistic kinds */
    float dropout;  /* of the classifier */
};

/* Whether states are those of texts with the word that relevance puts there: they are read after it, and no relevance
 * is to be taken of them. */
bool gatekeeper_says_word(const struct gatekeeper_config *config);

#endif
