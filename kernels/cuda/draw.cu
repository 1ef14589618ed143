/*
 * draw.cu - sampling of one more token of each row: top-k, top-p, typical and min-p sampling, and the draw.
 *
 * A sampler usually sorts the vocabulary.  Here no row is sorted.  A cut is a distance from the likeliest logit (or
 * from the mean), such that the choices up to it have a given weight.  It is found by a histogram: the weights of all
 * choices by bins of their distance, then the choices of the one bin in which the cut lies.
 *
 * Weights are integers (grains, draw_number.h).  Their sums do not depend on the order of additions, so several blocks
 * may share a row with atomics, and every device draws the same token.
 */
#include "kernels/cuda/row_parts.cuh"
#include "kernels/draw_number.h"

constexpr int DONE_THREADS = 256;
constexpr unsigned NOWHERE = ~0u; /* a distance beyond all others */
constexpr float BEYOND = 64,
                WEIGHTLESS = 28; /* farther than every choice that has grains; exp(-28) is less than a grain */
/* A unit of distance has BINS_PER_UNIT bins.  The last bin holds everything that is farther than the other bins. */
constexpr int BINS = 2048, BINS_PER_UNIT = 128, BINS_EACH = BINS / PART_THREADS;
constexpr int LISTED = 1024; /* max choices of a bin that are listed */
static_assert(DRAW_COLUMNS <= ROW_PART * PART_THREADS, "a thread for each part of a row");
static_assert(DRAW_COLUMNS <= 1 << 24, "a float holds the number of a choice");

/* Settings of a draw. */
struct draw_view {
    const int *stops;
    int64_t n_stops, vocab;
    float scale, top_p, least, typical_p; /* 1 / temperature, 0: take the likeliest token; -log min_p */
    int top_k;
    uint64_t seed;
};

/* The cuts in their order, and the draw after them. */
enum draw_stage { TOP_K, TOP_P, TYPICAL, DRAW };

/* A choice: its weight, and its distance from the centre.  The distance is kept as the bits of a float, which ascend
 * with it. */
struct grain_at {
    uint64_t weight;
    unsigned distance;
};

/* A row and the choices that it keeps: those at most `reach` below the likeliest one and at most `around` from the
 * centre. */
struct kept_row {
    choice_view ch; /* empty if the row is padding or has its token already */
    float most, scale, reach, centre, around;
};

/* The state of a row between two kernels. */
struct sampled_row {
    kept_row kept;
    normaliser of_row;  /* over the whole vocabulary */
    unsigned low, high; /* the next cut lies between these distances */
    int listed;         /* choices at these distances */
    uint64_t limit;     /* weight of the choices from low on up to the cut */
};

/* The results of a block for its part of a row. */
struct part_found {
    normaliser of_row;
    float most;  /* of the choices */
    float first; /* the first choice with that logit */
    uint64_t grains, distances;
};

/* The rows of a launch, from row `first` of the step on.  Each row has `parts` parts. */
struct draw_rows {
    sampled_row *row;
    part_found *found;
    unsigned long long *bins;
    grain_at *list;
    int *arrived;
    int parts;
    int64_t first;
};

/* The weights of bins in two halves, because shared memory has no fast addition of 64 bits. */
struct draw_bins {
    unsigned low[BINS], high[BINS];
};

/* Sets all bins to 0.  Ends with a barrier. */
__device__ inline void clear(draw_bins &b)
{
    for (int i = thread_id(); i < BINS; i += PART_THREADS)
        b.low[i] = b.high[i] = 0;
    __syncthreads();
}

/* Adds a weight to a bin. atomicAdd returns the old lower half, so exactly one thread sees each overflow and carries it
 * into the upper half. */
__device__ inline void add_weight(draw_bins &b, int bin, uint64_t weight)
{
    unsigned low = (unsigned)weight, high = (unsigned)(weight >> 32), before = atomicAdd(&b.low[bin], low);
    high += before + low < before;
    if (high)
        atomicAdd(&b.high[bin], high);
}

__device__ inline uint64_t bin_weight(const draw_bins &b, int bin)
{
    return (uint64_t)b.high[bin] << 32 | b.low[bin];
}

/* Returns the distance of a logit below the likeliest one, in units of temperature; infinity for NaN. */
__device__ inline float below(const kept_row &d, float x)
{
    float far = x == d.most ? 0.0f : (d.most - x) * d.scale;
    return far >= 0 ? far : INFINITY;
}

/* Returns the grains of a choice and its distance from the centre; NOWHERE if the row does not keep it. */
__device__ inline grain_at weigh(const kept_row &d, float x)
{
    float far = below(d, x), away = fabsf(far - d.centre);
    bool kept = far <= d.reach && away <= d.around && far < WEIGHTLESS;
    uint64_t grains = kept ? draw_grains(expf(-far)) : 0u;
    return { grains, grains ? f32_word(away) : NOWHERE };
}

/* Returns the weight of a choice for a cut.  TOP_K counts choices, the others add probabilities. */
__device__ inline grain_at weigh_for(enum draw_stage cut, const kept_row &d, float x)
{
    return cut == TOP_K ? grain_at{ 1u, f32_word(below(d, x)) } : weigh(d, x);
}

/* Returns the choices that a stage starts with. min_p applies from TYPICAL on. */
__device__ inline kept_row kept_before(enum draw_stage stage, const sampled_row &row, const draw_view &v)
{
    kept_row d = row.kept;
    d.reach = stage >= TYPICAL ? fminf(d.reach, v.least) : d.reach;
    return d;
}

/* Sum over the lanes of a warp, for every lane. */
__device__ inline uint64_t warp_total(uint64_t v)
{
    for (int lane = WARP / 2; lane; lane /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, lane);
    return v;
}

/* Sum over the threads of a block, for every thread. */
__device__ inline uint64_t block_total(uint64_t v)
{
    __shared__ uint64_t of_warp[PART_WARPS];
    v = warp_total(v);
    __syncthreads(); /* the previous call may still be reading of_warp */
    if (lane_id() == 0)
        of_warp[warp_id()] = v;
    __syncthreads();
    return warp_total(lane_id() < PART_WARPS ? of_warp[lane_id()] : 0u);
}

/* Returns the sum over this lane and the lanes before it (an inclusive scan): after each round, a lane has the sum of
 * twice as many neighbours. */
__device__ inline uint64_t lanes_so_far(uint64_t v)
{
    for (int back = 1; back < WARP; back *= 2) {
        uint64_t before = __shfl_sync(ALL_LANES, v, (lane_id() - back) & (WARP - 1));
        v += lane_id() >= back ? before : 0u;
    }
    return v;
}

/* An item, and a grain counted from the item's first one. */
struct item_number {
    int item;
    uint64_t number;
};

/*
 * Returns the item that contains grain number pick(sum of all grains); the number of items if there are fewer grains.
 *
 * Each thread has PER neighbouring items, and weight(item) returns the grains of one.  Prefix sums over lanes and warps
 * tell each thread the grains before its own.  Exactly one thread then has the wanted grain among its items, and walks
 * through them.  After a call that found nothing, no item may be looked for: its threads left before the last barrier.
 */
template <int PER, typename Pick, typename Weight>
__device__ inline item_number item_of(Pick pick, Weight weight)
{
    __shared__ uint64_t of_warp[PART_WARPS];
    __shared__ item_number found;
    int item = thread_id() * PER;
    uint64_t mine = 0, all = 0, before = 0;
    UNROLL
    for (int i = 0; i < PER; i++)
        mine += weight(item + i);
    uint64_t so_far = lanes_so_far(mine);
    if (lane_id() == WARP - 1)
        of_warp[warp_id()] = so_far;
    __syncthreads();
    for (int w = 0; w < PART_WARPS; w++) {
        before += w < warp_id() ? of_warp[w] : 0u;
        all += of_warp[w];
    }
    uint64_t number = pick(all);
    if (number >= all)
        return { PER * PART_THREADS, number };
    before += so_far - mine;
    if (number >= before && number - before < mine) {
        number -= before;
        for (uint64_t here = weight(item); number >= here; here = weight(++item))
            number -= here;
        found = { item, number };
    }
    __syncthreads();
    return found;
}

/* The row and the part of a block. */
struct part_at {
    int local, part; /* row of the launch, part of the row */
};

__device__ inline part_at part_of_block(const draw_rows &r)
{
    return { (int)(block_id() / r.parts), (int)(block_id() % r.parts) };
}

/* The position of a row in the decoding state. */
struct drawn_at {
    int row, within, step, limit;
};

__device__ inline drawn_at place_of(const state_view &s, const step_view &step, int64_t t)
{
    int64_t i = t / s.width, within = t % s.width;
    return { (int)(step.request[i] * s.width + within), (int)within, step.step[i], step.limit[i] };
}

/* Appends a token to a row, -1 if there was none.  The row ends with a stop token, at its limit, or without a token. */
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

/* Appends choice `at` to its row; -1: no choice is allowed.  One thread calls it. */
__device__ inline void move_on(const state_view &s, const draw_view &v, const drawn_at &p, const choice_view &ch,
                               int at, const normaliser &of_row)
{
    if (at < 0) {
        say(s, v, p, -1, 0.0f);
        return;
    }
    int id = choice_id(ch, at);
    s.state[p.row] = choice_state(ch, at);
    say(s, v, p, id, choice_logp(ch.x[id], of_row));
}

/* Returns the first of the part's choices with this logit; infinity if there is none.  The choices of a thread ascend
 * with k, so the loop runs downwards. */
__device__ inline float first_of(const float (&v)[EACH], int part, float most)
{
    float first = INFINITY;
    UNROLL
    for (int k = EACH - 1; k >= 0; k--)
        first = v[k] == most ? (float)part_choice(part, k) : first;
    return -block_max(-first);
}

/* Reads a part of a row: the normaliser over the vocabulary, and the likeliest of the allowed choices. */
__device__ inline part_found read_part(const choice_view &all, const choice_view &ch, int part, bool likeliest)
{
    float v[EACH];
    load_part(v, all, part);
    part_found f = { part_normaliser(v), 0.0f, 0.0f, 0u, 0u };
    if (ch.token)
        load_part(v, ch, part);
    f.most = ch.token ? block_max(most_of(v)) : f.of_row.most;
    f.first = likeliest ? first_of(v, part, f.most) : 0.0f;
    return f;
}

/*
 * Finds the normaliser and the likeliest choice of each row.  At temperature 0, or if no choice is allowed, the row
 * gets its token here.
 *
 * Grid     one block per part of a row.
 * Memory   reads a row once: bandwidth bound.
 * Numbers  the parts' sums of exp in f32, then the sum of the parts, both in an order fixed by the vocabulary.
 */
__global__ void __launch_bounds__(PART_THREADS)
    draw_begin_kernel(draw_rows r, state_view s, step_view step, const float *__restrict__ logits, automaton_view a,
                      draw_view v)
{
    part_at at = part_of_block(r);
    int64_t t = r.first + at.local;
    int request = step.request[t / s.width], here = (int)(request * s.width + t % s.width);
    if (request < 0 || s.end_step[here] >= 0) {
        if (at.part == 0 && thread_id() == 0)
            r.row[at.local].kept.ch.n = 0;
        return;
    }
    choice_view all = { logits + logit_row(s, step, t) * v.vocab, nullptr, nullptr, v.vocab };
    choice_view ch = choices_of(a, s.state[here], all.x, v.vocab);
    part_found f = read_part(all, ch, at.part, v.scale == 0), *found = r.found + (int64_t)at.local * r.parts;
    if (thread_id() == 0)
        found[at.part] = f;
    /* The blocks of a row share the work of clearing its bins. */
    for (int i = at.part * PART_THREADS + thread_id(); i < BINS; i += r.parts * PART_THREADS)
        r.bins[(int64_t)at.local * BINS + i] = 0;
    if (!last_to_arrive(r.arrived + at.local, r.parts))
        return;

    /* Only the last block of a row is here: thread i takes the results of part i. */
    bool mine = thread_id() < r.parts;
    f = mine ? found[thread_id()] : part_found{ { -INFINITY, 0.0f }, -INFINITY, 0.0f, 0u, 0u };
    normaliser of_row = block_normaliser(f.of_row);
    float most = block_max(f.most), first = -block_max(mine && f.most == most ? -f.first : -INFINITY);
    bool draws = most > -INFINITY && v.scale > 0;
    if (thread_id() > 0)
        return;
    r.row[at.local] = { { ch, most, v.scale, INFINITY, 0.0f, INFINITY }, of_row, 0, 0, 0, 0 };
    if (draws)
        return;
    r.row[at.local].kept.ch.n = 0;
    move_on(s, v, place_of(s, step, t), ch, most > -INFINITY ? (int)first : -1, of_row);
}

/* The bin of a distance, and the distance at which a bin begins.  A unit has `per` bins, a power of two, so no product
 * is rounded. */
__device__ inline int bin_of(unsigned distance, float per)
{
    return (int)fminf(f32_bits(distance) * per, BINS - 1);
}

__device__ inline unsigned bin_start(int bin, float per)
{
    return f32_word((float)bin / per);
}

/* Returns the weight up to a cut, given the sum of all weights. */
__device__ inline uint64_t cut_weight(enum draw_stage cut, const draw_view &v, uint64_t sum)
{
    return cut == TOP_K ? (uint64_t)v.top_k : draw_share(sum, cut == TOP_P ? v.top_p : v.typical_p);
}

/*
 * Adds up the weights of each row's choices by bins of their distances, and finds the bin in which the cut lies.
 *
 * Grid     one block per part of a row.
 * Memory   reads a row once, from L2; a block adds its bins to those of the row.  16 KiB of shared memory.
 * Numbers  integers: exact.
 */
__global__ void __launch_bounds__(PART_THREADS)
    draw_bins_kernel(draw_rows r, draw_view v, enum draw_stage cut, float per)
{
    __shared__ draw_bins bins;
    part_at at = part_of_block(r);
    sampled_row *row = r.row + at.local;
    kept_row d = kept_before(cut, *row, v);
    if (at.part >= row_parts(d.ch.n))
        return;
    float x[EACH];
    load_part(x, d.ch, at.part);
    clear(bins);
    UNROLL
    for (int k = 0; k < EACH; k++) {
        grain_at w = weigh_for(cut, d, x[k]);
        if (w.weight)
            add_weight(bins, bin_of(w.distance, per), w.weight);
    }
    __syncthreads();
    unsigned long long *of_row = r.bins + (int64_t)at.local * BINS;
    /* Most bins of a block are empty and need no atomic addition in global memory. */
    for (int i = thread_id(); i < BINS; i += PART_THREADS)
        if (bin_weight(bins, i))
            atomicAdd(of_row + i, (unsigned long long)bin_weight(bins, i));
    if (!last_to_arrive(r.arrived + at.local, row_parts(d.ch.n)))
        return;

    item_number bin = item_of<BINS_EACH>([&](uint64_t sum) { return cut_weight(cut, v, sum) - 1; },
                                         [&](int i) { return (uint64_t)of_row[i]; });
    for (int i = 0; i < BINS_EACH; i++) /* each thread clears the bins that it has read, for the next cut */
        of_row[thread_id() * BINS_EACH + i] = 0;
    if (thread_id() > 0)
        return;
    /* Without such a bin nothing is cut. */
    unsigned farthest = f32_word(cut == TOP_K ? INFINITY : BEYOND);
    row->low = bin.item < BINS ? bin_start(bin.item, per) : farthest;
    row->high = bin.item < BINS - 1 ? bin_start(bin.item + 1, per) - 1 : farthest;
    row->limit = bin.number + 1;
    row->listed = 0;
}

/*
 * Returns the smallest distance in [low, high] such that the choices from low up to it weigh `limit`.  for_each passes
 * each choice to its argument.
 *
 * Each round divides the interval into at most BINS bins of 2^shift distances, and continues in the bin that contains
 * the limit.  Distances have 32 bits, so few rounds suffice.
 */
template <typename ForEach>
__device__ inline unsigned distance_of(draw_bins &bins, unsigned low, unsigned high, uint64_t limit, ForEach for_each)
{
    while (low < high) {
        int shift = 0;
        while ((high - low) >> shift >= BINS)
            shift++;
        clear(bins);
        for_each([&](grain_at w) {
            if (w.distance >= low && w.distance <= high)
                add_weight(bins, (int)((w.distance - low) >> shift), w.weight);
        });
        __syncthreads();
        item_number bin =
            item_of<BINS_EACH>([=](uint64_t) { return limit - 1; }, [&](int i) { return bin_weight(bins, i); });
        low += (unsigned)bin.item << shift;
        unsigned end = low + (1u << shift) - 1;
        high = end < high ? end : high;
        limit = bin.number + 1;
    }
    return low;
}

/*
 * Lists the choices of the bin that contains a row's cut, and finds the cut among them.  If the list is too short, the
 * last block reads the row again.
 *
 * Grid     one block per part of a row.
 * Memory   reads a row once, from L2.  16 KiB of shared memory.
 * Numbers  integers: exact.  The order of the list is random, but its sums are not.
 */
__global__ void __launch_bounds__(PART_THREADS, 6) draw_cut_kernel(draw_rows r, draw_view v, enum draw_stage cut)
{
    __shared__ draw_bins bins;
    part_at at = part_of_block(r);
    sampled_row *row = r.row + at.local;
    kept_row d = kept_before(cut, *row, v);
    if (at.part >= row_parts(d.ch.n))
        return;
    unsigned low = row->low, high = row->high;
    grain_at *list = r.list + (int64_t)at.local * LISTED;
    float x[EACH];
    load_part(x, d.ch, at.part);
    UNROLL
    for (int k = 0; k < EACH; k++) {
        unsigned away = f32_word(fabsf(below(d, x[k]) - d.centre));
        /* A bin of one distance needs no list. */
        if (low == high || away < low || away > high)
            continue;
        grain_at w = weigh_for(cut, d, x[k]);
        int to = w.weight ? atomicAdd(&row->listed, 1) : LISTED;
        if (to < LISTED)
            list[to] = w;
    }
    if (!last_to_arrive(r.arrived + at.local, row_parts(d.ch.n)))
        return;

    unsigned end;
    if (row->listed <= LISTED)
        end = distance_of(bins, low, high, row->limit, [&](auto take) {
            for (int i = thread_id(); i < row->listed; i += PART_THREADS)
                take(list[i]);
        });
    else
        end = distance_of(bins, low, high, row->limit, [&](auto take) {
            for (int part = 0; part < row_parts(d.ch.n); part++) {
                load_part(x, d.ch, part);
                for (int k = 0; k < EACH; k++)
                    take(weigh_for(cut, d, x[k]));
            }
        });
    if (thread_id() > 0)
        return;
    if (cut == TYPICAL)
        row->kept.around = f32_bits(end);
    else
        row->kept.reach = fminf(d.reach, f32_bits(end));
}

/*
 * Adds up the weights in the parts of each row.  The draw then finds the choice that contains the drawn grain, and
 * appends it.  The stage TYPICAL computes the mean distance: -log p of a token minus the entropy is its distance minus
 * this mean.
 *
 * Grid     one block per part of a row.
 * Memory   reads a row once, from L2, and for the draw one part of it again.
 * Numbers  sums of grains are exact.
 */
__global__ void __launch_bounds__(PART_THREADS, 6)
    draw_weights_kernel(draw_rows r, state_view s, step_view step, draw_view v, enum draw_stage stage)
{
    part_at at = part_of_block(r);
    sampled_row *row = r.row + at.local;
    kept_row d = kept_before(stage, *row, v);
    int parts = row_parts(d.ch.n);
    if (at.part >= parts)
        return;
    float x[EACH];
    uint64_t grains = 0, distances = 0;
    load_part(x, d.ch, at.part);
    UNROLL
    for (int k = 0; k < EACH; k++) {
        float far = below(d, x[k]);
        uint64_t here = weigh(d, x[k]).weight;
        grains += here;
        distances += stage == TYPICAL && here ? draw_grains(expf(-far) * far) : (uint64_t)0;
    }
    grains = block_total(grains);
    distances = stage == TYPICAL ? block_total(distances) : 0u;
    part_found *found = r.found + (int64_t)at.local * r.parts;
    if (thread_id() == 0)
        found[at.part].grains = grains, found[at.part].distances = distances;
    if (!last_to_arrive(r.arrived + at.local, parts))
        return;

    if (stage == TYPICAL) {
        bool mine = thread_id() < parts;
        grains = block_total(mine ? found[thread_id()].grains : 0u);
        distances = block_total(mine ? found[thread_id()].distances : 0u);
        if (thread_id() == 0)
            row->kept.centre = (float)((double)distances / (double)grains);
        return;
    }
    /* First the part that contains the drawn grain, then the choice within it. */
    drawn_at p = place_of(s, step, r.first + at.local);
    const int *key = s.key + 2 * (p.row / s.width);
    item_number part =
        item_of<1>([&](uint64_t sum) { return draw_grain(sum, v.seed, key, (unsigned)p.within, (unsigned)p.step); },
                   [&](int i) { return i < parts ? found[i].grains : (uint64_t)0; });
    int begin = part.item * ROW_PART;
    item_number choice = item_of<EACH>([=](uint64_t) { return part.number; },
                                       [&](int i) {
                                           bool is = begin + i < d.ch.n;
                                           return is ? weigh(d, choice_logit(d.ch, begin + i)).weight : (uint64_t)0;
                                       });
    if (thread_id() == 0)
        move_on(s, v, p, d.ch, begin + choice.item, row->of_row);
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

/* Returns the bins in a unit of distance.  The cut of TOP_K may lie at any distance, so its bins are as wide as at
 * temperature 1, up to a power of two. */
static float bins_per_unit(enum draw_stage cut, float scale)
{
    int exponent = 0;
    if (cut == TOP_K && scale > 1)
        frexpf(scale, &exponent);
    return ldexpf(BINS_PER_UNIT, -exponent);
}

/* Launches the two kernels of a cut. */
static void launch_cut(struct ctx *c, const draw_rows &r, const draw_view &v, enum draw_stage cut, unsigned blocks)
{
    LAUNCH(draw_bins_kernel, blocks, PART_THREADS, 0, cuda_stream(c), r, v, cut, bins_per_unit(cut, v.scale));
    LAUNCH(draw_cut_kernel, blocks, PART_THREADS, 0, cuda_stream(c), r, v, cut);
}

/* Sets *n to the number of rows that fit the scratch memory, of the `left` rows that remain, and returns
 * their arrays. */
static draw_rows rows_for(struct ctx *c, int64_t left, int64_t vocab, int64_t *n)
{
    int parts = row_parts(vocab);
    size_t per =
        sizeof(sampled_row) + (size_t)parts * sizeof(part_found) + BINS * sizeof(uint64_t) + LISTED * sizeof(grain_at);
    int64_t room = (int64_t)(SCRATCH_BYTES / per);
    room = room < COUNTERS ? room : COUNTERS;
    *n = left < room ? left : room;
    grain_at *list = (grain_at *)cuda_scratch(c, (size_t)*n * per);
    unsigned long long *bins = (unsigned long long *)(list + *n * LISTED);
    sampled_row *row = (sampled_row *)(bins + *n * BINS);
    return { row, (part_found *)(row + *n), bins, list, cuda_counters(c), parts, 0 };
}

/* Launches all stages for n rows.  Stages that the settings do not use are skipped. */
static void draw_group(struct ctx *c, const draw_rows &r, int64_t n, const state_view &s, const step_view &step,
                       const float *logits, const automaton_view &a, const draw_view &v)
{
    unsigned blocks = blocks_for(n * r.parts, 1);
    LAUNCH(draw_begin_kernel, blocks, PART_THREADS, 0, cuda_stream(c), r, s, step, logits, a, v);
    if (v.scale == 0)
        return;
    if (v.top_k)
        launch_cut(c, r, v, TOP_K, blocks);
    if (v.top_p < 1)
        launch_cut(c, r, v, TOP_P, blocks);
    if (v.typical_p < 1) {
        LAUNCH(draw_weights_kernel, blocks, PART_THREADS, 0, cuda_stream(c), r, s, step, v, TYPICAL);
        launch_cut(c, r, v, TYPICAL, blocks);
    }
    LAUNCH(draw_weights_kernel, blocks, PART_THREADS, 0, cuda_stream(c), r, s, step, v, DRAW);
}

/* Appends one more token to each row, see op_draw. */
extern "C" void cuda_draw(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                          const struct tensor *logits, const struct automaton *a, const struct draw_settings *set)
{
    int64_t requests = tensor_size(step->request), rows = requests * s->width, n;
    draw_view v = { data_of<int>(set->stops),
                    tensor_size(set->stops),
                    tensor_cols(logits),
                    set->temperature > 0 ? 1 / set->temperature : 0,
                    set->top_p,
                    set->min_p > 0 ? -logf(set->min_p) : INFINITY,
                    set->typical_p,
                    set->top_k,
                    set->seed };
    for (int64_t first = 0; first < rows; first += n) {
        draw_rows r = rows_for(c, rows - first, v.vocab, &n);
        r.first = first;
        draw_group(c, r, n, view_of(s), view_of(step), data_of<float>(logits), view_of(a), v);
    }
    if (requests)
        LAUNCH(rows_done_kernel, blocks_for(requests, DONE_THREADS), DONE_THREADS, 0, cuda_stream(c), view_of(s),
               data_of<int>(step->request), requests);
}
