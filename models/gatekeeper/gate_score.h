/*
 * gate_score.h - scores questions: encodes batches of bounded size, then classifies whole graphs.
 *
 * Validation, the cache of states and `ambit-infer detect` share this code. A score therefore depends neither on the
 * caller nor on other questions of the batch. A scorer borrows model and workspace.
 */
#ifndef MODELS_GATEKEEPER_GATE_SCORE_H
#define MODELS_GATEKEEPER_GATE_SCORE_H

#include "kernels/workspace.h"
#include "models/gatekeeper/gate_model.h"

struct gate_scorer {
    const struct gate_model *model;
    struct workspace *workspace;
    struct text_builder text;
    int max_tokens; /* of an encoder call; a longer sequence has a call of its own */
};

/* Result of one question. */
struct gate_result {
    float score;               /* logit of the most probable pair, or of the classifier */
    int pair;                  /* most probable candidate pair; -1: none */
    float linguistic;          /* logit of the most probable linguistic type, if the model has a head for them */
    enum linguistic_type type; /* else LINGUISTIC_NONE */
};

void gate_scorer_init(struct gate_scorer *s, const struct gate_model *m, struct workspace *w, int max_tokens);
void gate_scorer_release(struct gate_scorer *s);

/* Computes states [nodes, C] (or NULL) and relevance logits [nodes] of n items, in the order of items and nodes.
 * Models whose texts have a word for relevance read each text twice: for relevance, then for states. */
int gate_encode(struct gate_scorer *s, const struct gate_item *items, int n, float *states, float *relevance,
                struct error *err);
/* The same in one pass, for models that encode whole schemas, with the states before encoder layer `layer`.  These are
 * the states of the questions' tokens [gate_asked, C], averaged over the texts of a question, and of the elements'
 * names [nodes, C].  Layers count from 0.  The layer is neither the first one nor behind the last one, which computes
 * the states of elements alone.  If states and relevance are NULL, the layers behind are not computed. */
struct gate_layer_states {
    int layer;
    float *tokens, *elements;
};
int gate_encode_words(struct gate_scorer *s, const struct gate_item *items, int n, float *states, float *relevance,
                      const struct gate_layer_states *words, struct error *err);
/* Number of tokens of the questions of n items that are read. */
int gate_asked(const struct gate_scorer *s, const struct gate_item *items, int n);
/* Computes the states [tokens, C] before an encoder layer (1 or more) of all tokens of n items, in the order of a
 * text_builder. Not for models with gatekeeper_says_word. */
int gate_encode_before(struct gate_scorer *s, const struct gate_item *items, int n, int layer, float *states,
                       struct error *err);
/* Computes relevance logits [n] from states [n, C]. Not for models with gatekeeper_says_word. */
int gate_relevance(struct gate_scorer *s, const float *states, int n, float *relevance, struct error *err);
/* Classifies n items from their states. pairs (or NULL): logits of all candidate pairs, from the pair classifier. */
int gate_classify(struct gate_scorer *s, const struct gate_item *items, int n, const float *states,
                  struct gate_result *results, float *pairs, struct error *err);

#endif
