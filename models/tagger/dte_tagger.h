/*
 * dte_tagger.h - questions in, answers out: windows of many questions read at once, then each question decoded.
 *
 * The same code serves validation and `ambit-infer tag`.
 */
#ifndef MODELS_TAGGER_DTE_TAGGER_H
#define MODELS_TAGGER_DTE_TAGGER_H

#include "kernels/workspace.h"
#include "models/tagger/dte_batch.h"
#include "models/tagger/dte_decode.h"
#include "models/tagger/dte_model.h"

struct dte_tagger {
    const struct dte_model *model;
    struct workspace *workspace;
    struct dte_layout layout;
    struct dte_decode_settings settings;
    int64_t max_tokens; /* read at once; a single longer sequence still goes through */
    bool eta;           /* answers are links alone: see dte_decode_eta */
    bool heat;          /* words are erased one at a time, to tell how much each carries */
};
/* With the model's temperature and threshold.  -1 with EXIT_CODE_CHECKPOINT: see dte_layout_init. */
int dte_tagger_init(struct dte_tagger *t, const struct dte_model *m, struct workspace *w, int64_t max_tokens,
                    struct error *err);

/* Answers to n items, which the caller releases, also on failure. */
int dte_tag(struct dte_tagger *t, const struct dte_item *items, int n, struct tag_answer *answers, struct error *err);

/* What the network says of n items, in inference; the caller releases the readings, also on failure. */
int dte_read(struct dte_tagger *t, const struct dte_item *const *items, int n, struct dte_reading *readings,
             struct error *err);

/* Probabilities of the concepts of n sequences side by side, keywords first, in inference: p has dte_sizes' entities
 * and n times DTE_KEYWORDS numbers. */
int dte_probabilities(struct dte_tagger *t, const struct dte_sequence *s, int n, float *p, struct error *err);

#endif
