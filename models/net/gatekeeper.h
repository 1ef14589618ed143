/*
 * gatekeeper.h - the GATekeeper network: element states from BERT, their relevance, and a graph classifier.
 *
 * An element is a table or a column. Its state comes from one of two encodings. `element` reads "[CLS] question
 * [SEP] element [SEP]" for each element and takes the [CLS] state, as in Skadborg and Mortensen (2025). `schema`
 * reads the question and the whole schema at once, averages the states of the element's tokens, and adds an
 * embedding of the element's mention in the question.
 *
 * The classifier `pair` is ambit's own; the others are those of Skadborg and Mortensen and their ablations. `pair`
 * scores each candidate pair of elements, so that a score always names its alternatives. In training the question's
 * score is a noisy-or over pairs. In detection it is the score of the most probable pair: errors of similar pairs
 * are correlated, and a noisy-or would add them up.
 *
 * A pair makes a question ambiguous if its elements could mean the same and the question refers to them. One head
 * predicts the first from the elements' graph states. The other predicts the second from their relevance and their
 * mentions. Each has labels of its own, so that questions without ambiguity also train the first. The pair's logit
 * is that of both events.
 *
 * A third head predicts linguistic ambiguity (ambiguity_type.h). It reads the mean of the elements' states, to which
 * the mean of the question's tokens is added, and an attention pool of the graph states.
 */
#ifndef MODELS_NET_GATEKEEPER_H
#define MODELS_NET_GATEKEEPER_H

#include "data/schema/ambiguity_type.h"
#include "data/schema/mention.h"
#include "models/net/bert.h"

enum gate_encode { ENCODE_ELEMENT, ENCODE_SCHEMA };
enum gate_classifier {
    CLASSIFIER_PAIR,
    CLASSIFIER_GAT_MEAN, /* GAT layers (Velickovic et al. 2018), heads averaged, ELU after each */
    CLASSIFIER_GAT_CAT,  /* heads side by side, a layer norm before ELU */
    CLASSIFIER_GCN,      /* GCN layers (Kipf and Welling 2017), ReLU */
    CLASSIFIER_RGCN,     /* R-GCN layers (Schlichtkrull et al. 2018), one matrix per relation, ReLU */
    CLASSIFIER_BERT_ONLY /* no graph: pooled states, then a hidden layer of pair_hidden channels with ReLU */
};
/* The text after the question in the encoding `element` (models/gatekeeper/gate_batch.h). */
enum gate_texts {
    TEXTS_QUALIFIED, /* the element */
    TEXTS_RELEVANCE, /* the element and a word for its relevance */
    TEXTS_PUBLISHED  /* the bare name and that word, as in the released code of Skadborg and Mortensen */
};
enum gate_features { FEATURES_STATES, FEATURES_RELEVANCE };
enum gate_pool { GATE_POOL_ATTENTION, GATE_POOL_MEAN, GATE_POOL_SUM };
/* The type to which F32 factors of a GAT's projections are rounded before multiplication. */
enum gat_precision { GAT_F32, GAT_TF32, GAT_BF16 };

struct gatekeeper_config {
    struct bert_config bert;
    enum gate_encode encode;
    enum gate_classifier classifier;
    enum gate_features features; /* input of the published classifiers: a node's state, or only its relevance */
    enum gate_texts texts;
    int embedder;       /* 1: states come from a second, frozen encoder, relevance from the first */
    float random_edges; /* > 0: each question has a random graph with this many edges per node; 0: the schema's graph */
    enum gate_pool pool; /* of the published classifiers */
    int gat_hidden, gat_layers, gat_heads;
    enum gat_precision gat_precision; /* if w is F32; TF32 needs tensor cores, other devices use F32 */
    int edge_types;                   /* number of relations of the schema's graph, at most GATE_RELATIONS_MAX */
    int pair_hidden, pair_features;
    int linguistic; /* 1: the pair classifier has a head for linguistic ambiguity */
    float dropout;  /* of the classifier */
};

/* Whether states come from texts with a word for the element's relevance. They are then computed after the
 * relevance, and have no relevance of their own. */
bool gatekeeper_says_word(const struct gatekeeper_config *config);

enum { GATE_RELATIONS_MAX = 16 };

/* Texts of a batch. Wanted rows are the [CLS] rows, or the tokens of the elements' spans in the order of the text. */
struct gate_text {
    struct bert_input bert;
    struct index rows;
    struct seqs spans;       /* schema: wanted rows of each span; n = 0: each span is one row */
    struct index place;      /* schema: index of node i's span */
    struct index question;   /* schema, linguistic: index of the question's span before node i */
    struct tensor *mentions; /* schema: F32 [N, ELEMENT_MENTIONS] */
};

/* Graphs of a batch; nodes of all questions one after another. */
struct gate_graph {
    struct graph graph;
    struct seqs nodes;                          /* nodes of each question */
    struct tensor *weights[GATE_RELATIONS_MAX]; /* F32 [E]: gcn: the first; rgcn: one for each relation; else none */
    struct index u, v;                          /* ends of the candidate pairs */
    struct tensor *features;                    /* F32 [P, pair_features] */
    struct seqs pairs;                          /* candidate pairs of each question */
};

struct gat_layer {
    struct tensor *w;                            /* [heads * hidden, in]; gcn: [hidden, in] */
    struct tensor *a_src, *a_dst;                /* F32 [heads, hidden] */
    struct tensor *edge_bias;                    /* F32 [edge_types, heads]; only `pair` */
    struct tensor *bias;                         /* F32 [hidden], averaged heads; gat-cat: [heads * hidden] */
    struct tensor *norm_w, *norm_b;              /* F32, of the size of bias; `pair` and gat-cat */
    struct tensor *relation[GATE_RELATIONS_MAX]; /* rgcn, instead of w: [hidden, in] for each relation */
};

struct gatekeeper {
    struct gatekeeper_config config;
    struct bert bert;
    struct bert embedder;                     /* without layers: states come from bert */
    struct tensor *pooler_w, *pooler_b;       /* [C, C], F32 [C]: tanh, as BertForSequenceClassification */
    struct tensor *pooler_norm;               /* ModernBertForSequenceClassification: instead of pooler_b, with GELU */
    struct tensor *relevance_w, *relevance_b; /* [1, C], F32 [1] */
    struct tensor *mention_w;                 /* schema: [C, ELEMENT_MENTIONS] */
    struct tensor *question_w;                /* schema, linguistic: [C, C] */
    struct tensor *project_w, *project_b;     /* pair: [hidden, C], F32 [hidden] */
    struct gat_layer *gat;
    struct tensor *gate_w, *gate_b; /* attention pool: [1, hidden], F32 [1] */
    struct pair_head {
        struct tensor *w1, *b1, *w2, *b2; /* [pair_hidden, in], F32 [pair_hidden], [1, pair_hidden], F32 [1] */
    } duplicates, asked;
    struct linguistic_head {
        struct tensor *gate_w, *gate_b;       /* attention over the graph's states: [1, hidden], F32 [1] */
        struct tensor *state_w, *graph_w, *b; /* [pair_hidden, C], [pair_hidden, hidden], F32 [pair_hidden] */
        struct tensor *score_w, *score_b;     /* [LINGUISTIC_TYPES, pair_hidden], F32 [LINGUISTIC_TYPES] */
    } linguistic;
    struct tensor *relevance_in_w, *relevance_in_b; /* pair: [RELEVANCE_CHANNELS, 1], F32 [RELEVANCE_CHANNELS] */
    struct tensor *dense_w, *dense_b;               /* bert-only: [pair_hidden, C], F32 [pair_hidden] */
    struct tensor *score_w, *score_b;               /* published classifiers: [1, in], F32 [1] */
};

/* Prefix of an embedder's parameters, instead of the encoder's "bert.". */
#define GATE_EMBEDDER "embedder."

/* Declares all parameters. The encoder, relevance weights and the published GAT have type dtype; the rest of the
 * classifier is F32. An embedder is never trained. */
void gatekeeper_init(struct gatekeeper *g, const struct gatekeeper_config *config, enum dtype dtype, struct params *p,
                     const struct param_arenas *a);

/* States of all elements [N, C], in the compute type. */
struct tensor *gatekeeper_states(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text);

/* States of texts with a word for relevance (gatekeeper_says_word). */
struct tensor *gatekeeper_embed(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text);

/* Relevance logits F32 [N] of states in the compute type. */
struct tensor *gatekeeper_relevance(struct ctx *c, const struct gatekeeper *g, struct tensor *states);

/* Relevance loss of Skadborg and Mortensen: F32 [1], the sum of weight (logit - target)^2. All inputs are F32 [n];
 * only the logits have a gradient. */
struct tensor *gatekeeper_squared_error(struct ctx *c, struct tensor *logits, struct tensor *target,
                                        struct tensor *weight);

struct gate_scores {
    struct tensor *score;      /* F32 [questions] logit of "ambiguous": a noisy-or over pairs */
    struct tensor *pair;       /* F32 [P] logit of each candidate pair; NULL except for `pair` */
    struct tensor *duplicates; /* F32 [P] logit of "could mean the same"; NULL except for `pair` */
    struct tensor *linguistic; /* F32 [questions, LINGUISTIC_TYPES] logits; NULL without the head */
};
/* Classifies the questions from their states, F32 [N, C]. */
struct gate_scores gatekeeper_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                       const struct gate_graph *graph);

#endif
