/*
 * adafactor.cu - Adafactor (Shazeer and Stern 2018) for all parameters at once.
 *
 * For a matrix, the second moments of g are kept as one number a row and one a column: r and c.  A step has six
 * launches, because each needs sums over whole parameters from the one before.  u = scale g / sqrt(r c / mean(r)).
 */
#include "kernels/cuda/optim.cuh"

constexpr int THREADS = UPDATE_THREADS, WARPS = THREADS / WARP, SIDE = UPDATE_SIDE;
static_assert(SIDE == 2 * WARP, "a lane has two columns of a square");

/* Numbers that all elements of a step share, and numbers that all elements of a row of the table share. */
struct adafactor_step {
    float scale, beta, lr;
};
struct adafactor_row {
    float root, rate, keep; /* root: sqrt of the mean of r, 1 for vectors; rate of u; factor of w */
};

/* Scratch memory: for each chunk its sums of g^2 by row and by column, and one number. */
struct adafactor_scratch {
    struct adafactor_step *step;
    struct adafactor_row *rows;
    float *sides; /* [chunks, 2 SIDE] */
    float *sums;  /* [chunks] */
};

/* The square of a matrix that a chunk covers, cut at the matrix's ends.  Vectors have none. */
struct square {
    int64_t row, col;
    int rows, cols;
};

__device__ inline struct square square_of(const struct update_row &r, int64_t number)
{
    int64_t across = (r.cols + SIDE - 1) / SIDE;
    if (!r.rows)
        return {};
    struct square s = { number / across * SIDE, number % across * SIDE, SIDE, SIDE };
    if (r.rows - s.row < SIDE)
        s.rows = (int)(r.rows - s.row);
    if (r.cols - s.col < SIDE)
        s.cols = (int)(r.cols - s.col);
    return s;
}

/* g^2 at a place of a square; 0 outside. */
__device__ inline float square_at(const struct update_row &r, const struct square &s, int row, int col)
{
    if (row >= s.rows || col >= s.cols)
        return 0;
    float g = r.g[(s.row + row) * r.cols + s.col + col];
    return g * g;
}

/*
 * Stores the sums of g^2 of a square by row and by column in `side`, and returns the thread's share of their total.
 *
 * A warp takes rows in turn, and a lane two columns.  The sum of a row is a reduction over lanes.  The sums of columns
 * stay in lanes, and are added over warps in shared memory.
 */
__device__ inline float sum_square(float *__restrict__ side, const struct update_row &r, const struct square &s)
{
    __shared__ float part[WARPS][SIDE];
    float low = 0, high = 0;
    for (int i = warp_id(); i < SIDE; i += WARPS) {
        float a = square_at(r, s, i, lane_id()), b = square_at(r, s, i, lane_id() + WARP), sum = warp_sum(a + b);
        if (lane_id() == 0)
            side[i] = sum;
        low += a;
        high += b;
    }
    part[warp_id()][lane_id()] = low;
    part[warp_id()][lane_id() + WARP] = high;
    __syncthreads();
    if (thread_id() < SIDE) {
        float sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += part[w][thread_id()];
        side[SIDE + thread_id()] = sum;
    }
    return low + high;
}

/*
 * sums[c] = sum of g^2 over chunk c of the table; for a matrix also the sums by row and by column
 *
 * Grid     one block per chunk.
 * Memory   reads g once, writes 2 / SIDE of it: bandwidth bound.
 * Numbers  f32 sums in an order fixed by the shapes.
 */
__global__ void __launch_bounds__(THREADS) adafactor_sum_kernel(struct adafactor_scratch a, struct update_table t)
{
    struct table_chunk c = chunk_of(t);
    const struct update_row r = t.rows[c.row];
    float sum = 0;
    if (r.rows)
        sum = sum_square(a.sides + block_id() * 2 * SIDE, r, square_of(r, c.number));
    for (int64_t i = c.number * UPDATE_CHUNK + thread_id(), n = 0; !r.rows && n < UPDATE_CHUNK && i < r.n;
         i += THREADS, n += THREADS)
        sum += r.g[i] * r.g[i];
    sum = block_sum(sum);
    if (thread_id() == 0)
        a.sums[block_id()] = sum;
}

/*
 * norm = sum of sums;  lr = the schedule at step rng[2];  rng[2] += 1;  numbers that all elements share
 *
 * Grid     one block; step count and rate live on the device, so that a captured step needs no host number.
 * Memory   reads sums once.
 * Numbers  f32 sums in an order fixed by the shapes, the rest in f64.
 */
__global__ void __launch_bounds__(THREADS)
    adafactor_prepare_kernel(float *__restrict__ norm, float *__restrict__ lr, int *__restrict__ rng,
                             struct adafactor_scratch a, struct update_table t)
{
    int step = rng[2];
    float sum = 0;
    for (int64_t i = thread_id(); i < t.chunks; i += THREADS)
        sum += a.sums[i];
    sum = block_sum(sum); /* its barriers separate the reads of the step from its update */
    if (thread_id() != 0)
        return;
    const struct adafactor &rules = t.rules->adafactor;
    *norm = sum;
    *lr = rate_at(t.rules->schedule, step);
    rng[2] = step + 1;
    *a.step = { clip_scale(rules.clip, sum), (float)(1.0 - pow((double)(step + 1), -(double)rules.decay_rate)), *lr };
}

/* A second moment after a step: the moving average of mean g^2 + eps. */
__device__ inline float moved(const struct adafactor_step &s, float eps, float state, float mean)
{
    return s.beta * state + (1.0f - s.beta) * (s.scale * s.scale * mean + eps);
}

/* Returns the sum of n numbers that are `stride` apart. */
__device__ inline float strided_sum(const float *__restrict__ x, int64_t n, int64_t stride)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i * stride];
    return sum;
}

/*
 * The states of a row of the table, and the root of the mean of a matrix's r.
 *
 * Grid     one block per row of the table.
 * Memory   reads the sums by row and column once; for a vector all of g and v.
 * Numbers  f32 sums in an order fixed by the shapes.
 */
__global__ void __launch_bounds__(THREADS) adafactor_state_kernel(struct adafactor_scratch a, struct update_table t)
{
    const struct update_row r = t.rows[block_id()];
    const struct adafactor_step s = *a.step;
    const float *sides = a.sides + (int64_t)t.first[block_id()] * 2 * SIDE;
    int64_t across = (r.cols + SIDE - 1) / SIDE, down = (r.rows + SIDE - 1) / SIDE;
    float eps = t.rules->adafactor.eps, per_row = 1.0f / (float)r.rows, per_col = 1.0f / (float)r.cols, sum = 0;
    if (r.first == r.end) /* another rank updates it */
        return;
    for (int64_t i = thread_id(); i < r.rows; i += THREADS) {
        float squares = strided_sum(sides + i / SIDE * across * 2 * SIDE + i % SIDE, across, 2 * SIDE);
        r.state[0][i] = moved(s, eps, r.state[0][i], squares * per_col);
        sum += r.state[0][i];
    }
    for (int64_t j = thread_id(); j < r.cols; j += THREADS) {
        float squares = strided_sum(sides + j / SIDE * 2 * SIDE + SIDE + j % SIDE, down, across * 2 * SIDE);
        r.state[1][j] = moved(s, eps, r.state[1][j], squares * per_row);
    }
    for (int64_t i = thread_id(); !r.rows && i < r.n; i += THREADS)
        r.state[0][i] = moved(s, eps, r.state[0][i], r.g[i] * r.g[i]);
    sum = block_sum(sum);
    if (thread_id() == 0)
        a.rows[block_id()].root = r.rows ? sqrtf(sum * per_row) : 1.0f;
}

/* Returns u of element i of a row of the table, with `scale` for the factor that all elements share. */
__device__ inline float update_of(const struct update_row &r, float scale, int64_t i)
{
    if (!r.rows)
        return scale * r.g[i] / sqrtf(r.state[0][i]);
    return scale * r.g[i] / sqrtf(r.state[0][i / r.cols]) / sqrtf(r.state[1][i % r.cols]);
}

/* Returns the k-th element of the thread in a chunk, -1 for none.  In a square the elements go row by row, those of a
 * warp side by side. */
__device__ inline int64_t element_of(const struct update_row &r, const struct square &s, const struct table_chunk &c,
                                     int k)
{
    int at = k * THREADS + thread_id();
    int64_t plain = c.number * UPDATE_CHUNK + at;
    if (!r.rows)
        return plain < r.n ? plain : -1;
    bool inside = at / SIDE < s.rows && at % SIDE < s.cols;
    return inside ? (s.row + at / SIDE) * r.cols + s.col + at % SIDE : -1;
}

/*
 * sums[c] = sum of u^2 over chunk c
 *
 * Grid     one block per chunk.
 * Memory   reads g once: bandwidth bound.
 * Numbers  f32 sums in an order fixed by the shapes.
 */
__global__ void __launch_bounds__(THREADS) adafactor_size_kernel(struct adafactor_scratch a, struct update_table t)
{
    struct table_chunk c = chunk_of(t);
    const struct update_row r = t.rows[c.row];
    const struct square s = square_of(r, c.number);
    if (r.first == r.end)
        return;
    float scale = a.step->scale * a.rows[c.row].root, sum = 0;
    for (int k = 0; k < UPDATE_CHUNK / THREADS; k++) {
        int64_t i = element_of(r, s, c, k);
        float u = i >= 0 ? update_of(r, scale, i) : 0.0f;
        sum += u * u;
    }
    sum = block_sum(sum);
    if (thread_id() == 0)
        a.sums[block_id()] = sum;
}

/*
 * The factors of w and u of each row of the table: u is divided by its root mean square if that exceeds the threshold.
 *
 * Grid     one block per row of the table.
 * Memory   reads sums once.
 * Numbers  f32 sums in an order fixed by the shapes.
 */
__global__ void __launch_bounds__(THREADS) adafactor_rate_kernel(struct adafactor_scratch a, struct update_table t)
{
    const struct update_row &r = t.rows[block_id()];
    float sum = 0;
    for (int64_t i = t.first[block_id()] + thread_id(); i < t.first[block_id() + 1]; i += THREADS)
        sum += a.sums[i];
    sum = block_sum(sum);
    if (thread_id() != 0)
        return;
    float lr = a.step->lr * r.lr_scale, excess = sqrtf(sum / (float)r.n) / t.rules->adafactor.threshold;
    a.rows[block_id()].keep = 1.0f - lr * r.decay;
    a.rows[block_id()].rate = lr / fmaxf(excess, 1.0f);
}

/*
 * w = keep w - rate u;  g = 0
 *
 * Grid     one block per chunk.
 * Memory   reads and writes w and g once, writes the bf16 copy: bandwidth bound; for other ranks' parameters writes g
 *          alone.
 * Numbers  f32; a BF16 weight is rounded from its master.
 */
__global__ void __launch_bounds__(THREADS) adafactor_kernel(struct adafactor_scratch a, struct update_table t)
{
    struct table_chunk c = chunk_of(t);
    const struct update_row r = t.rows[c.row];
    const struct adafactor_row f = a.rows[c.row];
    const struct square s = square_of(r, c.number);
    float scale = a.step->scale * f.root;
    for (int k = 0; k < UPDATE_CHUNK / THREADS; k++) {
        int64_t i = element_of(r, s, c, k);
        if (i < 0)
            continue;
        if (r.first == r.end) {
            r.g[i] = 0;
            continue;
        }
        float w = f.keep * r.w[i] - f.rate * update_of(r, scale, i);
        r.w[i] = w;
        r.g[i] = 0;
        if (r.half)
            ((bf16 *)r.half)[i] = bf16(w);
    }
}

static struct adafactor_scratch scratch_of(struct ctx *c, const struct update_table *t)
{
    size_t head = sizeof(struct adafactor_step) + (size_t)t->n * sizeof(struct adafactor_row);
    size_t numbers = (size_t)t->chunks * (2 * SIDE + 1);
    struct adafactor_scratch a;
    a.step = (struct adafactor_step *)cuda_scratch(c, head + numbers * sizeof(float));
    a.rows = (struct adafactor_row *)(a.step + 1);
    a.sides = (float *)(a.rows + t->n);
    a.sums = a.sides + (size_t)t->chunks * 2 * SIDE;
    return a;
}

extern "C" void cuda_adafactor(struct ctx *c, struct tensor *norm, struct tensor *lr, struct tensor *rng,
                               const struct update_table *t)
{
    struct adafactor_scratch a = scratch_of(c, t);
    auto stream = cuda_stream(c);
    if (t->chunks)
        LAUNCH(adafactor_sum_kernel, blocks_for(t->chunks, 1), THREADS, 0, stream, a, *t);
    LAUNCH(adafactor_prepare_kernel, 1, THREADS, 0, stream, data_of<float>(norm), data_of<float>(lr), data_of<int>(rng),
           a, *t);
    if (!t->chunks)
        return;
    LAUNCH(adafactor_state_kernel, t->n, THREADS, 0, stream, a, *t);
    LAUNCH(adafactor_size_kernel, blocks_for(t->chunks, 1), THREADS, 0, stream, a, *t);
    LAUNCH(adafactor_rate_kernel, t->n, THREADS, 0, stream, a, *t);
    LAUNCH(adafactor_kernel, blocks_for(t->chunks, 1), THREADS, 0, stream, a, *t);
}
