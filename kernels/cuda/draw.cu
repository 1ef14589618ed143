#include "kernels/cuda/decode.cuh"
#include "kernels/draw_number.h"

constexpr int FEW = 256, MANY = 1024, SHORT_ROW = 4096, DONE_THREADS = 256; /* threads for short rows and others */
constexpr unsigned NOWHERE = ~0u;                                           /* a distance beyond all */
constexpr float BEYOND = 64, WEIGHTLESS = 28; /* farther than all that has grains; exp(-28) is less than a grain */
/* Bins of distances up to 16, the last one for all beyond.  A bin adds up its weights, of at most 42 bits, in parts of
 * BIN_BITS, so that DRAW_COLUMNS of them fit in a word. */
constexpr int BINS = 2048, BINS_PER_UNIT = 128, BIN_PARTS = 3, BIN_BITS = 14;
constexpr unsigned BIN_MASK = (1u << BIN_BITS) - 1;
static_assert((uint64_t)DRAW_COLUMNS * BIN_MASK <= ~0u && BIN_PARTS * BIN_BITS > 40, "sums of weights fit");

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

/* Shared memory in which a block sorts its row. */
template <int THREADS>
struct draw_memory {
    unsigned bins[BIN_PARTS][BINS];
    grain_at few[THREADS];
    int count;
    normaliser of_row; /* thread 0's, which has few registers left */
};

/* How far below the likeliest one a logit is. */
__device__ inline float below(const kept_row &d, float x)
{
    float far = x == d.most ? 0.0f : (d.most - x) * d.scale;
    return far >= 0 ? far : INFINITY;
}

__device__ inline grain_at weigh(const kept_row &d, float x)
{
    float far = below(d, x), away = fabsf(far - d.centre);
    bool kept = far <= d.reach && away <= d.around && far < WEIGHTLESS;
    uint64_t grains = kept ? draw_grains(expf(-far)) : 0u;
    return { grains ? f32_word(away) : NOWHERE, grains };
}

/* Calls f for the logit of each choice in [begin, end) that is thread `at`'s of `threads`. */
template <typename F>
__device__ inline void for_logits(const choice_view &ch, int begin, int end, int at, int threads, F f)
{
    if (ch.token) {
        for (int i = begin + at; i < end; i += threads)
            f(choice_logit(ch, i));
        return;
    }
    for (int j = begin + at * PACK; j < end; j += threads * PACK) {
        float v[PACK];
        load_pack(v, ch.x + j, end - j);
        UNROLL
        for (int k = 0; k < PACK; k++)
            if (j + k < end)
                f(v[k]);
    }
}

__device__ inline uint64_t warp_total(uint64_t v)
{
    for (int lane = WARP / 2; lane; lane /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, lane);
    return v;
}

/* The sum over the block's threads, given to all of them. */
__device__ inline uint64_t block_total(uint64_t v)
{
    __shared__ uint64_t part[WARP];
    v = warp_total(v);
    __syncthreads(); /* part may still be read for the call before */
    if (lane_id() == 0)
        part[warp_id()] = v;
    __syncthreads();
    return warp_total(lane_id() < block_threads() / WARP ? part[lane_id()] : 0u);
}

/* Sum over the choices of what f gives for the logit of each. */
template <typename F>
__device__ inline uint64_t total(const choice_view &ch, F f)
{
    uint64_t sum = 0;
    for_logits(ch, 0, (int)ch.n, thread_id(), block_threads(), [&](float x) { sum += f(x); });
    return block_total(sum);
}

/* An item, and a number counted from its beginning. */
struct item_number {
    int item;
    uint64_t number;
};

/*
 * The one of n items in which grain number pick(sum of all) lies; n where there are no more grains than that.  The
 * items are parted among the warps again and again; part(begin, end) gives a lane's part of their sum.
 */
template <typename Pick, typename Part>
__device__ inline item_number item_of(int n, Pick pick, Part part)
{
    __shared__ uint64_t of_warp[WARP];
    int from = 0, items = n, warps = block_threads() / WARP;
    uint64_t number = 0;
    do {
        int per = (n + warps - 1) / warps, begin = from + warp_id() * per;
        int end = begin + per < from + n ? begin + per : from + n;
        uint64_t sum = warp_total(part(begin, end));
        __syncthreads(); /* of_warp may still be read for the round before */
        if (lane_id() == 0)
            of_warp[warp_id()] = sum;
        __syncthreads();
        if (n == items) {
            uint64_t all = warp_total(lane_id() < warps ? of_warp[lane_id()] : 0u);
            number = pick(all);
            if (number >= all)
                return { items, number };
        }
        int w = 0;
        for (; number >= of_warp[w]; w++)
            number -= of_warp[w];
        n = w * per + per < n ? per : n - w * per;
        from += w * per;
    } while (n > 1);
    return { from, number };
}

/* Fills `few` with those at distances in [low, high], as far as there is room; how many they are. */
template <int THREADS, typename Weigh>
__device__ inline int gather_few(draw_memory<THREADS> &m, const choice_view &ch, unsigned low, unsigned high,
                                 Weigh weigh_one)
{
    __syncthreads(); /* few and count may still be read */
    m.few[thread_id()] = { NOWHERE, 0 };
    if (thread_id() == 0)
        m.count = 0;
    __syncthreads();
    for_logits(ch, 0, (int)ch.n, thread_id(), THREADS, [&](float x) {
        grain_at w = weigh_one(x);
        if (w.distance < low || w.distance > high)
            return;
        int at = atomicAdd(&m.count, 1);
        if (at < THREADS)
            m.few[at] = w;
    });
    __syncthreads();
    return m.count;
}

/* Of those at distances in [low, high]: the least distance such that all up to it weigh `limit`.  By halves, and once
 * few are in doubt each thread has one of them. */
template <int THREADS, typename Weigh>
__device__ inline float reach_within(draw_memory<THREADS> &m, const choice_view &ch, uint64_t limit, unsigned low,
                                     unsigned high, Weigh weigh_one)
{
    bool few = false;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        auto near = [&](grain_at w) { return w.distance >= low && w.distance <= middle ? w.weight : (uint64_t)0; };
        few = few || gather_few(m, ch, low, high, weigh_one) <= THREADS;
        uint64_t sum =
            few ? block_total(near(m.few[thread_id()])) : total(ch, [&](float x) { return near(weigh_one(x)); });
        if (sum < limit)
            limit -= sum, low = middle + 1;
        else
            high = middle;
    }
    return f32_bits(low);
}

__device__ inline int bin_of(unsigned distance)
{
    float x = f32_bits(distance) * BINS_PER_UNIT;
    return x < BINS - 1 ? (int)x : BINS - 1;
}

/* The distance at which bin i begins: no product is rounded. */
__device__ inline unsigned bin_start(int i)
{
    return f32_word((float)i / BINS_PER_UNIT);
}

template <int THREADS>
__device__ inline uint64_t bin_weight(const draw_memory<THREADS> &m, int i)
{
    uint64_t sum = 0;
    UNROLL
    for (int k = 0; k < BIN_PARTS; k++)
        sum += (uint64_t)m.bins[k][i] << k * BIN_BITS;
    return sum;
}

/* Adds up the weights of each bin but the last, whose sum is returned. */
template <int THREADS, typename Weigh>
__device__ inline uint64_t fill_bins(draw_memory<THREADS> &m, const choice_view &ch, Weigh weigh_one)
{
    uint64_t rest = 0;
    __syncthreads(); /* bins may still be read */
    for (int i = thread_id(); i < BIN_PARTS * BINS; i += THREADS)
        m.bins[i / BINS][i % BINS] = 0;
    __syncthreads();
    for_logits(ch, 0, (int)ch.n, thread_id(), THREADS, [&](float x) {
        grain_at w = weigh_one(x);
        int bin = bin_of(w.distance);
        if (bin == BINS - 1) {
            rest += w.weight;
            return;
        }
        UNROLL
        for (int k = 0; k < BIN_PARTS; k++) {
            unsigned part = (unsigned)(w.weight >> k * BIN_BITS) & BIN_MASK;
            if (part)
                atomicAdd(&m.bins[k][bin], part);
        }
    });
    return block_total(rest);
}

/* The largest distance such that all that are nearer weigh less than limit_of(sum of all); `most` where all do. */
template <int THREADS, typename Limit, typename Weigh>
__device__ inline float reach_of(draw_memory<THREADS> &m, const choice_view &ch, float most, Limit limit_of,
                                 Weigh weigh_one)
{
    uint64_t rest = fill_bins(m, ch, weigh_one);
    item_number bin = item_of(
        BINS, [&](uint64_t sum) { return limit_of(sum) - 1; },
        [&](int begin, int end) {
            uint64_t sum = 0;
            for (int i = begin + lane_id(); i < end; i += WARP)
                sum += i == BINS - 1 ? rest : bin_weight(m, i);
            return sum;
        });
    if (bin.item == BINS)
        return most;
    unsigned high = bin.item == BINS - 1 ? f32_word(most) : bin_start(bin.item + 1) - 1;
    return reach_within(m, ch, bin.number + 1, bin_start(bin.item), high, weigh_one);
}

/* Up to which distance from the centre the nearest hold the share. */
template <int THREADS>
__device__ inline float share_reach(draw_memory<THREADS> &m, const kept_row &d, float share)
{
    return reach_of(
        m, d.ch, BEYOND, [&](uint64_t sum) { return draw_share(sum, share); }, [&](float x) { return weigh(d, x); });
}

/* The mean distance: -log p of a token less the entropy is its distance less this. */
__device__ inline float typical_distance(const kept_row &d)
{
    uint64_t all = 0, distances = 0;
    for_logits(d.ch, 0, (int)d.ch.n, thread_id(), block_threads(), [&](float x) {
        float far = below(d, x);
        uint64_t grains = weigh(d, x).weight;
        all += grains;
        distances += grains ? draw_grains(expf(-far) * far) : (uint64_t)0;
    });
    all = block_total(all), distances = block_total(distances);
    return (float)((double)distances / (double)all);
}

template <int THREADS>
__device__ inline void cut(draw_memory<THREADS> &m, kept_row &d, const draw_view &v)
{
    if (v.top_k)
        d.reach = reach_of(
            m, d.ch, INFINITY, [&](uint64_t) { return (uint64_t)v.top_k; },
            [&](float x) {
                return grain_at{ f32_word(below(d, x)), 1u };
            });
    if (v.top_p < 1)
        d.reach = fminf(d.reach, share_reach(m, d, v.top_p));
    d.reach = fminf(d.reach, v.least);
    if (v.typical_p < 1) {
        d.centre = typical_distance(d);
        d.around = share_reach(m, d, v.typical_p);
    }
}

/* The choice in which grain pick(sum of all) lies, counted from the first. */
template <typename Pick>
__device__ inline int drawn(const kept_row &d, Pick pick)
{
    return item_of((int)d.ch.n, pick,
                   [&](int begin, int end) {
                       uint64_t sum = 0;
                       for_logits(d.ch, begin, end, lane_id(), WARP, [&](float x) { sum += weigh(d, x).weight; });
                       return sum;
                   })
        .item;
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
    int row, within, step, limit;
};

__device__ inline drawn_at place_of(const state_view &s, const step_view &step)
{
    int t = (int)block_id(), i = t / s.width;
    return { step.request[i] * s.width + t % s.width, t % s.width, step.step[i], step.limit[i] };
}

/* The row's newest token; -1: there was none. */
__device__ inline void say(const state_view &s, const draw_view &v, const drawn_at &p, int id, float logp)
{
    int64_t log = (int64_t)p.row * s.steps + p.step;
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
 * Memory   reads a row once for its log p, twice more from L2 for each of top_k and top_p, three times for typical_p,
 *          once for what is drawn.
 * Numbers  sums of grains are exact; log p in f32, its partial sums in a fixed order.
 */
template <int THREADS>
__global__ void __launch_bounds__(THREADS, THREADS == FEW ? 2 : 1)
    draw_kernel(state_view s, step_view step, const float *__restrict__ logits, automaton_view a, draw_view v)
{
    __shared__ draw_memory<THREADS> memory;
    int t = (int)block_id(), i = t / s.width, request = step.request[i];
    drawn_at p = place_of(s, step);
    if (request < 0 || s.end_step[p.row] >= 0)
        return;
    choice_view all = { logits + logit_row(s, step, t) * v.vocab, nullptr, nullptr, v.vocab };
    choice_view ch = choices_of(a, s.state[p.row], all.x, v.vocab);
    normaliser mine = thread_normaliser(all), of_row = block_normaliser(mine);
    if (thread_id() == 0)
        memory.of_row = of_row;
    float most = ch.token ? block_max(thread_normaliser(ch).most) : of_row.most;
    kept_row d = { ch, most, v.scale, INFINITY, 0.0f, INFINITY };
    int at = -1;
    if (most > -INFINITY && v.scale > 0) {
        cut(memory, d, v);
        const int *key = s.key + 2 * request;
        at = drawn(d, [&](uint64_t sum) { return draw_grain(sum, v.seed, key, (unsigned)p.within, (unsigned)p.step); });
    } else if (most > -INFINITY) {
        at = (int)likeliest(d);
    }
    if (thread_id() > 0) /* all have read the row's state, behind which were barriers */
        return;
    p = place_of(s, step); /* read again rather than held in registers */
    if (at >= 0)
        s.state[p.row] = choice_state(ch, at);
    int id = at >= 0 ? choice_id(ch, at) : -1;
    say(s, v, p, id, at >= 0 ? choice_logp(ch.x[id], memory.of_row) : 0.0f);
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
