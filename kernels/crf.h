/*
 * crf.h - a linear chain over tags, as op_crf_log_z takes it: one matrix of weights, and what may not stand.
 */
#ifndef KERNELS_CRF_H
#define KERNELS_CRF_H

#include "kernels/tensor.h"

/*
 * Of K tags (Lafferty et al. 2001).  A tagging scores the emission of each token's tag, weights[i, j] for each tag j
 * behind a tag i, weights[K, j] for the first tag and weights[K + 1, j] for the last.  Bit j of forbidden[i] bars j in
 * that place.  Scores are compared as factors: what is e^-80 times as likely as another way may count as impossible.
 */
enum { CRF_TAGS_MAX = 32 };
struct crf {
    struct tensor *weights;   /* F32 [K + 2, K], K <= CRF_TAGS_MAX */
    struct tensor *forbidden; /* I32 [K + 2], or NULL */
};

#endif
