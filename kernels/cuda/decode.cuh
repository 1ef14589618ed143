/*
 * decode.cuh - the common part of the kernels of beams.h.
 *
 * The views hold the state and the step of decoding (decode_state.h, beams.h) as plain pointers, as kernel arguments
 * need them.  The functions below find the tokens that may follow a row, and their log-probabilities.
 */
#ifndef KERNELS_CUDA_DECODE_CUH
#define KERNELS_CUDA_DECODE_CUH

#include "kernels/cuda/cuda.cuh"

/* Tensors of struct decode_state.  A row is one of the `width` completions of a request. */
struct state_view {
    int width;
    int64_t keys, steps;
    int *token, *state, *table, *key, *said, *parent, *end_step, *end_row, *end_token, *end_stop, *done;
    float *score, *logp, *end_logp, *end_score;
};

/* Tensors of struct decode_step. */
struct step_view {
    const int *request, *step, *fixed, *place, *limit, *first, *reads;
    int ahead;
};

/* An automaton in compressed rows: the edges of state i are first[i] .. first[i + 1]. */
struct automaton_view {
    const int *first, *token, *next; /* NULL: every row is free */
};

static inline state_view view_of(const struct decode_state *s)
{
    return { s->width,
             tensor_cols(s->table),
             tensor_cols(s->said),
             data_of<int>(s->token),
             data_of<int>(s->state),
             data_of<int>(s->table),
             data_of<int>(s->key),
             data_of<int>(s->said),
             data_of<int>(s->parent),
             data_of<int>(s->end_step),
             data_of<int>(s->end_row),
             data_of<int>(s->end_token),
             data_of<int>(s->end_stop),
             data_of<int>(s->done),
             data_of<float>(s->score),
             data_of<float>(s->logp),
             data_of<float>(s->end_logp),
             data_of<float>(s->end_score) };
}

static inline step_view view_of(const struct decode_step *s)
{
    return { data_of<int>(s->request),
             data_of<int>(s->step),
             data_of<int>(s->fixed),
             data_of<int>(s->place),
             data_of<int>(s->limit),
             s->first ? data_of<int>(s->first) : nullptr,
             s->first ? data_of<int>(s->reads) : nullptr,
             s->ahead };
}

static inline automaton_view view_of(const struct automaton *a)
{
    return a ? automaton_view{ data_of<int>(a->first), data_of<int>(a->token), data_of<int>(a->next) }
             : automaton_view{};
}

/*
 * Returns the row of logits that decides about row t of the step, which must not be padding.
 *
 * A pass may read several tokens of a row.  Its steps then share the logits, and a row uses those of its ancestor at
 * the start of the pass, `ahead` steps before.
 */
__device__ inline int64_t logit_row(const state_view &s, const step_view &step, int64_t t)
{
    if (!step.first)
        return t;
    int64_t i = t / s.width, row = t % s.width, from = (int64_t)step.request[i] * s.width;
    for (int k = 1; k <= step.ahead; k++) {
        int of = s.parent[(from + row) * s.steps + step.step[i] - k];
        row = of >= 0 && of < s.width ? of : 0; /* a row that has ended has no ancestor */
    }
    return step.first[i] + row * step.reads[i] + step.ahead;
}

/* The tokens that may follow a row, with their logits, in ascending order of their ids. */
struct choice_view {
    const float *x;
    const int *token, *next; /* of the edges; NULL: the whole vocabulary */
    int64_t n;
};

/* Returns the choices in a state of the automaton.  Without an automaton, or in a negative state, every token is
 * allowed. */
__device__ inline choice_view choices_of(const automaton_view &a, int state, const float *x, int64_t vocab)
{
    if (!a.first || state < 0)
        return { x, nullptr, nullptr, vocab };
    int from = a.first[state];
    return { x, a.token + from, a.next + from, a.first[state + 1] - from };
}

/* Token, next state and logit of choice i. */
__device__ inline int choice_id(const choice_view &ch, int64_t i)
{
    return ch.token ? ch.token[i] : (int)i;
}

__device__ inline int choice_state(const choice_view &ch, int64_t i)
{
    return ch.next ? ch.next[i] : STATE_FREE;
}

__device__ inline float choice_logit(const choice_view &ch, int64_t i)
{
    return ch.x[choice_id(ch, i)];
}

/* The largest number so far, and the sum of exp(x - largest).  An infinite number counts like the largest one, and NaN
 * does not count. */
struct normaliser {
    float most, sum;
};

/* exp(x - most); 1 for equal infinities, 0 for NaN and for numbers above the largest one. */
__device__ inline float exp_below(float x, float most)
{
    float d = x == most ? 0.0f : x - most;
    return d <= 0 ? expf(d) : 0.0f;
}

/* Merges the normalisers of all threads of the block, for every thread.  `sum` of the result is the logarithm of the
 * sum. */
__device__ inline normaliser block_normaliser(const normaliser &mine)
{
    float most = block_max(mine.most);
    return { most, logf(block_sum(mine.sum * exp_below(mine.most, most))) };
}

/* The log-probability of a logit under a merged normaliser. */
__device__ inline float choice_logp(float logit, const normaliser &all)
{
    return (logit == all.most ? 0.0f : logit - all.most) - all.sum;
}

__device__ inline bool is_stop(const int *stops, int64_t n, int id)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++)
        found |= stops[i] == id;
    return found;
}

#endif
