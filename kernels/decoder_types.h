/*
 * decoder_types.h - what the ops of a decoder's block are told: linear maps that read the same rows, and, without a
 * backward, where rotated keys go.
 *
 * A weight that few rows read costs its bytes and a launch, whatever is computed; so what surrounds a product (the norm
 * before it, the sum or gate behind it, the products beside it) goes along in its launch.
 */
#ifndef KERNELS_DECODER_TYPES_H
#define KERNELS_DECODER_TYPES_H

#include "kernels/op_types.h"
#include "kernels/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x w^T + b + what the adapter adds. */
struct linear_map {
    struct tensor *w, *b; /* [N, K]; F32 [N] or NULL */
    struct lora lora;     /* a is NULL: no adapter */
};

/* The norm that rows pass before a linear map, see op_rms_norm. */
struct rms_norm {
    struct tensor *w; /* F32 [K]; NULL: none */
    float eps;
};

/* Maps whose adapters read the same x, at most. */
enum { LORA_STACK = 3 };

enum { GROUP_ROWS = 32, GROUP_PRODUCTS = 24 };
#define ALL_ROWS UINT64_MAX

/* y (+)= scale n(x) w^T, or n(x) w^T + bias, or n(x) w^T + addend, n the group's norm. */
struct linear_product {
    const struct tensor *x, *w;  /* [T, K] and [N, K]; NULL: the addend alone */
    const struct tensor *bias;   /* F32 [N] or NULL */
    const struct tensor *addend; /* F32 [T, N], scratch that may be overwritten, or NULL */
    float scale;
    struct destination y; /* of w's type, or F32 */
    uint64_t rows;        /* which rows of y: a bit for each number in the group's adapter_of */
};

/* Products of few rows in one launch (any number with ROWS_FEW); the kernel is handed one of the y by itself, if
 * there is one that it writes whole.  glu: of each two, gate(first) second goes to the first one's rows of its y. */
struct linear_group {
    struct linear_product product[GROUP_PRODUCTS];
    int n;
    struct rms_norm norm;
    struct tensor *adapter_of; /* I32 [T]; NULL: every product is for all rows */
    bool glu;
    enum gate gate;
};

/* How queries and keys are normed and rotated, and where keys and values then go: k stays as it was with a cache. */
struct rope_cache {
    struct tensor *angles;          /* F32 [T, D] of op_rope_angles */
    struct tensor *q_norm, *k_norm; /* F32 [D], both or neither */
    float eps;
    struct tensor *k, *v; /* [rows, G D]; NULL: there is no cache, keys stay where they are */
    struct tensor *ids;   /* I32 [T], all different: their rows in the cache, negative: left out */
};

#ifdef __cplusplus
}
#endif
#endif
