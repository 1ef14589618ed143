/*
 * dte_decode.h - turns the network's scores of one question into an answer: spans, their alternatives and
 * probabilities.
 *
 * The chain over tags (CRF) runs on the host in double, on emissions that are the mean over windows. It computes the
 * same numbers as op_viterbi and op_crf_log_z (kernels/ops.h). The caller releases each answer; its concepts borrow
 * from the question.
 */
#ifndef MODELS_TAGGER_DTE_DECODE_H
#define MODELS_TAGGER_DTE_DECODE_H

#include "models/net/dte.h"
#include "models/tagger/dte_reading.h"

/* The transition scores of the CRF, borrowed: weights [tags + 2, tags] and forbidden [tags + 2], as in struct crf. */
struct dte_chain {
    int tags;
    const float *weights;
    const int32_t *forbidden; /* NULL: all transitions are allowed */
};

/* Emissions e [n, tags] of a question's words. allowed: [n] bits of the allowed tags; NULL: all. */
struct dte_emissions {
    const float *e;
    const int32_t *allowed;
    int n;
    double temperature; /* divisor of all scores */
};

/* Finds the best tags [n] (Viterbi). Of equal scores the lower tag wins, from the last word on. false: no tagging is
 * allowed. */
bool dte_chain_best(const struct dte_chain *m, const struct dte_emissions *e, int *tags);
/* log of the sum of exp(score) over the allowed taggings; -INFINITY if there is none. */
double dte_chain_log_z(const struct dte_chain *m, const struct dte_emissions *e);
/* Probability that words [from, to) have these tags and the next word has no tag in `not_next` (bits). */
double dte_chain_span(const struct dte_chain *m, const struct dte_emissions *e, int from, int to, const int *tags,
                      int32_t not_next);

struct dte_decode_settings {
    double temperature; /* of probabilities */
    double
        threshold; /* min probability of AMB and UNK; below it, AMB becomes one column or value, and UNK is dropped */
    double share;  /* min score of an alternative, as a fraction of the best score */
    int most;      /* max alternatives of AMB, and nearest concepts of UNK; at least 2 */
};
extern const struct dte_decode_settings dte_decode_defaults;

/* Decodes a question. The caller releases the answer, whose concepts borrow from the question. */
void dte_decode(struct tag_answer *a, const struct dte_reading *r, const struct dte_chain *m, bool published,
                const struct dte_decode_settings *s);

/* The ETA baseline: links without tags. A span is AMB if several concepts ground its words. A column named
 * dte_unknown_column stands for missing concepts, and makes UNK. */
void dte_decode_eta(struct tag_answer *a, const struct dte_reading *r, const struct dte_decode_settings *s);
extern const char dte_unknown_column[];

#endif
