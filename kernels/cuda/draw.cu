#include "kernels/cuda/decode.cuh"
#include "kernels/draw_number.h"

constexpr int FEW = 256, MANY = 1024, SHORT_ROW = 4096, DONE_THREADS = 256; /* threads for short rows and others */
constexpr unsigned NOWHERE = ~0u;                                           /* a distance beyond all */

struct draw_view {
    const int *stops;
    int64_t n_stops, vocab;
    float scale, top_p, least, typical_p; /* 1 / temperature, 0: the likeliest; -log min_p */
    int top_k;
    uint64_t seed;
};

/* A choice by its distance from the centre, as bits of a float, which ascend as it does, and what it weighs. */
struct grain_at {
    unsigned distance;
    uint64_t weight;
};

/* What is kept of the choices: those at most `reach` below the likeliest and, of these, at most `around` away from a
 * typical one. */
struct kept_row {
    choice_view ch;
    float most, scale, reach, centre, around;
};

/* How far below the likeliest one a choice is. */
__device__ inline float below(const kept_row &d, int64_t i)
{
    float x = choice_logit(d.ch, i), far = x == d.most ? 0.0f : (d.most - x) * d.scale;
    return far >= 0 ? far : INFINITY;
}

__device__ inline grain_at weigh(const kept_row &d, int64_t i)
{
    float far = below(d, i), away = fabsf(far - d.centre);
    uint64_t grains = far <= d.reach && away <= d.around ? draw_grains(expf(-far)) : 0u;
    return { grains ? f32_word(away) : NOWHERE, grains };
}

/* The sum over the block's threads, given to all of them. */
__device__ inline uint64_t block_total(uint64_t v)
{
    __shared__ uint64_t part[WARP];
    for (int lane = WARP / 2; lane; lane /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, lane);
    __syncthreads(); /* part may still be read for the call before */
    if (lane_id() == 0)
        part[warp_id()] = v;
    __syncthreads();
    v = lane_id() < block_threads() / WARP ? part[lane_id()] : 0u;
    for (int lane = WARP / 2; lane; lane /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, lane);
    return v;
}

/* Sum over the choices of what f gives for each. */
template <typename F>
__device__ inline uint64_t total(int64_t n, F f)
{
    uint64_t sum = 0;
    for (int64_t i = thread_id(); i < n; i += block_threads())
        sum += f(i);
    return block_total(sum);
}

/*
 * The largest distance such that all that are nearer weigh less than `limit`, by halves of [0, high]; once few are left
 * in doubt each thread has one of them.
 */
template <int THREADS, typename Weigh>
__device__ inline float reach_of(int64_t n, uint64_t limit, unsigned high, Weigh weigh_one)
{
    __shared__ grain_at few[THREADS];
    __shared__ int count;
    unsigned low = 0;
    uint64_t left = total(n, [&](int64_t i) { return (uint64_t)(weigh_one(i).distance <= high); });
    while (low < high && left > THREADS) {
        unsigned middle = low + (high - low) / 2;
        uint64_t sum = 0, near = 0;
        for (int64_t i = thread_id(); i < n; i += block_threads()) {
            grain_at w = weigh_one(i);
            bool in = w.distance >= low && w.distance <= middle;
            sum += in ? w.weight : 0u;
            near += in;
        }
        sum = block_total(sum), near = block_total(near);
        if (sum < limit)
            limit -= sum, left -= near, low = middle + 1;
        else
            left = near, high = middle;
    }
    if (low == high)
        return f32_bits(low);
    few[thread_id()] = { NOWHERE, 0 };
    if (thread_id() == 0)
        count = 0;
    __syncthreads();
    for (int64_t i = thread_id(); i < n; i += block_threads()) {
        grain_at w = weigh_one(i);
        if (w.distance >= low && w.distance <= high)
            few[atomicAdd(&count, 1)] = w;
    }
    __syncthreads();
    grain_at mine = few[thread_id()];
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        uint64_t sum = block_total(mine.distance >= low && mine.distance <= middle ? mine.weight : 0u);
        if (sum < limit)
            limit -= sum, low = middle + 1;
        else
            high = middle;
    }
    return f32_bits(low);
}

__device__ inline uint64_t kept_grains(const kept_row &d)
{
    return total(d.ch.n, [&](int64_t i) { return weigh(d, i).weight; });
}

/* Up to which distance from the centre the nearest hold the share. */
template <int THREADS>
__device__ inline float share_reach(const kept_row &d, float share)
{
    constexpr float beyond = 64; /* what has grains is nearer */
    uint64_t limit = draw_share(kept_grains(d), share);
    return reach_of<THREADS>(d.ch.n, limit, f32_word(beyond), [&](int64_t i) { return weigh(d, i); });
}

/* The mean distance: -log p of a token less the entropy is its distance less this. */
__device__ inline float typical_distance(const kept_row &d)
{
    uint64_t sum = total(d.ch.n, [&](int64_t i) {
        float far = below(d, i);
        return weigh(d, i).weight ? draw_grains(expf(-far) * far) : (uint64_t)0;
    });
    return (float)((double)sum / (double)kept_grains(d));
}

template <int THREADS>
__device__ inline void cut(kept_row &d, const draw_view &v)
{
    if (v.top_k)
        d.reach = reach_of<THREADS>(d.ch.n, (uint64_t)v.top_k, f32_word(INFINITY), [&](int64_t i) {
            return grain_at{ f32_word(below(d, i)), 1u };
        });
    if (v.top_p < 1)
        d.reach = fminf(d.reach, share_reach<THREADS>(d, v.top_p));
    d.reach = fminf(d.reach, v.least);
    if (v.typical_p < 1) {
        d.centre = typical_distance(d);
        d.around = share_reach<THREADS>(d, v.typical_p);
    }
}

/* The choice in which the grain lies, counted from the first: the range is parted among the warps again and again. */
__device__ inline int64_t drawn(const kept_row &d, uint64_t grain)
{
    __shared__ uint64_t of_warp[WARP];
    int64_t from = 0, n = d.ch.n;
    while (n > 1) {
        int warps = block_threads() / WARP;
        int64_t per = (n + warps - 1) / warps, begin = from + warp_id() * per;
        int64_t end = begin + per < from + n ? begin + per : from + n;
        uint64_t sum = 0;
        for (int64_t i = begin + lane_id(); i < end; i += WARP)
            sum += weigh(d, i).weight;
        for (int lane = WARP / 2; lane; lane /= 2)
            sum += __shfl_xor_sync(ALL_LANES, sum, lane);
        __syncthreads(); /* of_warp may still be read for the round before */
        if (lane_id() == 0)
            of_warp[warp_id()] = sum;
        __syncthreads();
        int w = 0;
        for (; grain >= of_warp[w]; w++)
            grain -= of_warp[w];
        n = w * per + per < n ? per : n - w * per;
        from += w * per;
    }
    return from;
}

/* The first of the likeliest. */
__device__ inline int64_t likeliest(const kept_row &d)
{
    __shared__ int64_t first[WARP];
    int64_t at = d.ch.n;
    for (int64_t i = thread_id(); i < d.ch.n && at == d.ch.n; i += block_threads())
        at = choice_logit(d.ch, i) == d.most ? i : at;
    for (int round = 0; round < 2; round++) {
        for (int lane = WARP / 2; lane; lane /= 2) {
            int64_t other = __shfl_xor_sync(ALL_LANES, at, lane);
            at = other < at ? other : at;
        }
        if (round == 0 && lane_id() == 0)
            first[warp_id()] = at;
        __syncthreads();
        at = round == 0 ? first[lane_id() % (block_threads() / WARP)] : at;
    }
    return at;
}

/* Where a row stands. */
struct drawn_at {
    int64_t row;
    int within, step, limit;
};

/* The row's newest token; -1: there was none. */
__device__ inline void say(const state_view &s, const draw_view &v, const drawn_at &p, int id, float logp)
{
    int64_t log = p.row * s.steps + p.step;
    bool stop = is_stop(v.stops, v.n_stops, id);
    s.said[log] = id;
    s.parent[log] = p.within;
    s.logp[log] = logp;
    s.score[p.row] += logp;
    if (id >= 0)
        s.token[p.row] = id;
    if (!stop && id >= 0 && p.step + 1 < p.limit)
        return;
    s.end_step[p.row] = p.step;
    s.end_row[p.row] = p.within;
    s.end_token[p.row] = id;
    s.end_stop[p.row] = stop;
    s.end_logp[p.row] = logp;
    s.end_score[p.row] = s.score[p.row];
}

/*
 * One more token of each row, see op_draw.
 *
 * Grid     one block per row: rows are as long as a vocabulary.
 * Memory   reads a row once for its log p, and about ten times more from L2 for each of top_k, top_p and typical_p,
 * once for what is drawn. Numbers  sums of grains are exact; log p in f32, its partial sums in a fixed order.
 */
template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    draw_kernel(state_view s, step_view step, const float *__restrict__ logits, automaton_view a, draw_view v)
{
    int64_t t = block_id(), i = t / s.width, request = step.request[i];
    drawn_at p = { request * s.width + t % s.width, (int)(t % s.width), step.step[i], step.limit[i] };
    if (request < 0 || s.end_step[p.row] >= 0)
        return;
    choice_view all = { logits + logit_row(s, step, t) * v.vocab, nullptr, nullptr, v.vocab };
    choice_view ch = choices_of(a, s.state[p.row], all.x, v.vocab);
    normaliser mine = thread_normaliser(all), of_row = block_normaliser(mine);
    float most = ch.token ? block_max(thread_normaliser(ch).most) : of_row.most;
    kept_row d = { ch, most, v.scale, INFINITY, 0.0f, INFINITY };
    int64_t at = -1;
    if (most > -INFINITY && v.scale > 0) {
        cut<THREADS>(d, v);
        const int *key = s.key + 2 * request;
        at = drawn(d, draw_grain(kept_grains(d), v.seed, key, (unsigned)p.within, (unsigned)p.step));
    } else if (most > -INFINITY) {
        at = likeliest(d);
    }
    if (thread_id() > 0) /* all have read the row's state, behind which were barriers */
        return;
    if (at >= 0)
        s.state[p.row] = choice_state(ch, at);
    int id = at >= 0 ? choice_id(ch, at) : -1;
    say(s, v, p, id, at >= 0 ? choice_logp(all.x[id], of_row) : 0.0f);
}

/*
 * done = whether all rows of a request have ended
 *
 * Grid     one thread per request.
 * Memory   a word a row.
 */
__global__ void __launch_bounds__(DONE_THREADS)
    rows_done_kernel(state_view s, const int *__restrict__ request, int64_t n)
{
    if (grid_thread() >= n || request[grid_thread()] < 0)
        return;
    int64_t r = request[grid_thread()];
    bool all = true;
    for (int i = 0; i < s.width; i++)
        all &= s.end_step[r * s.width + i] >= 0;
    s.done[r] = all;
}

extern "C" void cuda_draw(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                          const struct tensor *logits, const struct automaton *a, const struct draw_settings *set)
{
    int64_t n = tensor_size(step->request);
    draw_view v = { data_of<int>(set->stops),
                    tensor_size(set->stops),
                    tensor_cols(logits),
                    set->temperature > 0 ? 1 / set->temperature : 0,
                    set->top_p,
                    set->min_p > 0 ? -logf(set->min_p) : INFINITY,
                    set->typical_p,
                    set->top_k,
                    set->seed };
    if (n == 0)
        return;
    unsigned rows = blocks_for(n * s->width, 1);
    if (v.vocab <= SHORT_ROW)
        LAUNCH(draw_kernel<FEW>, rows, FEW, 0, cuda_stream(c), view_of(s), view_of(step), data_of<float>(logits),
               view_of(a), v);
    else
        LAUNCH(draw_kernel<MANY>, rows, MANY, 0, cuda_stream(c), view_of(s), view_of(step), data_of<float>(logits),
               view_of(a), v);
    LAUNCH(rows_done_kernel, blocks_for(n, DONE_THREADS), DONE_THREADS, 0, cuda_stream(c), view_of(s),
           data_of<int>(step->request), n);
}
