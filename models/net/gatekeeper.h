/*
 * gatekeeper.h - the GATekeeper network: element states from BERT, relevance, a graph classifier.
 *
 * An element is a table or a column.  Its state comes from one of two encodings.  `element` reads "[CLS] question [SEP]
 * element [SEP]" for each element and takes the [CLS] state, as the paper does.  `schema` reads the question and the
 * whole schema at once and averages the states of the element's own tokens.  An embedding of the element's mention in
 * the question is added.
 *
 * The classifier `pair` is ambit's own; the others are those of Skadborg and Mortensen (2025) and their ablations.
 * `pair` scores every candidate pair of elements, so that a score always names its alternatives.  Training calls the
 * question ambiguous as a noisy-or over pairs.  Detection takes the likeliest pair alone: similar pairs are right or
 * wrong together, and a noisy-or would add them up.
 *
 * A pair makes a question ambiguous when two things hold: its elements could mean the same, which is a matter of the
 * schema, and the question asks for them.  One head reads the graph's states of the elements and answers the first; the
 * other sees their relevance and how the question mentions them and answers the second.  Both have labels of their own,
 * so that questions that do not ask for a doubled element teach the first too; the pair's logit is that of both.
 *
 * What is ambiguous by a question's words (ambiguity_type.h) a third head reads, from the question's own tokens and
 * the graph's states: elements' states then have the mean of the question's added, and a question's state is their
 * mean, beside one of the graph's states by attention.
 */
#ifndef MODELS_NET_GATEKEEPER_H
#define MODELS_NET_GATEKEEPER_H

#include "data/schema/ambiguity_type.h"
#include "data/schema/mention.h"
#include "models/net/gate_config.h"
#include "models/net/gate_input.h"

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
