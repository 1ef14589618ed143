/*
 * decoder_types.h - the arguments of the ops of a decoder's block: linear maps that read the same rows, and, without a
 * backward, the destination of rotated keys.
 *
 * A product of few rows is limited by reading its weight and by launch overhead.  The ops around a product therefore
 * run in its launch: the norm before it, the sum or gate after it, and products that read the same rows.
 */
#ifndef KERNELS_DECODER_TYPES_H
#define KERNELS_DECODER_TYPES_H

#include "kernels/op_types.h"
#include "kernels/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* x w^T + b + the adapter's output */
struct linear_map {
    struct tensor *w, *b; /* [N, K]; F32 [N] or NULL */
    struct lora lora;     /* a is NULL: no adapter */
};

/* The norm of the rows before a linear map, see op_rms_norm. */
struct rms_norm {
    struct tensor *w; /* F32 [K]; NULL: none */
    float eps;
};

/* max number of maps whose adapters read the same x */
enum { LORA_STACK = 3 };

enum { GROUP_ROWS = 32, GROUP_PRODUCTS = 24 };
#define ALL_ROWS UINT64_MAX

/* y (+)= scale n(x) w^T, or n(x) w^T + bias, or n(x) w^T + addend, n the group's norm. */
struct linear_product {
    const struct tensor *x, *w;  /* [T, K] and [N, K]; NULL: only the addend */
    const struct tensor *bias;   /* F32 [N] or NULL */
    const struct tensor *addend; /* F32 [T, N], scratch that the kernel may overwrite, or NULL */
    float scale;
    struct destination y; /* of w's type, or F32 */
    uint64_t rows;        /* mask of rows of y: a bit for each value of the group's adapter_of */
};

/* Products of few rows in one launch; with ROWS_FEW, of any number of rows.  If the kernel writes one y completely,
 * that y is also its separate argument.  glu: of each pair of products, gate(first) second is written to the y of the
 * first. */
struct linear_group {
    struct linear_product product[GROUP_PRODUCTS];
    int n;
    struct rms_norm norm;
    struct tensor *adapter_of; /* I32 [T]; NULL: every product applies to all rows */
    bool glu;
    enum gate gate;
};

/* The norm and rotation of queries and keys, and the destination of keys and values.  With a cache, k itself is
 * unchanged. */
struct rope_cache {
    struct tensor *angles;          /* F32 [T, D] of op_rope_angles */
    struct tensor *q_norm, *k_norm; /* F32 [D], both or neither */
    float eps;
    struct tensor *k, *v; /* [rows, G D] cache; NULL: none, keys are rotated in place */
    struct tensor *ids;   /* I32 [T], distinct rows of the cache, negative: skipped */
};

#ifdef __cplusplus
}
#endif
#endif
