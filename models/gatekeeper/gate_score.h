/*
 * gate_score.h - scores questions: encode in pieces of bounded size, then classify whole graphs.
 *
 * The same code serves validation, the embedding cache and `ambit-infer detect`, so a score cannot depend on where it
 * was computed, nor on what else was in the batch.
 */
#ifndef MODELS_GATEKEEPER_GATE_SCORE_H
#define MODELS_GATEKEEPER_GATE_SCORE_H

#include "kernels/workspace.h"
#include "models/gatekeeper/gate_model.h"

struct gate_scorer {
    const struct gate_model *model;
    struct workspace *workspace;
    struct text_builder text;
    int max_tokens; /* of one encoder call; a single longer sequence still goes through */
};

/* What the classifier says of one question. */
struct gate_result {
    float score;               /* logit: of the likeliest pair, else the classifier's */
    int pair;                  /* the likeliest candidate pair, -1 when there is none */
    float linguistic;          /* logit of the likeliest linguistic kind, where the model has a head for them: */
    enum linguistic_kind kind; /* else LINGUISTIC_NONE */
};

void gate_scorer_init(struct gate_scorer *s, const struct gate_model *m, struct workspace *w, int max_tokens);
void gate_scorer_release(struct gate_scorer *s);

/* states [nodes, C] (may be NULL) and relevance logits [nodes] of n items, in item and node order.  Where texts say
 * whether an element is relevant, all are read twice: for relevance, then for states. */
int gate_encode(struct gate_scorer *s, const struct gate_item *items, int n, float *states, float *relevance,
                struct error *err);
/* States [tokens, C] before a layer (1 or more) of the encoder, of all tokens of n items' texts, as a text_builder has
 * them one after another; not of a model that gatekeeper_says_word. */
int gate_encode_before(struct gate_scorer *s, const struct gate_item *items, int n, int layer, float *states,
                       struct error *err);
/* Relevance logits [n] of states [n, C]; not of a model that gatekeeper_says_word. */
int gate_relevance(struct gate_scorer *s, const float *states, int n, float *relevance, struct error *err);
/* Results of n items from their states; pairs (may be NULL): the logits of all their candidate pairs, of the pair
 * classifier. */
int gate_classify(struct gate_scorer *s, const struct gate_item *items, int n, const float *states,
                  struct gate_result *results, float *pairs, struct error *err);

#endif
