/*
 * dte_chain.h - the chain over tags on the host, in double: the tags of a question's few words, and how likely a span
 * is.  The same numbers as op_viterbi and op_crf_log_z (kernels/ops.h), for emissions that were pooled over windows.
 */
#ifndef MODELS_TAGGER_DTE_CHAIN_H
#define MODELS_TAGGER_DTE_CHAIN_H

#include "models/net/dte.h"

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

#endif
