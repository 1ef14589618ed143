/*
 * decode.cuh - what the kernels of beams.h share: the state and the step as plain pointers, and the tokens that may
 * follow a row.
 */
#ifndef KERNELS_CUDA_DECODE_CUH
#define KERNELS_CUDA_DECODE_CUH

#include "kernels/cuda/cuda.cuh"

struct state_view {
    int width;
    int64_t keys, steps;
    int *token, *state, *table, *key, *said, *parent, *end_step, *end_row, *end_token, *end_stop, *done;
    float *score, *logp, *end_logp, *end_score;
};

struct step_view {
    const int *request, *step, *fixed, *place, *limit, *first, *reads;
    int ahead;
};

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

/* The row of logits that a step goes by in its row t, which is none of padding. */
__device__ inline int64_t logit_row(const state_view &s, const step_view &step, int64_t t)
{
    if (!step.first)
        return t;
    int64_t i = t / s.width, row = t % s.width, from = (int64_t)step.request[i] * s.width;
    for (int k = 1; k <= step.ahead; k++) {
        int of = s.parent[(from + row) * s.steps + step.step[i] - k];
        row = of >= 0 && of < s.width ? of : 0; /* a draw that has ended came from nowhere */
    }
    return step.first[i] + row * step.reads[i] + step.ahead;
}

/* The tokens that may follow a row, with their logits, in ascending order of their ids. */
struct choice_view {
    const float *x;
    const int *token, *next; /* of edges; NULL: all of the vocabulary */
    int64_t n;
};

__device__ inline choice_view choices_of(const automaton_view &a, int state, const float *x, int64_t vocab)
{
    if (!a.first || state < 0)
        return { x, nullptr, nullptr, vocab };
    int from = a.first[state];
    return { x, a.token + from, a.next + from, a.first[state + 1] - from };
}

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

/* The largest number so far, and the sum of exp(x - most); infinities count as most, what is no number counts nothing.
 */
struct normaliser {
    float most, sum;
};

__device__ inline float exp_below(float x, float most)
{
    float d = x == most ? 0.0f : x - most;
    return d <= 0 ? expf(d) : 0.0f;
}

/* Of all the block's threads, given to each; sum is the log of the sum. */
__device__ inline normaliser block_normaliser(const normaliser &mine)
{
    float most = block_max(mine.most);
    return { most, logf(block_sum(mine.sum * exp_below(mine.most, most))) };
}

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
