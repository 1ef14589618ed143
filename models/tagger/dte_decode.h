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

/* weights [tags + 2, tags] and forbidden [tags + 2] as in struct crf; borrowed. */
struct dte_chain {
    int tags;
    const float *weights;
    const int32_t *forbidden; /* NULL: anything may follow anything */
};

/* e [n, tags] emissions, allowed [n] bits of the tags that each word may have, NULL: any. */
struct dte_emissions {
    const float *e;
    const int32_t *allowed;
    int n;
    double temperature; /* all scores are divided by it */
};

/* The likeliest tags [n], of equals the lower one from the last word on.  False where no tagging is allowed. */
bool dte_chain_best(const struct dte_chain *m, const struct dte_emissions *e, int *tags);
/* log of the sum of exp(score) over the allowed taggings; -INFINITY where there is none. */
double dte_chain_log_z(const struct dte_chain *m, const struct dte_emissions *e);
/* Probability of a tagging whose words [from, to) have those tags, and whose next word has none of `not_next` (bits).
 */
double dte_chain_span(const struct dte_chain *m, const struct dte_emissions *e, int from, int to, const int *tags,
                      int32_t not_next);

struct dte_decode_settings {
    double temperature; /* of probabilities */
    double threshold;   /* AMB that is less likely is told as one column or value, UNK not at all */
    double share;       /* an alternative's least score beside the best one's */
    int most;           /* alternatives of AMB, and nearest concepts of UNK; at least 2 */
};
extern const struct dte_decode_settings dte_decode_defaults;

/* The caller releases the answer, whose concepts borrow from the question. */
void dte_decode(struct tag_answer *a, const struct dte_reading *r, const struct dte_chain *m, bool compat,
                const struct dte_decode_settings *s);

/* The ETA form: links alone, AMB where words are grounded by several concepts.  A column by the name of
 * dte_unknown_column stands for what the table has not, and makes UNK. */
void dte_decode_eta(struct tag_answer *a, const struct dte_reading *r, const struct dte_decode_settings *s);
extern const char dte_unknown_column[];

#endif
