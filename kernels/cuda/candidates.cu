/*
 * candidates.cu - the k best choices of each row.
 *
 * A bound that at least k choices reach removes most of a row at once.  It costs one reduction, because it comes from
 * the maxima of the threads.
 */
#include "kernels/cuda/row_parts.cuh"

constexpr int KEEP_THREADS = 256;
constexpr int KEYS = 512; /* max keys that a block finds */
static_assert(PART_THREADS >= CANDIDATES_MAX && KEYS >= CANDIDATES_MAX, "there is room for k keys");

/* Maps a float to an integer that ascends with it. 0 and -0 become equal; numbers that are never chosen (NaN,
 * -infinity) become 0. */
__device__ inline unsigned ordered(float x)
{
    unsigned bits = f32_word(x == 0 ? 0.0f : x);
    return !(x > -INFINITY) ? 0u : bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* Returns the key of a choice; 0 if it is no candidate.  All keys differ.  Of two choices with equal logits, the lower
 * one has the larger key. */
__device__ inline uint64_t choice_key(float logit, int64_t at)
{
    unsigned high = ordered(logit);
    return high ? (uint64_t)high << 32 | ~(unsigned)at : 0u;
}

/* The choice of a key. */
__device__ inline int64_t key_choice(uint64_t key)
{
    return (int64_t) ~(unsigned)key;
}

/* The best keys of a block, in any order. */
struct best_keys {
    uint64_t key[KEYS];
    int count;
    unsigned bound[PART_WARPS];
};

/* Maximum over the lanes of a warp, for every lane. */
__device__ inline unsigned warp_most(unsigned v)
{
    for (int lane = WARP / 2; lane; lane /= 2) {
        unsigned other = __shfl_xor_sync(ALL_LANES, v, lane);
        v = other > v ? other : v;
    }
    return v;
}

/*
 * Returns a bound that at least k logits reach, or 0.  `mine` is this thread's largest logit.
 *
 * Each warp finds its k / PART_WARPS largest logits among the maxima of its lanes, and contributes the smallest of
 * them. The minimum over the warps is the bound: every warp has its share of k logits that reach it.
 */
__device__ inline unsigned bound_of(best_keys &m, int k, unsigned mine)
{
    unsigned bound = 0;
    for (int i = 0; i < k; i += PART_WARPS) {
        bound = warp_most(mine);
        /* Lanes with equal logits all drop out, which only lowers the bound. */
        mine = mine == bound ? 0 : mine;
    }
    if (lane_id() == 0)
        m.bound[warp_id()] = bound;
    __syncthreads();
    bound = ~0u;
    for (int w = 0; w < PART_WARPS; w++)
        bound = m.bound[w] < bound ? m.bound[w] : bound;
    return bound;
}

/* Puts the keys of at least `least` into m while there is room, and returns their number, which may exceed KEYS. */
template <typename ForKeys>
__device__ inline int gather_keys(best_keys &m, uint64_t least, ForKeys for_keys)
{
    __syncthreads(); /* count and keys of the previous call may still be read */
    if (thread_id() == 0)
        m.count = 0;
    __syncthreads();
    for_keys([&](uint64_t key) {
        if (key < least)
            return;
        int at = atomicAdd(&m.count, 1);
        if (at < KEYS)
            m.key[at] = key;
    });
    __syncthreads();
    return m.count;
}

/*
 * Puts the k largest keys into m, and perhaps a few more, and returns their number.
 *
 * Usually few keys more than k reach the bound.  If too many do, because many logits are equal, bisection finds a
 * better bound.  It ends because all keys differ.
 */
template <typename ForKeys>
__device__ inline int find_best(best_keys &m, int k, unsigned mine, ForKeys for_keys)
{
    uint64_t bound = (uint64_t)bound_of(m, k, mine) << 32, low = bound ? bound : 1, high = ~(uint64_t)0, least = low;
    int n = gather_keys(m, least, for_keys);
    while (n > KEYS || (n < k && least > low)) {
        if (n > KEYS)
            low = least;
        else
            high = least;
        least = low + (high - low) / 2;
        n = gather_keys(m, least, for_keys);
    }
    return n;
}

/* Tensors of struct candidates. */
struct candidates_view {
    float *value;
    int *id, *state;
    int k;
};

/* The rows of a launch, from row `first` of the step on.  Each row has `parts` parts. */
struct candidate_rows {
    uint64_t *keys;
    normaliser *of_part;
    int *arrived, *found; /* of a row: parts that have ended, and their keys */
    int parts;
    int64_t first;
};

/* Stores a missing candidate. */
__device__ inline void no_candidate(const candidates_view &y, int64_t to)
{
    y.value[to] = -INFINITY;
    y.id[to] = -1;
    y.state[to] = STATE_FREE;
}

/*
 * Finds the best keys of a part, and appends them to those of its row.  Their order depends on the order of the blocks.
 * The result does not, because write_best sorts by key.
 */
__device__ inline void read_part(best_keys &m, const candidate_rows &r, int local, int part, const choice_view &ch,
                                 const choice_view &of_sum, int k)
{
    __shared__ int from;
    float v[EACH];
    load_part(v, of_sum, part);
    normaliser of_part = part_normaliser(v);
    if (thread_id() == 0)
        r.of_part[(int64_t)local * r.parts + part] = of_part;
    /* The sum runs over the vocabulary, but the candidates are only the allowed tokens. */
    if (ch.token && !of_sum.token)
        load_part(v, ch, part);
    int n = find_best(m, k, ordered(most_of(v)), [&](auto take) {
        UNROLL
        for (int i = 0; i < EACH; i++)
            take(choice_key(v[i], part_choice(part, i)));
    });
    if (thread_id() == 0)
        from = atomicAdd(r.found + local, n);
    __syncthreads();
    uint64_t *keys = r.keys + (int64_t)local * r.parts * KEYS + from;
    for (int i = thread_id(); i < n; i += PART_THREADS)
        keys[i] = m.key[i];
}

/* Writes the k largest keys, the largest first.  The rank of a key is the number of larger keys: n is small, so
 * counting beats sorting. */
__device__ inline void write_best(const best_keys &m, int n, const candidates_view &y, int64_t row,
                                  const choice_view &ch, const normaliser &of_row)
{
    for (int i = thread_id(); i < n; i += PART_THREADS) {
        uint64_t key = m.key[i];
        int place = 0;
        for (int j = 0; j < n; j++)
            place += m.key[j] > key;
        if (place >= y.k)
            continue;
        int64_t at = key_choice(key), to = row * y.k + place;
        y.value[to] = choice_logp(choice_logit(ch, at), of_row);
        y.id[to] = choice_id(ch, at);
        y.state[to] = choice_state(ch, at);
    }
    for (int i = n + thread_id(); i < y.k; i += PART_THREADS)
        no_candidate(y, row * y.k + i);
}

/*
 * The k best choices of each row, see op_candidates.
 *
 * Grid     one block per part of a row; the last one to end merges the keys of all parts.
 * Memory   reads a row once: bandwidth bound; the edges of an automaton too.
 * Numbers  the parts' sums of exp in f32, then the sum of the parts, both in an order fixed by the vocabulary.
 */
__global__ void __launch_bounds__(PART_THREADS)
    candidates_kernel(candidates_view y, candidate_rows r, state_view s, step_view step,
                      const float *__restrict__ logits, int64_t vocab, automaton_view a, bool full)
{
    __shared__ best_keys m;
    int local = (int)(block_id() / r.parts), part = (int)(block_id() % r.parts);
    int64_t t = r.first + local, of = step.request[t / s.width], row = of * s.width + t % s.width;
    if (of < 0 || s.done[of] || s.score[row] == -INFINITY) {
        for (int i = thread_id(); part == 0 && i < y.k; i += PART_THREADS)
            no_candidate(y, t * y.k + i);
        return;
    }
    choice_view ch = choices_of(a, s.state[row], logits + logit_row(s, step, t) * vocab, vocab);
    choice_view of_sum = { ch.x, full ? nullptr : ch.token, full ? nullptr : ch.next, full ? vocab : ch.n };
    int parts = of_sum.n ? row_parts(of_sum.n) : 1;
    if (part >= parts)
        return;
    read_part(m, r, local, part, ch, of_sum, y.k);
    if (!last_to_arrive(r.arrived + local, parts))
        return;

    /* Only the last block of a row is here. */
    int total = r.found[local];
    const uint64_t *keys = r.keys + (int64_t)local * r.parts * KEYS;
    auto for_keys = [&](auto take) {
        for (int i = thread_id(); i < total; i += PART_THREADS)
            take(keys[i]);
    };
    uint64_t most = 0;
    for_keys([&](uint64_t key) { most = key > most ? key : most; });
    int n = find_best(m, y.k, (unsigned)(most >> 32), for_keys);
    bool mine = thread_id() < parts;
    normaliser none = { -INFINITY, 0.0f };
    normaliser of_row = block_normaliser(mine ? r.of_part[(int64_t)local * r.parts + thread_id()] : none);
    if (thread_id() == 0)
        r.found[local] = 0; /* every thread has read it before the barriers above */
    write_best(m, n, y, t, ch, of_row);
}

/*
 * best_id, best_logp of the step = the first candidates of each row
 *
 * Grid     one thread per number.
 * Memory   a few words a row.
 */
__global__ void __launch_bounds__(KEEP_THREADS)
    keep_candidates_kernel(int *__restrict__ id, float *__restrict__ logp, state_view s, step_view step,
                           candidates_view best, int kept, int64_t n)
{
    int64_t t = grid_thread() / kept, k = grid_thread() % kept, i = t / s.width;
    if (t >= n || step.request[i] < 0 || s.done[step.request[i]])
        return;
    int64_t row = (int64_t)step.request[i] * s.width + t % s.width, to = (row * s.steps + step.step[i]) * kept + k;
    id[to] = best.id[t * best.k + k];
    logp[to] = best.value[t * best.k + k];
}

static candidates_view view_of(const struct candidates *y)
{
    return { data_of<float>(y->value), data_of<int>(y->id), data_of<int>(y->state), y->k };
}

/* Sets *n to the number of rows that fit the scratch memory, of the `left` rows that remain, and returns their arrays.
 * The counters are divided between arrived and found. */
static candidate_rows rows_for(struct ctx *c, int64_t left, int64_t vocab, int64_t *n)
{
    int parts = row_parts(vocab);
    size_t per = (size_t)parts * (KEYS * sizeof(uint64_t) + sizeof(normaliser));
    int64_t room = (int64_t)(SCRATCH_BYTES / per);
    room = room < COUNTERS / 2 ? room : COUNTERS / 2;
    *n = left < room ? left : room;
    CHECK(parts <= PART_THREADS, "candidates: %lld columns", (long long)vocab);
    uint64_t *keys = (uint64_t *)cuda_scratch(c, (size_t)*n * per);
    int *counters = cuda_counters(c);
    return { keys, (normaliser *)(keys + *n * parts * KEYS), counters, counters + COUNTERS / 2, parts, 0 };
}

extern "C" void cuda_candidates(struct ctx *c, const struct candidates *y, const struct decode_state *s,
                                const struct decode_step *step, const struct tensor *logits, const struct automaton *a,
                                enum normalise normalise)
{
    int64_t rows = tensor_rows(y->value), n;
    for (int64_t first = 0; first < rows; first += n) {
        candidate_rows r = rows_for(c, rows - first, tensor_cols(logits), &n);
        r.first = first;
        LAUNCH(candidates_kernel, blocks_for(n * r.parts, 1), PART_THREADS, 0, cuda_stream(c), view_of(y), r,
               view_of(s), view_of(step), data_of<float>(logits), tensor_cols(logits), view_of(a),
               normalise == NORMALISE_FULL);
    }
}

extern "C" void cuda_keep_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                                     const struct candidates *best)
{
    int64_t n = tensor_rows(best->value), kept = tensor_cols(s->best_id) / tensor_cols(s->said);
    if (n)
        LAUNCH(keep_candidates_kernel, blocks_for(n * kept, KEEP_THREADS), KEEP_THREADS, 0, cuda_stream(c),
               data_of<int>(s->best_id), data_of<float>(s->best_logp), view_of(s), view_of(step), view_of(best),
               (int)kept, n);
}
