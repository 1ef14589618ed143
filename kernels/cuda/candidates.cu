#include "kernels/cuda/decode.cuh"

/* A block's threads, which are also the most keys that it sorts, for short rows and for others. */
constexpr int FEW = 256, MANY = 1024, SHORT_ROW = 4096, KEEP_THREADS = 256;
static_assert(FEW >= CANDIDATES_MAX, "a thread's best each are enough for a bound");

/* Ascends as numbers do, 0 and -0 being one; 0 for what is never chosen. */
__device__ inline unsigned ordered(float x)
{
    unsigned bits = f32_word(x == 0 ? 0.0f : x);
    return !(x > -INFINITY) ? 0u : bits >> 31 ? ~bits : bits | 0x80000000u;
}

/* Of a choice: no two are equal, and of equal logits the lower number is larger.  0: not to be chosen. */
__device__ inline uint64_t choice_key(float logit, int64_t at)
{
    unsigned high = ordered(logit);
    return high ? (uint64_t)high << 32 | ~(unsigned)at : 0u;
}

__device__ inline int64_t key_choice(uint64_t key)
{
    return (int64_t) ~(unsigned)key;
}

/* Sorts THREADS keys, the largest first (Batcher's bitonic network, a key a thread). */
template <int THREADS>
__device__ inline void sort_keys(uint64_t *keys)
{
    int at = thread_id();
    __syncthreads();
    for (int size = 2; size <= THREADS; size *= 2)
        for (int stride = size / 2; stride; stride /= 2) {
            int other = at ^ stride;
            if (other > at && (keys[at] < keys[other]) == ((at & size) == 0)) {
                uint64_t key = keys[at];
                keys[at] = keys[other];
                keys[other] = key;
            }
            __syncthreads();
        }
}

/* Calls each(key) for this thread's choices. */
template <int THREADS, typename Each>
__device__ inline void for_keys(const choice_view &ch, Each each)
{
    if (ch.token) {
        for (int64_t i = thread_id(); i < ch.n; i += THREADS)
            each(choice_key(choice_logit(ch, i), i));
        return;
    }
    for (int64_t j = thread_id() * PACK; j < ch.n; j += THREADS * PACK) {
        float v[PACK];
        load_pack(v, ch.x + j, ch.n - j);
        UNROLL
        for (int k = 0; k < PACK; k++)
            if (j + k < ch.n)
                each(choice_key(v[k], j + k));
    }
}

/* Puts the keys from `least` on, as far as there is room, and zeros behind them; how many they are. */
template <int THREADS>
__device__ inline int gather_keys(uint64_t *keys, int *count, const choice_view &ch, uint64_t least)
{
    __syncthreads(); /* keys and count may still be read */
    keys[thread_id()] = 0;
    if (thread_id() == 0)
        *count = 0;
    __syncthreads();
    for_keys<THREADS>(ch, [=](uint64_t key) {
        if (key < least)
            return;
        int at = atomicAdd(count, 1);
        if (at < THREADS)
            keys[at] = key;
    });
    __syncthreads();
    return *count;
}

/*
 * The k largest keys first, zeros behind them.  The k-th largest of what each thread has as its largest is no more than
 * the k-th of all, and hardly less where numbers are in no order; where too many reach it, as where many are equal, the
 * bound is looked for by halves.
 */
template <int THREADS>
__device__ inline void find_best(uint64_t *keys, int *count, const choice_view &ch, float most, int k)
{
    uint64_t low = 1, high = ~(uint64_t)0;
    if (ch.n > THREADS) {
        keys[thread_id()] = (uint64_t)ordered(most) << 32 | (unsigned)thread_id();
        sort_keys<THREADS>(keys);
        uint64_t bound = keys[k - 1] >> 32 << 32;
        low = bound ? bound : 1;
    }
    uint64_t least = low;
    for (int n = gather_keys<THREADS>(keys, count, ch, least); n > THREADS || (n < k && least > low);
         n = gather_keys<THREADS>(keys, count, ch, least)) {
        if (n > THREADS)
            low = least;
        else
            high = least;
        least = low + (high - low) / 2;
    }
    sort_keys<THREADS>(keys);
}

struct candidates_view {
    float *value;
    int *id, *state;
    int k;
};

/*
 * The k best choices of each row, see op_candidates.
 *
 * Grid     one block per row: rows are as long as a vocabulary.
 * Memory   reads a row once for the normaliser and, where it is free, once or twice more (L2); of an automaton's row
 *          only the edges.
 * Numbers  each thread rescales its f32 sum to the largest element so far; partial sums in a fixed order.
 */
template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    candidates_kernel(candidates_view y, state_view s, step_view step, const float *__restrict__ logits, int64_t vocab,
                      automaton_view a, bool full)
{
    __shared__ uint64_t keys[THREADS];
    __shared__ int count;
    int64_t t = block_id(), of = step.request[t / s.width], row = of * s.width + t % s.width,
            to = t * y.k + thread_id();
    if (of < 0 || s.done[of] || s.score[row] == -INFINITY) {
        if (thread_id() < y.k) {
            y.value[to] = -INFINITY;
            y.id[to] = -1;
            y.state[to] = STATE_FREE;
        }
        return;
    }
    choice_view ch = choices_of(a, s.state[row], logits + logit_row(s, step, t) * vocab, vocab);
    choice_view of_sum = { ch.x, full ? nullptr : ch.token, full ? nullptr : ch.next, full ? vocab : ch.n };
    normaliser mine = thread_normaliser(of_sum), of_row = block_normaliser(mine);
    if (full && ch.token && ch.n > THREADS)
        mine = thread_normaliser(ch);
    find_best<THREADS>(keys, &count, ch, mine.most, y.k);
    if (thread_id() < y.k) {
        uint64_t key = keys[thread_id()];
        int64_t at = key_choice(key);
        y.value[to] = key ? choice_logp(choice_logit(ch, at), of_row) : -INFINITY;
        y.id[to] = key ? choice_id(ch, at) : -1;
        y.state[to] = key ? choice_state(ch, at) : STATE_FREE;
    }
}

/*
 * best_id, best_logp of the step = the first of each row's candidates
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

template <int THREADS>
static void launch_candidates(struct ctx *c, const struct candidates *y, const struct decode_state *s,
                              const struct decode_step *step, const struct tensor *logits, const struct automaton *a,
                              bool full)
{
    LAUNCH(candidates_kernel<THREADS>, blocks_for(tensor_rows(y->value), 1), THREADS, 0, cuda_stream(c), view_of(y),
           view_of(s), view_of(step), data_of<float>(logits), tensor_cols(logits), view_of(a), full);
}

extern "C" void cuda_candidates(struct ctx *c, const struct candidates *y, const struct decode_state *s,
                                const struct decode_step *step, const struct tensor *logits, const struct automaton *a,
                                enum normalise normalise)
{
    bool full = normalise == NORMALISE_FULL;
    if (tensor_rows(y->value) && tensor_cols(logits) <= SHORT_ROW)
        launch_candidates<FEW>(c, y, s, step, logits, a, full);
    else if (tensor_rows(y->value))
        launch_candidates<MANY>(c, y, s, step, logits, a, full);
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
