/*
 * op_types.h - what ops are told besides tensors: activations, packed sequences, indexes, graphs, adapters.
 *
 * Letters are those of ops.h.
 */
#ifndef KERNELS_OP_TYPES_H
#define KERNELS_OP_TYPES_H

#include "kernels/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum activation {
    ACT_NONE,
    ACT_GELU /* erf */,
    ACT_GELU_TANH,
    ACT_RELU,
    ACT_LEAKY_RELU /* 0.2 */,
    ACT_ELU,
    ACT_TANH,
    ACT_SIGMOID
};
enum pool { POOL_SUM, POOL_MEAN };
enum gate { GATE_SILU, GATE_GELU /* by tanh */, GATE_GELU_ERF };

/* n segments of packed rows: segment s is rows offsets[s] .. offsets[s+1]-1.  offsets is I32 [n + 1] on the device. */
struct seqs {
    struct tensor *offsets;
    int64_t n, max_len; /* max_len >= every segment's length; host numbers that kernels may size grids by */
};

/*
 * n row numbers and, sorted by row, who asks for each: the form in which a sum over askers is the same on every run.
 * All I32 on the device, the latter three for backwards alone: ids[n]; uniq[n] distinct rows, ascending, -1 past the
 * last; start[n+1] into order[n], whose entries are the positions in ids, ascending for each row.  Made on the batch
 * side, in host arrays.
 */
struct index {
    struct tensor *ids, *uniq, *start, *order;
    int64_t n;
};

/*
 * A batch of graphs as one graph, edges sorted by target: node i receives edges offsets[i] .. offsets[i+1]-1, edge e
 * comes from sources[e] with relation types[e].  out_* is the same by source: node j sends out_edges[out_offsets[j]]
 * ... targets[e] is the receiving node.  All I32 on the device.
 */
struct graph {
    struct tensor *offsets, *sources, *types, *targets, *out_offsets, *out_edges;
    int64_t nodes, edges;
};

/*
 * Packed causal sequences.  Sequence s owns query rows qs.offsets[s] .. qs.offsets[s+1]-1 and key rows
 * key_start[s] .. key_start[s] + key_len[s] - 1; its i-th of nq queries sees the first key_len - nq + 1 + i of them
 * (so nq == key_len in training, nq < key_len when k, v are a cache).  Before these it sees, whole, the key rows
 * prefix_start[s] .. prefix_start[s] + prefix_len[s] - 1 (a prompt that several sequences share, itself a sequence).
 * All I32 [n] on the device; prefix_* NULL: none.  last[s] (I32 [n], NULL without prefixes): sequences s+1 .. last[s],
 * and no others, have sequence s's keys as their prefix - what the backward needs.
 */
struct causal {
    struct seqs qs;
    struct tensor *key_start, *key_len, *prefix_start, *prefix_len, *last;
    int64_t max_keys; /* key_len + prefix_len of any sequence is no larger; for batch_bound, as qs.max_len is */
};

enum { HEAD_DIM_MAX = 256, CAUSAL_SUM_DIM = 128 }; /* channels of a head of attention; of one with sums of dq */

/*
 * Places of rows, a head of a query each, in the sums of the backward of causal attention: those of a sequence and
 * group begin at a multiple of 16.
 */
static inline int64_t causal_sum_places(int64_t q_rows, int64_t sequences, int64_t heads, int64_t groups)
{
    return groups * (q_rows * (heads / groups) / 16 + sequences) * 16;
}

/* Words of 4 bytes that it takes from the step where the device asks for them (see struct device): a tensor of F32
 * numbers and of integers, with sums of dq if that is wanted. */
static inline int64_t causal_sum_words(int64_t q_rows, int64_t k_rows, int64_t sequences, int64_t heads, int64_t groups,
                                       int64_t dim, bool dq)
{
    int64_t width = dq ? dim <= CAUSAL_SUM_DIM / 2 ? CAUSAL_SUM_DIM / 2 : CAUSAL_SUM_DIM : 0;
    return causal_sum_places(q_rows, sequences, heads, groups) * (width + 4) + (2 * k_rows * groups + 15) / 16 * 16;
}

/*
 * How scores become weights: softmax_j(cap(scale q_i . k_j) + bias[h, clip(p_j - p_i, -R, R) + R]), p the places of
 * keys and queries in their sequence (a prefix counts), cap(x) = cap tanh(x / cap) (Gemma 2, Riviere et al. 2024).  R
 * is the distance from which on T5's buckets are all one (Raffel et al. 2020), so its relative positions are such a
 * table. With a window a query sees, of the keys that it would see, those less than `window` places away (sliding
 * windows, Beltagy et al. 2020), itself among them.
 */
struct attention_form {
    int heads, groups;   /* groups: heads that keys and values have, a divisor of heads; 0: as many */
    float scale;         /* 0: 1 / sqrt(D) */
    struct tensor *bias; /* F32 [heads, 2 R + 1], gets a gradient; NULL: none */
    float p;             /* dropout on the weights when training; bidirectional attention only */
    float cap;           /* of scores, 0: none; causal attention only */
    int window;          /* 0: none; causal attention only */
};

/* One GAT aggregation (Velickovic et al. 2018, eq. 1-6; gatekeeper's relation bias added to the score). */
struct gat {
    const struct graph *graph;
    struct tensor *a_src, *a_dst; /* F32 [H, D] */
    struct tensor *edge_bias;     /* F32 [types, H], or NULL */
    struct tensor *bias;          /* F32 [H * D], or [D] when mean; NULL for none */
    int heads;
    bool mean;   /* average the heads instead of laying them side by side */
    float slope; /* of LeakyReLU */
    float p;     /* dropout on the coefficients */
};

/*
 * A low-rank addition to a linear map (Hu et al. 2021): scale B A; A [r, K], B [N, r] of the weight's type.  Without
 * a backward the rows of a step may have different ones (Chen et al. 2023): those that ctx.adapter_of gives v > 0 have
 * others[v - 1], of which a NULL is none; the others, and all where it gives nothing, this one.
 */
enum { LORA_OTHERS = 63 };
struct lora {
    struct tensor *a, *b;
    float scale;   /* alpha / r, or alpha / sqrt(r) */
    float dropout; /* on what A reads, when training */
    const struct lora *others;
    int n_others; /* at most LORA_OTHERS */
};

#ifdef __cplusplus
}
#endif
#endif
