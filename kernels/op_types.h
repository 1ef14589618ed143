/*
 * op_types.h - the arguments of ops besides tensors: activations, packed sequences, indexes, graphs, adapters, CRFs,
 * policies.
 *
 * The letters are those of ops.h.
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
    int64_t n, max_len; /* max_len >= every segment's length; host numbers that kernels may use for grid sizes */
};

/*
 * Row indices and their inverse (CSR), so that scatter-adds run in a fixed order.  All tensors are I32 on the device,
 * made from host arrays by batch.h.  The last three serve backwards only.
 *
 * ids[n] holds the row indices.  uniq[n] holds the distinct rows, ascending, then -1.  start[n+1] points into order[n].
 * The entries of order are positions in ids, ascending for each row.
 */
struct index {
    struct tensor *ids, *uniq, *start, *order;
    int64_t n;
};

/*
 * A batch of graphs as one graph, with edges sorted by target.  Node i receives edges offsets[i] .. offsets[i+1]-1.
 * Edge e comes from sources[e] with relation types[e] and goes to targets[e].  out_* lists the edges by source: node j
 * sends out_edges[out_offsets[j]] ...  All are I32 on the device.
 */
struct graph {
    struct tensor *offsets, *sources, *types, *targets, *out_offsets, *out_edges;
    int64_t nodes, edges;
};

/*
 * Packed causal sequences.  Sequence s owns query rows qs.offsets[s] .. qs.offsets[s+1]-1 and key rows key_start[s] ..
 * key_start[s] + key_len[s] - 1.  Its i-th of nq queries sees the first key_len - nq + 1 + i of its keys.  In training
 * nq == key_len; with a cache of k and v, nq < key_len.
 *
 * The prefix of a sequence is a prompt that several sequences share and is itself a sequence.  Each query also sees all
 * prefix key rows, prefix_start[s] .. prefix_start[s] + prefix_len[s] - 1, which come before its own.
 *
 * All tensors are I32 [n] on the device.  Without prefixes, prefix_* and last are NULL.  The backward needs last:
 * sequences s+1 .. last[s], and no others, have the keys of sequence s as their prefix.
 */
struct causal {
    struct seqs qs;
    struct tensor *key_start, *key_len, *prefix_start, *prefix_len, *last;
    int64_t max_keys; /* upper bound of key_len + prefix_len; pass it through batch_bound, like qs.max_len */
};

enum { HEAD_DIM_MAX = 256, CAUSAL_SUM_DIM = 128 }; /* max channels of an attention head; of one with sums of dq */

/*
 * Returns the number of rows in the sums of the backward of causal attention.  A row is one head of one query.  The
 * rows of a sequence and group begin at a multiple of 16.
 */
static inline int64_t causal_sum_places(int64_t q_rows, int64_t sequences, int64_t heads, int64_t groups)
{
    return groups * (q_rows * (heads / groups) / 16 + sequences) * 16;
}

/* Returns the number of 4-byte words of step memory for these sums, on devices that need them (see struct device).
 * They hold F32 numbers and integers, and the sums of dq if dq is true. */
static inline int64_t causal_sum_words(int64_t q_rows, int64_t k_rows, int64_t sequences, int64_t heads, int64_t groups,
                                       int64_t dim, bool dq)
{
    int64_t width = dq ? dim <= CAUSAL_SUM_DIM / 2 ? CAUSAL_SUM_DIM / 2 : CAUSAL_SUM_DIM : 0;
    return causal_sum_places(q_rows, sequences, heads, groups) * (width + 4) + (2 * k_rows * groups + 15) / 16 * 16;
}

/*
 * The weights of attention: softmax_j(cap(scale q_i . k_j) + bias[h, clip(p_j - p_i, -R, R) + R]).  p are the positions
 * of keys and queries in their sequence, including the prefix.  cap(x) = cap tanh(x / cap) (Gemma 2, Riviere et al.
 * 2024).
 *
 * The bias table holds T5's relative positions (Raffel et al. 2020).  R is the distance from which on T5 has one
 * bucket.  With a window, a query sees only the keys less than `window` positions away, itself included (sliding
 * windows, Beltagy et al. 2020).
 */
struct attention_form {
    int heads, groups;   /* groups: KV heads, a divisor of heads; 0: heads */
    float scale;         /* 0: 1 / sqrt(D) */
    struct tensor *bias; /* F32 [heads, 2 R + 1], gets a gradient; NULL: none */
    float p;             /* dropout on the weights when training; bidirectional attention only */
    float cap;           /* softcap of scores, 0: none; causal attention only */
    int window;          /* 0: none; causal attention only */
};

/* One GAT aggregation (Velickovic et al. 2018, eq. 1-6), with a bias of the relation added to the score as in
 * gatekeeper. */
struct gat {
    const struct graph *graph;
    struct tensor *a_src, *a_dst; /* F32 [H, D] */
    struct tensor *edge_bias;     /* F32 [types, H], or NULL */
    struct tensor *bias;          /* F32 [H * D], or [D] when mean; NULL for none */
    int heads;
    bool mean;           /* average the heads instead of concatenating them */
    float slope;         /* of LeakyReLU */
    float p;             /* dropout on the coefficients */
    enum activation act; /* of the result */
    float out_p;         /* dropout on the activated result */
};

/*
 * A low-rank adapter of a linear map (LoRA, Hu et al. 2021): scale B A, A [r, K] and B [N, r], of the weight's type.
 *
 * Without a backward, each row of a step may have its own adapter (Chen et al. 2023).  A row whose ctx.adapter_of is v
 * > 0 takes others[v - 1], where a NULL a means no adapter.  All other rows take this adapter.
 */
enum { LORA_OTHERS = 63 };
struct lora {
    struct tensor *a, *b;
    float scale;   /* alpha / r, or alpha / sqrt(r) */
    float dropout; /* on the input of A, when training */
    const struct lora *others;
    int n_others; /* at most LORA_OTHERS */
};

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

/*
 * The clipped surrogate of proximal policy optimisation (Schulman et al. 2017, equation 7), with separate lower and
 * upper bounds (Yu et al. 2025, equation 10).  The divergence from the initial model uses the estimator that is never
 * negative (Shao et al. 2024, equation 4).
 *
 * All tensors are F32 [T], one number for each token, and get no gradient.  Logarithms of ratios are clamped to
 * [-POLICY_LOG_MAX, POLICY_LOG_MAX], so that all results stay finite.
 */
#define POLICY_LOG_MAX 20.0f
struct policy {
    struct tensor *drawn;     /* log p of the token when it was sampled */
    struct tensor *start;     /* -log p of the token under the initial model; NULL: no divergence */
    struct tensor *advantage; /* of the token's completion */
    struct tensor *weight;    /* weight of the token's loss; 0: the token is skipped, whatever its other numbers */
    float low, high;          /* ratios are clipped to [1 - low, 1 + high] */
    float divergence;         /* weight of the divergence */
};

#ifdef __cplusplus
}
#endif
#endif
