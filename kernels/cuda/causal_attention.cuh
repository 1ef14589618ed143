/*
 * causal_attention.cuh - the common part of causal attention and its backward: layout, and which keys a query sees.
 *
 * A row is one head of one query.  A group has `each` heads with the same keys and values (KV heads).  Row r of a group
 * is head r % each of query r / each.  All heads of a group thus use its k and v while these are in fast memory.
 */
#ifndef KERNELS_CUDA_CAUSAL_ATTENTION_CUH
#define KERNELS_CUDA_CAUSAL_ATTENTION_CUH

#include "kernels/cuda/cuda.cuh"

/* Arguments of a call. */
template <typename T>
struct causal_args {
    const T *q, *k, *v;
    const int *offsets, *key_start, *key_len, *prefix_start, *prefix_len; /* prefix_*: null without prefixes */
    const float *bias;                                                    /* [heads, 2 reach + 1], null: none */
    int tiles;                    /* tiles of the side by which the grid is cut, in the longest sequence */
    int heads, groups, each, dim; /* each: heads of a group */
    unsigned per_head;            /* 2^31 / each, rounded up */
    int reach, window;            /* window: 0 for none */
    float scale, cap;             /* cap: 0 for none */
};

/* Arguments without sequences; attention over pages has its own. */
template <typename T>
static causal_args<T> causal_args_of_form(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                          const struct attention_form *form)
{
    causal_args<T> a = {};
    a.q = data_of<T>(q), a.k = data_of<T>(k), a.v = data_of<T>(v);
    a.bias = data_of<float>(form->bias), a.reach = form->bias ? (int)(tensor_cols(form->bias) / 2) : 0;
    a.heads = form->heads, a.groups = form->groups, a.each = a.heads / a.groups;
    a.per_head = ((1u << 31) + (unsigned)a.each - 1) / (unsigned)a.each;
    a.dim = (int)(tensor_cols(q) / a.heads), a.scale = form->scale;
    a.window = form->window, a.cap = form->cap;
    return a;
}

template <typename T>
static causal_args<T> causal_args_of(const struct tensor *q, const struct tensor *k, const struct tensor *v,
                                     const struct causal *s, const struct attention_form *form)
{
    causal_args<T> a = causal_args_of_form<T>(q, k, v, form);
    a.offsets = data_of<int>(s->qs.offsets);
    a.key_start = data_of<int>(s->key_start), a.key_len = data_of<int>(s->key_len);
    if (s->prefix_len)
        a.prefix_start = data_of<int>(s->prefix_start), a.prefix_len = data_of<int>(s->prefix_len);
    return a;
}

/* The forward of bf16 for heads of at most 128 channels, for groups with more rows than a block of causal_attention.cu
 * holds. */
void causal_attention_tall(struct ctx *c, bf16 *y, float *lse, const causal_args<bf16> &a, const struct causal *s);

/* One sequence.  Its query t sees the prefix and ahead + t + 1 of its own keys. */
struct packed_span {
    int q_from, n_queries, key_from, n_keys, prefix_from, n_prefix, ahead;
};

template <typename T>
__device__ inline struct packed_span packed_span_of(const causal_args<T> &a, int64_t sequence)
{
    struct packed_span s;
    s.q_from = a.offsets[sequence], s.n_queries = a.offsets[sequence + 1] - s.q_from;
    s.key_from = a.key_start[sequence], s.n_keys = a.key_len[sequence];
    s.prefix_from = a.prefix_len ? a.prefix_start[sequence] : 0;
    s.n_prefix = a.prefix_len ? a.prefix_len[sequence] : 0;
    s.ahead = s.n_keys - s.n_queries;
    return s;
}

/* The row of k and v that holds key number j of a sequence, prefix first. */
__device__ inline int64_t causal_key(const struct packed_span &s, int64_t j)
{
    return j < s.n_prefix ? s.prefix_from + j : s.key_from + j - s.n_prefix;
}

/*
 * r / each, for r each < 2^31, by a multiplication.
 *
 * per_head is 2^31 / each, rounded up by less than 1.  The product is thus too large by less than r, and the quotient
 * by less than r / 2^31 < 1 / each.  That does not reach the next integer, so the result is exact.
 */
template <typename T>
__device__ inline int causal_query(const causal_args<T> &a, int r)
{
    return (int)__umulhi(2u * (unsigned)r, a.per_head);
}

/* The number in [Tq, heads] of row r of a group. */
template <typename T>
__device__ inline int64_t causal_row(const causal_args<T> &a, const struct packed_span &s, int group, int r)
{
    int query = causal_query(a, r);
    return (int64_t)(s.q_from + query) * a.heads + group * a.each + r - query * a.each;
}

/* The first key that a query sees, of the `seen` keys that it would see without a window. */
template <typename T>
__device__ inline int causal_first(const causal_args<T> &a, int seen)
{
    return a.window && seen > a.window ? seen - a.window : 0;
}

/* Whether a query sees a key `behind` places before it. */
template <typename T>
__device__ inline bool causal_sees(const causal_args<T> &a, int behind)
{
    return behind >= 0 && (!a.window || behind < a.window);
}

/* A scaled score after its cap, and before its bias. */
template <typename T>
__device__ inline float causal_capped(const causal_args<T> &a, float score)
{
    return a.cap > 0 ? a.cap * tanhf(score / a.cap) : score;
}

/* The derivative of the cap: d capped / d score = 1 - (capped / cap)^2. */
template <typename T>
__device__ inline float causal_cap_slope(const causal_args<T> &a, float capped)
{
    float share = a.cap > 0 ? capped / a.cap : 0.0f;
    return 1.0f - share * share;
}

/* The bias of a key `behind` places before a query, for one head; 0 without biases. */
template <typename T>
__device__ inline float causal_bias(const causal_args<T> &a, int head, int64_t behind)
{
    return a.bias ? a.bias[(int64_t)head * (2 * a.reach + 1) + a.reach - (behind < a.reach ? behind : a.reach)] : 0.0f;
}

#endif
