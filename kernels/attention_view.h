/*
 * attention_view.h - the layout of q, k and v in the one or two inputs of op_attention, for the kernels of every
 * device.
 */
#ifndef KERNELS_ATTENTION_VIEW_H
#define KERNELS_ATTENTION_VIEW_H

#include "kernels/tensor.h"

/* The layout of q, k and v: element (t, h, d) of each is base[t * stride + h * head_dim + d]. */
struct attention_view {
    int64_t head_dim, q_stride, kv_stride, k_offset, v_offset;
};
static inline struct attention_view attention_view_of(const struct tensor *q, const struct tensor *kv, int heads)
{
    bool fused = q == kv;
    int64_t width = fused ? tensor_cols(q) / 3 : tensor_cols(q);
    struct attention_view v = { width / heads, tensor_cols(q), tensor_cols(kv), fused ? width : 0,
                                fused ? 2 * width : width };
    return v;
}

#endif
