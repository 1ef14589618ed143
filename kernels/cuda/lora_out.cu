/*
 * lora_out.cu - the second product of low-rank adapters, y += scale low b^T, for all maps that read the same x, and its
 * backward.
 *
 * The rank is small, so both directions are bound by the bytes of y or dy.  Each kernel therefore passes over them
 * once.
 */
#include "kernels/cuda/mma_tile.cuh"

/* One adapter: its matrix b, its output y, and h, the scaled low-rank vector.  Its columns of low are those from `from`
 * on. */
template <typename T, typename U>
struct adapter_view {
    U *y;
    T *h;
    const T *b;
    int64_t rank, cols, from, first; /* first: its first block */
    float scale;
    bool add;
};

template <typename T, typename U>
struct adapters_view {
    adapter_view<T, U> adapter[LORA_STACK];
    const float *low; /* [rows, ranks] */
    int64_t rows, ranks;
    int n;
};

/* Returns the one of n parts of the grid that this block works for.  Each part has the number of its first block. */
template <typename P>
__device__ inline const P &part_of(const P *part, int n)
{
    int number = 0;
    while (number + 1 < n && block_id() >= part[number + 1].first)
        number++;
    return part[number];
}

constexpr int OUT_WARPS = 4, OUT_THREADS = OUT_WARPS * WARP, OUT_ROWS = 32, OUT_TURNS = 4;
constexpr int OUT_TILES = 8, OUT_COLS = 8 * OUT_TILES, OUT_BLOCK_COLS = OUT_WARPS * OUT_COLS; /* tiles of a warp */
constexpr int QUAD = 4; /* neighbours along the rank that a lane loads at once */

__device__ inline bool aligned8(const void *p)
{
    return ((uintptr_t)p & 7) == 0;
}

/* x[0 .. 4) as two pairs, with zeros from `left` on. */
__device__ inline void take_quad(unsigned (&v)[2], const bf16 *x, int64_t left)
{
    if (left >= QUAD && aligned8(x)) {
        uint2 both = *(const uint2 *)x;
        v[0] = both.x, v[1] = both.y;
        return;
    }
    UNROLL
    for (int i = 0; i < QUAD; i += 2)
        v[i / 2] = load_pair(x + i, (int)(left < QUAD ? left : QUAD) - i, false);
}

/* Stores the first `left` of four numbers. */
__device__ inline void put_quad(bf16 *x, const unsigned (&v)[2], int64_t left)
{
    if (left >= QUAD && aligned8(x)) {
        *(uint2 *)x = uint2{ v[0], v[1] };
        return;
    }
    UNROLL
    for (int i = 0; i < QUAD; i++)
        if (i < left)
            x[i].bits = (uint16_t)(v[i / 2] >> 16 * (i % 2));
}

/* scale low[0 .. 4) of a row, rounded to bf16, with zeros from `left` on. */
__device__ inline void scaled_quad(unsigned (&v)[2], const float *low, int64_t left, float scale)
{
    float x[QUAD];
    if (left >= QUAD && aligned16(low)) {
        float4 four = *(const float4 *)low;
        x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
    } else {
        UNROLL
        for (int i = 0; i < QUAD; i++)
            x[i] = i < left ? low[i] : 0.0f;
    }
    v[0] = bf16_pair(scale * x[0], scale * x[1]);
    v[1] = bf16_pair(scale * x[2], scale * x[3]);
}

/*
 * Loads sixteen columns of h for the warp's 32 rows as left factors.  `writes`: the warp also stores them.
 *
 * A lane takes four neighbours of the rank.  mma_bf16 wants pairs that lie 8 apart instead.  Since take_b permutes the
 * inner dimension in the same way, the sum of the products is the same.
 */
template <typename U>
__device__ inline void take_h(unsigned (&h)[2][4], const adapters_view<bf16, U> &a, const adapter_view<bf16, U> &p,
                              int64_t row0, int64_t k0, bool writes)
{
    UNROLL
    for (int i = 0; i < 4; i++) { /* rows 8 apart */
        int64_t row = row0 + 8 * i + lane_id() / 4, k = k0 + lane_id() % 4 * QUAD;
        int64_t left = row < a.rows ? p.rank - k : 0;
        unsigned v[2];
        scaled_quad(v, a.low + row * a.ranks + p.from + k, left, p.scale);
        h[i / 2][i % 2] = v[0];
        h[i / 2][i % 2 + 2] = v[1];
        if (writes)
            put_quad(p.h + row * p.rank + k, v, left);
    }
}

/* Loads sixteen columns of b for the warp's columns of y.  The columns of a lane are chosen such that its sums are PACK
 * neighbours in y. */
template <typename U>
__device__ inline void take_b(unsigned (&b)[OUT_TILES][2], const adapter_view<bf16, U> &p, int64_t col0, int64_t k0)
{
    UNROLL
    for (int t = 0; t < OUT_TILES; t++) {
        /* Tile t has the pairs of columns 2 (t % 4) of each eight, 32 columns further on for t of 4 and more. */
        int column = lane_id() / 4;
        int64_t col = col0 + t / 4 * 32 + column / 2 * 8 + t % 4 * 2 + column % 2, k = k0 + lane_id() % 4 * QUAD;
        take_quad(b[t], p.b + col * p.rank + k, col < p.cols ? p.rank - k : 0);
    }
}

using out_sums = float[2][OUT_TILES][4];

/* sum += h b^T over 16 of the rank. */
__device__ inline void add_products(out_sums &sum, const unsigned (&h)[2][4], const unsigned (&b)[OUT_TILES][2])
{
    UNROLL
    for (int t = 0; t < 2 * OUT_TILES; t++)
        mma_bf16(sum[t % 2][t / 2], h[t % 2], b[t / 2]);
}

/* Stores the warp's sums, PACK neighbours at a time. */
template <typename U>
__device__ inline void put_sums(const adapters_view<bf16, U> &a, const adapter_view<bf16, U> &p, int64_t row0,
                                int64_t col0, const out_sums &sum)
{
    UNROLL
    for (int i = 0; i < 8; i++) { /* rows 8 apart, 32 columns apart */
        int m = i / 4, half = i / 2 % 2, right = i % 2;
        int64_t row = row0 + 16 * m + lane_id() / 4 + 8 * half, col = col0 + 32 * right + lane_id() % 4 * PACK;
        float v[PACK];
        /* The four tiles of a half hold two neighbours each: together PACK neighbouring columns. */
        UNROLL
        for (int j = 0; j < PACK; j++)
            v[j] = sum[m][4 * right + j / 2][2 * half + j % 2];
        if (row < a.rows && col < p.cols)
            put_pack(p.y + row * p.cols + col, v, p.cols - col, p.add);
    }
}

/*
 * h_i = scale_i low_i;  y_i (+)= h_i b_i^T
 *
 * Grid     one block per adapter, OUT_TURNS times OUT_ROWS rows and OUT_BLOCK_COLS columns of its y.  Columns vary
 *          fastest.  A warp has a quarter of the columns.
 * Memory   writes y once, 16 bytes a lane.  Up to 16 HELD columns of b stay in registers for all rows of a block; low
 *          and more columns come from L1 and L2.  Bound by the bytes of y.
 * Numbers  h is rounded to bf16 first; products of bf16, sums in f32, 16 of k at a time.
 */
template <typename U, int HELD>
__global__ void __launch_bounds__(OUT_THREADS) lora_out_mma_kernel(GRID_CONSTANT const adapters_view<bf16, U> a)
{
    const adapter_view<bf16, U> &p = part_of(a.adapter, a.n);
    int64_t across = (p.cols + OUT_BLOCK_COLS - 1) / OUT_BLOCK_COLS, block = block_id() - p.first;
    int64_t row0 = block / across * OUT_ROWS * OUT_TURNS, col0 = block % across * OUT_BLOCK_COLS + warp_id() * OUT_COLS;
    unsigned b[HELD ? HELD : 1][OUT_TILES][2], h[2][4];
    if (col0 >= p.cols)
        return;
    /* b stays in registers while the rows pass. */
    UNROLL
    for (int k = 0; k < HELD; k++)
        take_b(b[k], p, col0, 16 * k);
    ROLLED
    for (int64_t row = row0; row < row0 + OUT_ROWS * OUT_TURNS && row < a.rows; row += OUT_ROWS) {
        out_sums sum = { { { 0 } } };
        UNROLL
        for (int k = 0; k < HELD; k++) {
            take_h(h, a, p, row, 16 * k, col0 == 0);
            add_products(sum, h, b[k]);
        }
        /* Larger ranks load b again for each 32 rows. */
        ROLLED
        for (int64_t k = 0; k < p.rank && !HELD; k += 16) {
            take_h(h, a, p, row, k, col0 == 0);
            take_b(b[0], p, col0, k);
            add_products(sum, h, b[0]);
        }
        put_sums(a, p, row, col0, sum);
    }
}

/* The same in f32: a thread per number of y.  The first thread of a row writes h. */
template <typename U>
__global__ void __launch_bounds__(OUT_THREADS) lora_out_kernel(GRID_CONSTANT const adapters_view<float, U> a)
{
    const adapter_view<float, U> &p = part_of(a.adapter, a.n);
    int64_t i = (block_id() - p.first) * OUT_THREADS + thread_id(), row = i / p.cols, col = i % p.cols;
    float sum = 0;
    if (row >= a.rows)
        return;
    for (int64_t k = 0; k < p.rank; k++) {
        float h = p.scale * a.low[row * a.ranks + p.from + k];
        sum += h * p.b[col * p.rank + k];
        if (col == 0)
            p.h[row * p.rank + k] = h;
    }
    put(p.y + i, sum, p.add);
}

constexpr int BACK_WARPS = 8, BACK_THREADS = BACK_WARPS * WARP, BACK_ROWS = 16, BACK_RANK = 16, BACK_STAGES = 3;
constexpr int BACK_COLS = 64, BACK_BLOCK_COLS = BACK_WARPS * BACK_COLS; /* of a warp, and of a block */
static_assert(BACK_THREADS == BACK_ROWS * BACK_RANK, "a thread adds up one number of dh");

/*
 * An adapter in the backward.
 *
 * Each block stores its sums in two tables, which lora_sums_kernel adds up.  dh [across, tiles, rows, BACK_RANK] has a
 * part for each tile of columns, db [parts, tiles, cols, BACK_RANK] one for each part of the rows.  nullptr: not
 * wanted.
 */
struct back_adapter {
    const bf16 *dy, *b, *h;
    float *dh, *db;
    int64_t cols, rank, across, tiles, first;
};

/* Arguments of the backward. */
struct back_view {
    back_adapter adapter[LORA_STACK];
    int64_t rows, each; /* each: rows of a part, a multiple of BACK_ROWS */
    int n;
};

/* Shared memory of a block: stages of rows of dy, in separate columns for each warp, and of h; sums of dh of this step
 * and the one before. */
struct back_shared {
    bf16 dy[BACK_STAGES][BACK_WARPS][BACK_ROWS][BACK_COLS + TILE_GAP], h[BACK_STAGES][BACK_ROWS][BACK_RANK + TILE_GAP];
    float dh[2][BACK_WARPS][BACK_ROWS][BACK_RANK];
};

/* The part of dy that a block reads. */
struct back_place {
    int64_t row, end, col, part, across, tile; /* col: the warp's first */
};

/* Tiles of the rank vary fastest, so blocks that read the same part of dy run side by side and find it in L2. */
__device__ inline back_place place_of(const back_view &v, const back_adapter &a)
{
    int64_t block = block_id() - a.first, column = block / a.tiles % a.across, part = block / a.tiles / a.across;
    int64_t end = (part + 1) * v.each < v.rows ? (part + 1) * v.each : v.rows;
    return { part * v.each, end, column * BACK_BLOCK_COLS + warp_id() * BACK_COLS, part, column, block % a.tiles };
}

/* to[0 .. 8) = from, with zeros from `left` on.  Aligned packs are copied in the background, others at once. */
__device__ inline void fetch_pack(bf16 *to, const bf16 *from, int64_t left)
{
    if ((left >= PACK || left <= 0) && aligned16(from)) {
        copy_async(to, from, left > 0 ? 16 : 0);
        return;
    }
    UNROLL
    for (int i = 0; i < PACK; i += 2)
        store_pair(to + i, load_pair(from + i, (int)(left < PACK ? left : PACK) - i, false));
}

/* Starts copying the warp's columns of BACK_ROWS rows of dy.  The first warp copies h as well. */
__device__ inline void fetch_rows(back_shared &s, const back_adapter &a, const back_place &at, int64_t row, int stage)
{
    /* Eight lanes copy the 64 columns of a row, four rows at a time. */
    UNROLL
    for (int i = 0; i < BACK_ROWS / 4; i++) {
        int r = 4 * i + lane_id() / 8, d = lane_id() % 8 * PACK;
        int64_t left = row + r < at.end ? a.cols - at.col - d : 0;
        fetch_pack(&s.dy[stage][warp_id()][r][d], left > 0 ? a.dy + (row + r) * a.cols + at.col + d : a.dy, left);
    }
    if (warp_id() == 0 && a.db) {
        int r = lane_id() / 2, d = lane_id() % 2 * PACK;
        int64_t k = at.tile * BACK_RANK + d, left = row + r < at.end ? a.rank - k : 0;
        fetch_pack(&s.h[stage][r][d], left > 0 ? a.h + (row + r) * a.rank + k : a.h, left);
    }
    copy_commit();
}

/* Loads sixteen columns of b for the warp's columns of dy, as right factors that stay in registers. */
__device__ inline void take_b_columns(unsigned (&b)[BACK_COLS / 16][2][2], const back_adapter &a, const back_place &at)
{
    UNROLL
    for (int i = 0; i < BACK_COLS / 4; i++) {
        /* Two neighbouring rows of b are one register: the columns of dy are the inner dimension. */
        int64_t col = at.col + 16 * (i / 4) + 8 * (i % 2) + lane_id() % 4 * 2;
        int64_t k = at.tile * BACK_RANK + i / 2 % 2 * 8 + lane_id() / 4, left = k < a.rank ? a.cols - col : 0;
        unsigned low = left > 0 ? a.b[col * a.rank + k].bits : 0u;
        unsigned high = left > 1 ? a.b[(col + 1) * a.rank + k].bits : 0u;
        b[i / 4][i / 2 % 2][i % 2] = low | high << 16;
    }
}

using back_sums = float[BACK_COLS / 16][2][4];

/*
 * Multiplies BACK_ROWS rows of dy: dh receives the warp's part of their sums over columns, and db accumulates over
 * rows.
 *
 * dy is the left factor of both products.  For db it is loaded transposed, so its columns become rows.
 */
__device__ inline void multiply_rows(float (&dh)[2][4], back_sums &db, const unsigned (&b)[BACK_COLS / 16][2][2],
                                     const bf16 (&dy)[BACK_ROWS][BACK_COLS + TILE_GAP],
                                     const bf16 (&h)[BACK_ROWS][BACK_RANK + TILE_GAP], bool wants_db)
{
    unsigned rows[4], both[4];
    UNROLL
    for (int k = 0; k < BACK_COLS / 16; k++) {
        load_matrices<false>(rows, &dy[lane_id() % 16][16 * k + lane_id() / 16 * 8]);
        mma_bf16(dh[0], rows, b[k][0]);
        mma_bf16(dh[1], rows, b[k][1]);
    }
    if (!wants_db)
        return;
    load_matrices<true>(both, &h[lane_id() % 16][lane_id() / 16 * 8]);
    const unsigned left[2] = { both[0], both[1] }, right[2] = { both[2], both[3] };
    UNROLL
    for (int k = 0; k < BACK_COLS / 16; k++) {
        take_left_transposed(rows, dy, 0, 16 * k);
        mma_bf16(db[k][0], rows, left);
        mma_bf16(db[k][1], rows, right);
    }
}

/* Stores the warp's part of dh in shared memory. */
__device__ inline void leave_rows(float (&to)[BACK_ROWS][BACK_RANK], const float (&dh)[2][4])
{
    UNROLL
    for (int i = 0; i < 8; i++)
        to[lane_id() / 4 + i % 4 / 2 * 8][8 * (i / 4) + lane_id() % 4 * 2 + i % 2] = dh[i / 4][i % 4];
}

/* Stores dh of the rows from `row` on: the sum over the block's warps, in order, one number a thread. */
__device__ inline void put_rows(const back_view &v, const back_adapter &a, const back_place &at, int64_t row,
                                const float (&dh)[BACK_WARPS][BACK_ROWS][BACK_RANK])
{
    int r = thread_id() / BACK_RANK, j = thread_id() % BACK_RANK;
    float sum = 0;
    UNROLL
    for (int w = 0; w < BACK_WARPS; w++)
        sum += dh[w][r][j];
    if (a.dh && row + r < at.end)
        a.dh[((at.across * a.tiles + at.tile) * v.rows + row + r) * BACK_RANK + j] = sum;
}

/* Stores db of the warp's columns. */
__device__ inline void put_columns(const back_adapter &a, const back_place &at, const back_sums &db)
{
    UNROLL
    for (int i = 0; i < BACK_COLS / 2; i++) {
        int64_t col = at.col + 16 * (i / 8) + lane_id() / 4 + i % 4 / 2 * 8;
        int j = 8 * (i / 4 % 2) + lane_id() % 4 * 2 + i % 2;
        if (a.db && col < a.cols)
            a.db[((at.part * a.tiles + at.tile) * a.cols + col) * BACK_RANK + j] = db[i / 8][i / 4 % 2][i % 4];
    }
}

/*
 * Parts of dh_i = dy_i b_i and of db_i = dy_i^T h_i.
 *
 * Grid     one block per adapter, part of the rows, BACK_BLOCK_COLS columns and BACK_RANK of the rank.  Ranks vary
 *          fastest, so that a second pass over dy finds it in L2.  A warp has an eighth of the columns.
 * Memory   reads dy once, through BACK_STAGES stages of background copies: 74 KiB of shared memory.  b and the sums of
 *          db stay in registers.  Bound by the bytes of dy.
 * Numbers  products of bf16, sums in f32 in an order fixed by the shape; lora_sums_kernel adds the parts.
 */
__global__ void __launch_bounds__(BACK_THREADS, 2) lora_out_backward_mma_kernel(GRID_CONSTANT const back_view v)
{
    DYNAMIC_SHARED(back_shared, s);
    const back_adapter &a = part_of(v.adapter, v.n);
    const back_place at = place_of(v, a);
    int64_t steps = (at.end - at.row + BACK_ROWS - 1) / BACK_ROWS;
    unsigned b[BACK_COLS / 16][2][2];
    back_sums db = { { { 0 } } };
    /* Two stages are in flight before the first product. */
    for (int i = 0; i < BACK_STAGES - 1; i++)
        fetch_rows(*s, a, at, at.row + i * BACK_ROWS, i);
    take_b_columns(b, a, at);
    ROLLED
    for (int64_t i = 0; i < steps; i++) {
        int64_t row = at.row + i * BACK_ROWS;
        int now = (int)(i % BACK_STAGES), next = (now + BACK_STAGES - 1) % BACK_STAGES;
        float dh[2][4] = { { 0 } };
        copy_wait<BACK_STAGES - 2>();
        __syncthreads(); /* all threads have the rows and the last dh, and none reads the stage before */
        /* dh of the previous step is summed here: one barrier a step serves both the copies and the sums. */
        if (i > 0)
            put_rows(v, a, at, row - BACK_ROWS, s->dh[(i - 1) % 2]);
        fetch_rows(*s, a, at, row + (BACK_STAGES - 1) * BACK_ROWS, next);
        multiply_rows(dh, db, b, s->dy[now][warp_id()], s->h[now], a.db != nullptr);
        leave_rows(s->dh[i % 2][warp_id()], dh);
    }
    __syncthreads();
    put_rows(v, a, at, at.row + (steps - 1) * BACK_ROWS, s->dh[(steps - 1) % 2]);
    put_columns(a, at, db);
}

/* Parts [n, tiles, length, BACK_RANK] of a matrix [length, rank], and the destination of their sum: either db or dh. */
struct part_sum {
    const float *part;
    float *db;
    bf16 *dh;
    int64_t n, tiles, length, rank, stride, first; /* stride: of dh's rows */
    float scale;
    bool add;
};

struct part_sums {
    part_sum sum[2 * LORA_STACK];
    int n;
};

constexpr int SUM_THREADS = 256;

/*
 * dh_i = scale_i times the sum of its parts;  db_i (+)= the sum of its parts
 *
 * Grid     one thread per QUAD numbers of a part.
 * Memory   reads all parts once, from L2 if they fit.
 * Numbers  f32 sums in the order of the parts.
 */
__global__ void __launch_bounds__(SUM_THREADS) lora_sums_kernel(GRID_CONSTANT const part_sums a)
{
    const part_sum &p = part_of(a.sum, a.n);
    int64_t i = ((block_id() - p.first) * SUM_THREADS + thread_id()) * QUAD, size = p.tiles * p.length * BACK_RANK;
    int64_t row = i / BACK_RANK % p.length, col = i / BACK_RANK / p.length * BACK_RANK + i % BACK_RANK;
    float sum[QUAD] = { 0 };
    if (i >= size)
        return;
    UNROLL_4
    for (int64_t k = 0; k < p.n; k++) {
        float4 v = *(const float4 *)(p.part + k * size + i);
        sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
    }
    UNROLL
    for (int j = 0; j < QUAD; j++) {
        if (col + j >= p.rank)
            continue;
        if (p.dh)
            p.dh[row * p.stride + col + j] = bf16(p.scale * sum[j]);
        else
            put(p.db + row * p.rank + col + j, sum[j], p.add);
    }
}

/* dh of one adapter in f32: a warp per number of it. */
__global__ void __launch_bounds__(BACK_THREADS)
    lora_out_backward_kernel(float *__restrict__ dh, int64_t stride, const float *__restrict__ dy,
                             const float *__restrict__ b, int64_t rows, int64_t cols, int64_t rank, float scale)
{
    int64_t i = grid_warp(), row = i / rank, col = i % rank;
    float sum = 0;
    if (row >= rows)
        return;
    for (int64_t k = lane_id(); k < cols; k += WARP)
        sum += dy[row * cols + k] * b[k * rank + col];
    sum = warp_sum(sum);
    if (lane_id() == 0)
        dh[row * stride + col] = scale * sum;
}

/* The number of tiles of `size` that n items need. */
static int64_t tiles(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* Fills the arguments, and chooses the kernel by type and largest rank. */
template <typename T, typename U>
static void launch_out(struct ctx *c, const struct destination *y, struct tensor *const *h, const struct tensor *low,
                       const struct lora *l, int n)
{
    constexpr bool MMA = sizeof(T) == 2;
    adapters_view<T, U> a = {};
    int64_t blocks = 0, rank = 0;
    a.low = data_of<float>(low), a.rows = tensor_rows(low), a.n = n;
    for (int i = 0; i < n; i++) {
        adapter_view<T, U> &p = a.adapter[i];
        p.y = data_of<U>(y[i].t), p.h = data_of<T>(h[i]), p.add = y[i].add;
        p.b = data_of<T>(l[i].b), p.cols = l[i].b->shape[0], p.rank = tensor_cols(l[i].b), p.scale = l[i].scale;
        p.from = a.ranks, p.first = blocks;
        a.ranks += p.rank;
        rank = p.rank > rank ? p.rank : rank;
        blocks += MMA ? tiles(a.rows, OUT_ROWS * OUT_TURNS) * tiles(p.cols, OUT_BLOCK_COLS)
                      : tiles(a.rows * p.cols, OUT_THREADS);
    }
    if (!blocks)
        return;
    if constexpr (!MMA)
        LAUNCH(lora_out_kernel<U>, blocks_for(blocks, 1), OUT_THREADS, 0, cuda_stream(c), a);
    else if (rank <= 16)
        LAUNCH((lora_out_mma_kernel<U, 1>), blocks_for(blocks, 1), OUT_THREADS, 0, cuda_stream(c), a);
    else if (rank <= 32)
        LAUNCH((lora_out_mma_kernel<U, 2>), blocks_for(blocks, 1), OUT_THREADS, 0, cuda_stream(c), a);
    else
        LAUNCH((lora_out_mma_kernel<U, 0>), blocks_for(blocks, 1), OUT_THREADS, 0, cuda_stream(c), a);
}

/* Floats of scratch memory that the backward needs for each row of dy, and for each part of the rows. */
struct back_floats {
    int64_t row, part;
};

/* Parts have fewer rows if the blocks would not fill the device.  More parts mean more sums of db. */
constexpr int64_t ROWS_EACH = 512, BLOCKS_MANY = 1024, BACK_FLOATS = SCRATCH_BYTES / sizeof(float);

static int64_t rows_each(int64_t rows, int64_t blocks_a_part)
{
    return tiles(rows, ROWS_EACH) * blocks_a_part < BLOCKS_MANY ? ROWS_EACH / 2 : ROWS_EACH;
}

/* Launches the sums of all parts.  Later calls for the same gradients (row > 0) add to db. */
static void sum_parts(struct ctx *c, const back_view &v, struct tensor *dh, int64_t row, const struct destination *db,
                      const struct lora *l)
{
    part_sums sums = {};
    int64_t blocks = 0, stride = dh ? tensor_cols(dh) : 0, from = 0, parts = tiles(v.rows, v.each);
    for (int i = 0; i < v.n; from += v.adapter[i++].rank) {
        const back_adapter &a = v.adapter[i];
        part_sum p = {};
        p.tiles = a.tiles, p.rank = a.rank, p.first = blocks;
        /* The sums over tiles of columns, scaled, go to dh. */
        if (dh) {
            p.part = a.dh, p.dh = data_of<bf16>(dh) + row * stride + from, p.n = a.across, p.length = v.rows;
            p.stride = stride, p.scale = l[i].scale;
            sums.sum[sums.n++] = p;
            blocks += tiles(p.tiles * p.length * BACK_RANK, SUM_THREADS * QUAD);
        }
        /* The sums over parts of the rows go to db. */
        if (a.db) {
            p.part = a.db, p.dh = nullptr, p.db = data_of<float>(db[i].t), p.n = parts, p.length = a.cols;
            p.add = db[i].add || row > 0, p.first = blocks;
            sums.sum[sums.n++] = p;
            blocks += tiles(p.tiles * p.length * BACK_RANK, SUM_THREADS * QUAD);
        }
    }
    LAUNCH(lora_sums_kernel, blocks_for(blocks, 1), SUM_THREADS, 0, cuda_stream(c), sums);
}

/* The backward of v.rows rows from `row` on, whose parts fit the scratch memory. */
static void back_rows(struct ctx *c, back_view v, struct tensor *dh, int64_t row, const struct destination *db,
                      const struct lora *l, struct back_floats size)
{
    float *at = (float *)cuda_scratch(c, (size_t)(v.rows * size.row + tiles(v.rows, v.each) * size.part) * sizeof *at);
    int64_t blocks = 0;
    for (int i = 0; i < v.n; i++) {
        back_adapter &a = v.adapter[i];
        int64_t dh_floats = dh ? a.across * a.tiles * v.rows * BACK_RANK : 0;
        a.dh = dh ? at : nullptr, a.db = db[i].t ? at + dh_floats : nullptr, a.first = blocks;
        a.dy += row * a.cols, a.h += row * a.rank;
        at += dh_floats + (db[i].t ? tiles(v.rows, v.each) * a.tiles * a.cols * BACK_RANK : 0);
        blocks += tiles(v.rows, v.each) * a.across * a.tiles;
    }
    LAUNCH_WIDE(lora_out_backward_mma_kernel, blocks_for(blocks, 1), BACK_THREADS, sizeof(back_shared), cuda_stream(c),
                v);
    sum_parts(c, v, dh, row, db, l);
}

/* Returns the number of rows whose parts fit the scratch memory, a multiple of the rows of a part; 0 if no
 * part fits. */
static int64_t rows_that_fit(const back_view &v, struct back_floats size)
{
    return BACK_FLOATS / (v.each * size.row + size.part) * v.each;
}

static back_view back_view_of(struct tensor *const *dy, struct tensor *const *h, const struct lora *l, int n)
{
    back_view v = {};
    int64_t blocks = 0;
    v.n = n;
    for (int i = 0; i < n; i++) {
        back_adapter &a = v.adapter[i];
        a.dy = data_of<bf16>(dy[i]), a.b = data_of<bf16>(l[i].b), a.h = data_of<bf16>(h[i]);
        a.cols = l[i].b->shape[0], a.rank = tensor_cols(l[i].b);
        a.across = tiles(a.cols, BACK_BLOCK_COLS), a.tiles = tiles(a.rank, BACK_RANK);
        blocks += a.across * a.tiles;
    }
    v.each = rows_each(tensor_rows(dy[0]), blocks);
    return v;
}

static struct back_floats floats_of(const back_view &v, bool dh, const struct destination *db)
{
    struct back_floats size = { 0, 0 };
    for (int i = 0; i < v.n; i++) {
        const back_adapter &a = v.adapter[i];
        size.row += dh ? a.across * a.tiles * BACK_RANK : 0;
        size.part += db[i].t ? a.tiles * a.cols * BACK_RANK : 0;
    }
    return size;
}

/* The backward in bf16, as many rows at a time as the scratch memory holds.  Returns false, with nothing done, if not
 * even one part fits. */
static bool back_narrow(struct ctx *c, struct tensor *dh, const struct destination *db, struct tensor *const *dy,
                        struct tensor *const *h, const struct lora *l, int n)
{
    back_view v = back_view_of(dy, h, l, n);
    struct back_floats size = floats_of(v, dh != nullptr, db);
    int64_t rows = tensor_rows(dy[0]), most = size.row + size.part ? rows_that_fit(v, size) : rows;
    if (!most)
        return false;
    for (int64_t row = 0; row < rows && size.row + size.part; row += most) {
        v.rows = rows - row < most ? rows - row : most;
        back_rows(c, v, dh, row, db, l, size);
    }
    return true;
}

/* The backward if db does not fit the scratch memory: matrix products compute db, and the kernel computes dh alone. */
static void back_apart(struct ctx *c, struct tensor *dh, const struct destination *db, struct tensor *const *dy,
                       struct tensor *const *h, const struct lora *l, int n)
{
    const struct destination none[LORA_STACK] = {};
    for (int i = 0; i < n; i++)
        cuda_matmul(c, db[i], dy[i], true, h[i], false);
    CHECK(!dh || back_narrow(c, dh, none, dy, h, l, n), "the scratch holds no row of an adapter");
}

/* The backward in f32. */
static void back_wide(struct ctx *c, struct tensor *dh, const struct destination *db, struct tensor *const *dy,
                      struct tensor *const *h, const struct lora *l, int n)
{
    for (int64_t i = 0, from = 0; i < n; from += tensor_cols(l[i++].b)) {
        int64_t rows = tensor_rows(dy[i]), rank = tensor_cols(l[i].b);
        if (dh)
            LAUNCH(lora_out_backward_kernel, blocks_for(rows * rank, BACK_WARPS), BACK_THREADS, 0, cuda_stream(c),
                   data_of<float>(dh) + from, tensor_cols(dh), data_of<float>(dy[i]), data_of<float>(l[i].b), rows,
                   tensor_cols(dy[i]), rank, l[i].scale);
        cuda_matmul(c, db[i], dy[i], true, h[i], false);
    }
}

extern "C" void cuda_lora_out(struct ctx *c, const struct destination *y, struct tensor *const *h,
                              const struct tensor *low, const struct lora *l, int n)
{
    DTYPE_SWITCH_2(h[0]->dtype, y[0].t->dtype, launch_out<T, U>(c, y, h, low, l, n));
}

extern "C" void cuda_lora_out_backward(struct ctx *c, struct tensor *dh, const struct destination *db,
                                       struct tensor *const *dy, struct tensor *const *h, const struct lora *l, int n)
{
    if (tensor_rows(dy[0]) == 0) {
        for (int i = 0; i < n; i++)
            if (db[i].t && !db[i].add)
                cuda_fill(c, db[i].t, 0);
        return;
    }
    if (dy[0]->dtype == F32)
        back_wide(c, dh, db, dy, h, l, n);
    else if (!back_narrow(c, dh, db, dy, h, l, n))
        back_apart(c, dh, db, dy, h, l, n);
}
