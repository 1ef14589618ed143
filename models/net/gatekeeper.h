/*
 * gatekeeper.h - the GATekeeper network: element states from BERT, relevance, a graph classifier.
 *
 * An element is a table or a column. Its state comes from one of two encodings. `element` reads "[CLS] question [SEP]
 * element [SEP]" for each element and takes the [CLS] state, as the paper does. `schema` reads the question and the
 * whole schema at once and averages the states of the element's own tokens. An embedding of the element's mention in
 * the question is added.
 *
 * The classifier `pair` is ambit's own; the others are those of Skadborg and Mortensen (2025) and their ablations.
 * `pair` scores every candidate pair of elements, so that a score always names its alternatives. Training calls the
 * question ambiguous as a noisy-or over pairs. Detection takes the likeliest pair alone: similar pairs are right or
 * wrong together, and a noisy-or would add them up.
 *
 * A pair makes a question ambiguous when two things hold: its elements could mean the same, which is a matter of the
 * schema, and the question asks for them. One head reads the graph's states of the elements and answers the first; the
 * other sees their relevance and how the question mentions them and answers the second. Both have labels of their own,
 * so that questions that do not ask for a doubled element teach the first too; the pair's logit is that of both.
 *
 * What is ambiguous by a question's words (ambiguity_type.h) a third head reads, from the question's own tokens and the
 * graph's states: elements' states then have the mean of the question's added, and a question's state is their mean,
 * beside one of the graph's states by attention.
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

enum { GATE_RELATIONS_MAX = 16 };

/* Text of a batch.  Wanted rows are the [CLS] rows, or the tokens of the elements' spans in order of the text. */
struct gate_text {
    struct bert_input bert;
    struct index rows;
    struct seqs spans;       /* schema: wanted rows of each span; n = 0 when every span is one row */
    struct index place;      /* schema: which span is node i's */
    struct index question;   /* schema, linguistic: which span is the question's, before node i's */
    struct tensor *mentions; /* schema: F32 [N, ELEMENT_MENTIONS] */
};

/* Graphs of a batch, nodes of all questions one after another. */
struct gate_graph {
    struct graph graph;
    struct seqs nodes;                          /* nodes of each question */
    struct tensor *weights[GATE_RELATIONS_MAX]; /* F32 [E]: gcn: the first; rgcn: of each relation; else none */
    struct index u, v;                          /* ends of the candidate pairs */
    struct tensor *features;                    /* F32 [P, pair_features] */
    struct seqs pairs;                          /* candidate pairs of each question */
};

struct gat_layer {
    struct tensor *w;                            /* [heads * hidden, in]; gcn: [hidden, in] */
    struct tensor *a_src, *a_dst;                /* F32 [heads, hidden] */
    struct tensor *edge_bias;                    /* F32 [edge_types, heads]; pair alone */
    struct tensor *bias;                         /* F32 [hidden], heads averaged; gat-cat: [heads * hidden] */
    struct tensor *norm_w, *norm_b;              /* F32, of bias's size; pair and gat-cat */
    struct tensor *relation[GATE_RELATIONS_MAX]; /* rgcn, in place of w: [hidden, in] of each relation */
};

struct gatekeeper {
    struct gatekeeper_config config;
    struct bert bert;
    struct bert embedder;                     /* no layers: bert's states serve */
    struct tensor *pooler_w, *pooler_b;       /* [C, C], F32 [C]: tanh, as BertForSequenceClassification */
    struct tensor *pooler_norm;               /* ModernBertForSequenceClassification: in place of pooler_b, and GELU */
    struct tensor *relevance_w, *relevance_b; /* [1, C], F32 [1] */
    struct tensor *mention_w;                 /* schema: [C, ELEMENT_MENTIONS] */
    struct tensor *question_w;                /* schema, linguistic: [C, C] */
    struct tensor *project_w, *project_b;     /* pair: [hidden, C], F32 [hidden] */
    struct gat_layer *gat;
    struct tensor *gate_w, *gate_b; /* attention pool: [1, hidden], F32 [1] */
    struct pair_head {
        struct tensor *w1, *b1, *w2, *b2; /* [pair_hidden, in], F32 [pair_hidden], [1, pair_hidden], F32 [1] */
    } twins, asked;
    struct linguistic_head {
        struct tensor *gate_w, *gate_b;       /* attention over the graph's states: [1, hidden], F32 [1] */
        struct tensor *state_w, *graph_w, *b; /* [pair_hidden, C], [pair_hidden, hidden], F32 [pair_hidden] */
        struct tensor *score_w, *score_b;     /* [LINGUISTIC_KINDS, pair_hidden], F32 [LINGUISTIC_KINDS] */
    } linguistic;
    struct tensor *relevance_in_w, *relevance_in_b; /* pair: [RELEVANCE_CHANNELS, 1], F32 [RELEVANCE_CHANNELS] */
    struct tensor *dense_w, *dense_b;               /* bert-only: [pair_hidden, C], F32 [pair_hidden] */
    struct tensor *score_w, *score_b;               /* the thesis' classifiers: [1, in], F32 [1] */
};

/* What names of an embedder's parameters begin with, in place of the encoder's "bert.". */
#define GATE_EMBEDDER "embedder."

/* Declares every parameter; encoder and relevance weights and those of the thesis' GAT have type dtype,
 * the rest of the classifier is F32.  An embedder is never trained. */
void gatekeeper_init(struct gatekeeper *g, const struct gatekeeper_config *config, enum dtype dtype, struct params *p,
                     const struct param_arenas *a);

/* States of all elements [N, C], in the compute type. */
struct tensor *gatekeeper_states(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text);

/* States of texts with the word of relevance (gatekeeper_says_word). */
struct tensor *gatekeeper_embed(struct ctx *c, const struct gatekeeper *g, const struct gate_text *text);

/* Relevance logits F32 [N] of states in the compute type. */
struct tensor *gatekeeper_relevance(struct ctx *c, const struct gatekeeper *g, struct tensor *states);

/* The thesis' loss on relevance: F32 [1], the sum of weight (logit - target)^2; all F32 [n], of which only the logits
 * have a gradient. */
struct tensor *gatekeeper_squared_error(struct ctx *c, struct tensor *logits, struct tensor *target,
                                        struct tensor *weight);

struct gate_scores {
    struct tensor *score;      /* F32 [questions]: logit of "ambiguous"; a noisy-or over pairs */
    struct tensor *pair;       /* F32 [P]: logit of each candidate pair; of pair alone, else NULL */
    struct tensor *twins;      /* F32 [P]: logit of "could mean the same"; likewise */
    struct tensor *linguistic; /* F32 [questions, LINGUISTIC_KINDS] logits; NULL without a head for them */
};
/* states F32 [N, C]. */
struct gate_scores gatekeeper_classify(struct ctx *c, const struct gatekeeper *g, struct tensor *states,
                                       const struct gate_graph *graph);

#endif
