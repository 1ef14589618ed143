/*
 * crf.h - the linear-chain CRF of op_crf_log_z: one matrix of weights, and the forbidden transitions.
 */
#ifndef KERNELS_CRF_H
#define KERNELS_CRF_H

#include "kernels/tensor.h"

/*
 * A linear-chain CRF with K tags (Lafferty et al. 2001).  The score of a tagging is a sum.  Each token adds the
 * emission of its tag.  Each transition from tag i to tag j adds weights[i, j].  The first tag adds weights[K, j], and
 * the last one adds weights[K + 1, j].  Bit j of forbidden[i] forbids tag j in that place.  Taggings e^-80 times as
 * likely as another may count as impossible.
 */
enum { CRF_TAGS_MAX = 32 };
struct crf {
    struct tensor *weights;   /* F32 [K + 2, K], K <= CRF_TAGS_MAX */
    struct tensor *forbidden; /* I32 [K + 2], or NULL */
};

#endif
