/*
 * linear_group_tiles.cu - groups of products in bf16 for many rows, with the bits of linear_group_few.cu.
 *
 * A block makes TILE_COLS columns of 16 N rows.  Four of its warps add one chain of k, the other four the other chain.
 * Of four warps each has WIDE columns and 8 N rows.  Stages of k, one strip of each chain, pass through STAGES places
 * of shared memory.
 *
 * A line of w in shared memory is a row of mma's left operand.  The order of the columns among the lines is chosen such
 * that a thread ends with PACK neighbouring columns, or with half as many of each of two products.  It then stores them
 * in one instruction, without an exchange through shared memory.
 */
#include "kernels/cuda/linear_group.cuh"

constexpr int THREADS = 256, M = 4, WIDE = 16 * M, TILE_COLS = 2 * WIDE;
constexpr int STAGES = 4, STAGE = CHAINS * STRIP, STEPS = STRIP / 16;
constexpr int PIECES = STAGE / PACK,
              LINES = THREADS / PIECES; /* of a line; lines that the block's threads copy at once */
static_assert(STEPS == 2 && CHAINS == 2 && 2 * M == PACK && 2 * LINES == WIDE, "warps fill the tile");

/* A stage of k.  Lines have 128 bytes, and piece i lies at i ^ line % 8: the same piece of eight lines is in different
 * banks. */
template <int N>
struct alignas(16) tile_stage {
    bf16 w[TILE_COLS][STAGE], x[16 * N][STAGE];
};

/* Sums that a thread passes to the thread at the same place of the other chain, and the totals of put_each. */
template <int N>
struct tile_exchange {
    float4 at[M * N / 2][THREADS];
    float total[2 * M * N][THREADS];
};

/* The exchange begins when all stages have been used. */
template <int N>
union tile_memory {
    tile_stage<N> stage[STAGES];
    tile_exchange<N> exchange;
};

/* Sources of a thread's pieces: the lines thread / PIECES, LINES further on, and so forth. */
template <int N>
struct tile_lines {
    const bf16 *w[2], *x; /* its piece of the block's first column, for every other line of w, and first row */
    unsigned w_at[TILE_COLS / LINES], x_at[16 * N / LINES]; /* elements from there to each line */
    int left;                                               /* numbers from there to the end of k */
};

/* Returns the distance of a line from the first.  Lines behind the last one read the last one again, and their results
 * are not stored. */
__device__ inline unsigned line_at(int line, int64_t lines, int64_t k)
{
    return (unsigned)((line < lines ? line : lines - 1) * k);
}

/* Returns the column of a line of w, relative to the block's first column.  With two products, the second has the upper
 * half of each WIDE lines. */
__device__ inline int column_of(int line, int each)
{
    int half = each - 1, mine = PACK >> half; /* columns of a product that a thread has */
    return line / WIDE * (WIDE >> half) + line % 8 * mine + (line % WIDE / 8 & (mine - 1));
}

/* The sources of this thread's pieces of w and x. */
template <int N>
__device__ inline tile_lines<N> lines_of(const group_view<bf16> &a, const product_view<bf16> &p, int64_t row0,
                                         int64_t col0)
{
    tile_lines<N> at;
    int piece = thread_id() % PIECES * PACK, line = thread_id() / PIECES;
    at.w[0] = p.w + col0 * p.k + piece;
    at.w[1] = (&p)[a.each - 1].w + col0 * p.k + piece;
    at.x = p.x + row0 * p.k + piece;
    UNROLL
    for (int i = 0; i < TILE_COLS / LINES; i++)
        at.w_at[i] = line_at(column_of(line + i * LINES, a.each), p.cols - col0, p.k);
    UNROLL
    for (int i = 0; i < 16 * N / LINES; i++)
        at.x_at[i] = line_at(line + i * LINES, a.rows - row0, p.k);
    at.left = (int)p.k - piece;
    return at;
}

/* Starts copying the next stage. */
template <int N>
__device__ inline void fetch_stage(tile_stage<N> &to, tile_lines<N> &at)
{
    /* LINES is a multiple of 8, so all lines of a thread have the same swizzle. */
    int line = thread_id() / PIECES, piece = (thread_id() % PIECES ^ line % PIECES) * PACK;
    int bytes = at.left > 0 ? 16 : 0;
    UNROLL
    for (int i = 0; i < TILE_COLS / LINES; i++)
        copy_async(&to.w[line + i * LINES][piece], at.w[i % 2] + at.w_at[i], bytes);
    UNROLL
    for (int i = 0; i < 16 * N / LINES; i++)
        copy_async(&to.x[line + i * LINES][piece], at.x + at.x_at[i], bytes);
    at.w[0] += STAGE;
    at.w[1] += STAGE;
    at.x += STAGE;
    at.left -= STAGE;
}

/* The chain that a warp adds, and its first column and row of the tile. */
struct tile_warp {
    int chain, col, row;
};

template <int N>
__device__ inline tile_warp warp_place()
{
    return { warp_id() / 4, warp_id() / 2 % 2 * WIDE, warp_id() % 2 * (8 * N) };
}

/* Returns the row of the warp's i-th tile of eight rows, relative to its first.  A warp begins with the half of its
 * rows that it stores in the end, which is the upper half in the second chain. */
template <int N>
__device__ inline int row_of(int i, int chain)
{
    return i < N / 2 ? 8 * i + chain * (4 * N) : 8 * i - chain * (4 * N);
}

/* The same for the n-th pair of tiles.  If N / 2 is odd, one pair has a tile of each half. */
template <int N>
__device__ inline int pair_row(int n, int second, int chain)
{
    bool apart = 2 * n + 1 == N / 2;
    return apart ? row_of<N>(2 * n + second, chain) : row_of<N>(2 * n, chain) + 8 * second;
}

/*
 * Factors in registers: left factors of this step of 16 numbers and of the next, right factors of this pair of tiles
 * and of the next.
 *
 * Factors are loaded one step ahead, so ldmatrix runs while the tensor cores work on the step before.
 */
struct tile_factors {
    unsigned w[2][M][4], x[2][4];
};

/* Loads the m-th left factor of a step of the warp's strip. */
template <int N>
__device__ inline void load_w(unsigned (&w)[4], const tile_stage<N> &s, const tile_warp &warp, int step, int m)
{
    int lane = lane_id(), piece = warp.chain * (STRIP / PACK) + 2 * step + lane / 16;
    load_matrices<false>(w, &s.w[warp.col + 16 * m + lane % 16][(piece ^ lane % 8) * PACK]);
}

/* Loads the right factors of the n-th pair of tiles. */
template <int N>
__device__ inline void load_x(unsigned (&x)[4], const tile_stage<N> &s, const tile_warp &warp, int step, int n)
{
    int lane = lane_id(), piece = warp.chain * (STRIP / PACK) + 2 * step + lane / 8 % 2;
    int row = warp.row + pair_row<N>(n, lane / 16, warp.chain) + lane % 8;
    load_matrices<false>(x, &s.x[row][(piece ^ lane % 8) * PACK]);
}

/*
 * sum += one step of the warp's strip in stage `now`.
 *
 * Its first factors are in registers already.  The loads of the next step, from stage `next`, are spread between the
 * products, so that neither unit waits.
 */
template <int N, int STEP>
__device__ inline void multiply_step(float (&sum)[M][N][4], tile_factors &f, const tile_stage<N> &now,
                                     const tile_stage<N> &next, const tile_warp &warp)
{
    constexpr int PAIRS = N / 2, BEHIND = (STEP + 1) % STEPS;
    UNROLL
    for (int n = 0; n < PAIRS; n++) {
        UNROLL
        for (int m = 0; m < M; m++)
            if (m * PAIRS / M == n)
                load_w(f.w[BEHIND][m], next, warp, BEHIND, m);
        unsigned(&ahead)[4] = f.x[(STEP * PAIRS + n + 1) % 2], (&x)[4] = f.x[(STEP * PAIRS + n) % 2];
        if (n + 1 < PAIRS)
            load_x(ahead, now, warp, STEP, n + 1);
        else
            load_x(ahead, next, warp, BEHIND, 0);
        /* Neighbouring products write different sums, so none waits for the result of the one before. */
        UNROLL
        for (int i = 0; i < 2 * M; i++) {
            const unsigned right[2] = { x[i / M * 2], x[i / M * 2 + 1] };
            mma_bf16(sum[i % M][2 * n + i / M], f.w[STEP][i % M], right);
        }
    }
}

/* Adds the warp's chain.  STAGES - 1 stages are in flight at the start, and each round starts one more.  Its copy
 * overwrites the stage before, so it follows the barrier behind the last read. */
template <int N>
__device__ inline void add_chain(float (&sum)[M][N][4], tile_memory<N> &memory, tile_lines<N> at, int k,
                                 const tile_warp &warp)
{
    tile_factors f;
    UNROLL
    for (int i = 0; i < STAGES - 1; i++) {
        fetch_stage(memory.stage[i], at);
        copy_commit();
    }
    copy_wait<STAGES - 2>();
    __syncthreads(); /* all threads have the first stage */
    UNROLL
    for (int m = 0; m < M; m++)
        load_w(f.w[0][m], memory.stage[0], warp, 0, m);
    load_x(f.x[0], memory.stage[0], warp, 0, 0);
    /* The barrier stands between the two steps of a stage.  By then every warp has finished the stage before, whose
     * place the next copy takes.  The second step already loads factors of the next stage. */
    ROLLED
    for (int k0 = 0, i = 0; k0 < k; k0 += STAGE, i = (i + 1) % STAGES) {
        const tile_stage<N> &now = memory.stage[i];
        multiply_step<N, 0>(sum, f, now, now, warp);
        copy_wait<STAGES - 3>();
        __syncthreads(); /* all threads have the next stage, and none reads the one before */
        fetch_stage(memory.stage[(i + STAGES - 1) % STAGES], at);
        copy_commit();
        multiply_step<N, 1>(sum, f, now, memory.stage[(i + 1) % STAGES], warp);
    }
    copy_wait<0>(); /* copies behind the end of k, before their memory is used for the exchange */
    __syncthreads();
}

/* Adds the other chain to the first half of the thread's sums.  The other chain's thread stores the second half.  The
 * sum of the two chains is commutative, so both halves have the bits of few_rows_kernel. */
template <int N>
__device__ inline void add_other_chain(float (&sum)[M][N][4], tile_exchange<N> &exchange)
{
    UNROLL
    for (int i = 0; i < M * N / 2; i++) {
        const float(&give)[4] = sum[i % M][i / M + N / 2];
        exchange.at[i][thread_id()] = float4{ give[0], give[1], give[2], give[3] };
    }
    __syncthreads();
    UNROLL
    for (int i = 0; i < M * N / 2; i++) {
        float4 other = exchange.at[i][thread_id() ^ THREADS / 2];
        float(&mine)[4] = sum[i % M][i / M];
        mine[0] += other.x, mine[1] += other.y, mine[2] += other.z, mine[3] += other.w;
    }
}

/* N words of 32 bits, which one instruction moves. */
template <int N>
struct alignas(4 * N) words {
    unsigned at[N];
};

/* v = COUNT neighbouring numbers at an aligned address. */
template <int COUNT>
__device__ inline void load_numbers(float *v, const float *from)
{
    UNROLL
    for (int i = 0; i < COUNT; i += 4) {
        words<4> four = *(const words<4> *)(from + i);
        UNROLL
        for (int j = 0; j < 4; j++)
            v[i + j] = f32_bits(four.at[j]);
    }
}

template <int COUNT>
__device__ inline void load_numbers(float *v, const bf16 *from)
{
    words<COUNT / 2> all = *(const words<COUNT / 2> *)from;
    UNROLL
    for (int i = 0; i < COUNT; i += 2) {
        v[i] = f32_bits(all.at[i / 2] << 16);
        v[i + 1] = f32_bits(all.at[i / 2] & 0xffff0000u);
    }
}

template <int COUNT>
__device__ inline void store_numbers(float *y, const float *v)
{
    UNROLL
    for (int i = 0; i < COUNT; i += 4)
        *(words<4> *)(y + i) = { { f32_word(v[i]), f32_word(v[i + 1]), f32_word(v[i + 2]), f32_word(v[i + 3]) } };
}

template <int COUNT>
__device__ inline void store_numbers(bf16 *y, const float *v)
{
    words<COUNT / 2> all;
    UNROLL
    for (int i = 0; i < COUNT; i += 2)
        all.at[i / 2] = bf16_pair(v[i], v[i + 1]);
    *(words<COUNT / 2> *)y = all;
}

/* A thread's first row and column, and the number of rows from there on. */
struct tile_place {
    int64_t row, col;
    int rows;
};

template <int N>
__device__ inline tile_place place_of(const group_view<bf16> &a, const tile_warp &warp, int64_t row0, int64_t col0)
{
    int half = a.each - 1, row = warp.row + row_of<N>(0, warp.chain) + lane_id() % 4 * 2;
    return { row0 + row, col0 + (warp.col >> half) + lane_id() / 4 * (PACK >> half), (int)(a.rows - row0) - row };
}

/* The thread's i-th row, relative to its first, and the j-th of its sums there.  The rows of a thread are those of d in
 * mma_bf16, with rows and columns swapped. */
__device__ inline int tile_row(int i)
{
    return i / 2 * 8 + i % 2;
}

template <int N>
__device__ inline float tile_sum(const float (&sum)[M][N][4], int i, int j)
{
    return sum[j / 2][i / 2][j % 2 * 2 + i % 2];
}

/* The norm's factors of the thread's rows; 1 without a norm. */
template <int N>
__device__ inline void load_factors(float (&rstd)[N], const float *from, int rows)
{
    UNROLL
    for (int i = 0; i < N; i++)
        rstd[i] = 1;
    if (!from)
        return;
    UNROLL
    for (int i = 0; i < N; i++)
        if (tile_row(i) < rows)
            rstd[i] = from[tile_row(i)];
}

/* Stores the thread's numbers of one product, PACK neighbours at a time.  MORE: there are addends or adapters, or y is
 * added to. */
template <int N, typename U, bool MORE>
__device__ inline void put_packs(const group_view<bf16> &a, const product_view<bf16> &p, const float (&sum)[M][N][4],
                                 const tile_place &first)
{
    float bias[PACK] = { 0 }, rstd[N], before[N][PACK], scale = p.scale;
    int64_t cols = p.cols, at = first.row * cols + first.col;
    U *y = (U *)p.y + at;
    load_factors(rstd, a.rstd ? a.rstd + first.row : nullptr, first.rows);
    if (p.bias)
        load_numbers<PACK>(bias, p.bias + first.col);
    /* All loads of y start before the first store, so that they overlap. */
    UNROLL
    for (int i = 0; i < N && MORE; i++)
        if (p.add && tile_row(i) < first.rows)
            load_numbers<PACK>(before[i], y + tile_row(i) * cols);
    UNROLL
    for (int i = 0; i < N; i++) {
        bool mine = tile_row(i) < first.rows && (!MORE || has_row(a, p, first.row + tile_row(i)));
        /* Addends come after the bias, and old numbers of y last, in the order of put_number. */
        float v[PACK], more[PACK], factor = scale * rstd[i];
        for (int j = 0; j < PACK; j++)
            v[j] = fmaf(tile_sum(sum, i, j), factor, bias[j]);
        if (MORE && p.addend && mine) {
            load_numbers<PACK>(more, p.addend + at + tile_row(i) * cols);
            for (int j = 0; j < PACK; j++)
                v[j] += more[j];
        }
        for (int j = 0; j < PACK && MORE && p.add; j++)
            v[j] += before[i][j];
        if (mine)
            store_numbers<PACK>(y + tile_row(i) * cols, v);
    }
}

/* The same for a gated pair of products; a thread has half as many columns of it. */
template <int N>
__device__ inline void put_gated(const group_view<bf16> &a, const product_view<bf16> &p, const float (&sum)[M][N][4],
                                 const tile_place &first)
{
    constexpr int COUNT = PACK / 2;
    const product_view<bf16> &last = (&p)[1];
    float bias[PACK] = { 0 }, rstd[N], scale[2] = { p.scale, last.scale };
    int64_t cols = p.cols;
    bf16 *y = (bf16 *)p.y + first.row * cols + first.col;
    load_factors(rstd, a.rstd ? a.rstd + first.row : nullptr, first.rows);
    if (p.bias)
        load_numbers<COUNT>(bias, p.bias + first.col);
    if (last.bias)
        load_numbers<COUNT>(bias + COUNT, last.bias + first.col);
    UNROLL
    for (int i = 0; i < N; i++) {
        float v[COUNT];
        for (int j = 0; j < COUNT; j++)
            v[j] = gated(a, fmaf(tile_sum(sum, i, j), scale[0] * rstd[i], bias[j]),
                         fmaf(tile_sum(sum, i, j + COUNT), scale[1] * rstd[i], bias[j + COUNT]));
        if (tile_row(i) < first.rows)
            store_numbers<COUNT>(y + tile_row(i) * cols, v);
    }
}

/* The same number by number, for rows that are not whole packs and for rare combinations.  The totals go through shared
 * memory, because registers cannot be indexed in a rolled loop. */
template <int N>
__device__ inline void put_each(const group_view<bf16> &a, const product_view<bf16> &p, const float (&sum)[M][N][4],
                                tile_exchange<N> &exchange, const tile_place &first)
{
    int count = PACK >> (a.each - 1);
    UNROLL
    for (int i = 0; i < N * PACK; i++)
        exchange.total[i][thread_id()] = tile_sum(sum, i / PACK, i % PACK);
    ROLLED
    for (int i = 0; i < N * count; i++) {
        int r = i / count, j = i % count;
        int64_t row = first.row + tile_row(r), col = first.col + j;
        if (!has_row(a, p, row) || col >= p.cols)
            continue;
        float rstd = a.rstd ? a.rstd[row] : 1.0f, *total = &exchange.total[r * PACK + j][thread_id()];
        float v = finished(p, *total, rstd, row, col);
        if (a.each == 2)
            v = gated(a, v, finished((&p)[1], total[count * THREADS], rstd, row, col));
        put_number(p, row, col, v);
    }
}

/* Chooses the way in which the tile is stored. */
template <int N>
__device__ inline void put_tile(const group_view<bf16> &a, const product_view<bf16> &p, const float (&sum)[M][N][4],
                                tile_exchange<N> &exchange, const tile_place &first)
{
    const product_view<bf16> &last = (&p)[a.each - 1];
    bool whole = p.whole && last.whole, more = p.add || p.addend || last.addend || a.adapter_of;
    if (!whole || (a.each == 2 && (p.wide || more)))
        put_each(a, p, sum, exchange, first);
    else if (first.col >= p.cols)
        return;
    else if (a.each == 2)
        put_gated(a, p, sum, first);
    else if (p.wide)
        more ? put_packs<N, float, true>(a, p, sum, first) : put_packs<N, float, false>(a, p, sum, first);
    else
        more ? put_packs<N, bf16, true>(a, p, sum, first) : put_packs<N, bf16, false>(a, p, sum, first);
}

/*
 * The results of few_rows_kernel, bit for bit, in tiles of many rows.
 *
 * Grid     one block per 16 N rows and TILE_COLS columns of a product, or half as many columns of two.  Rows vary
 *          fastest.
 * Memory   reads w once for 16 N rows and x once for TILE_COLS columns, mostly from L2, by cp.async.
 * Numbers  those of few_rows_kernel, in the order of linear_group.cuh.
 */
template <int N>
__global__ void __launch_bounds__(THREADS, 1) linear_tiles_kernel(GRID_CONSTANT const group_view<bf16> a)
{
    DYNAMIC_SHARED(tile_memory<N>, memory);
    const product_view<bf16> &p = product_of(a);
    int tiles = (int)((a.rows + 16 * N - 1) / (16 * N)), block = (int)(block_id() - p.first);
    int64_t row0 = block % tiles * (16 * N), col0 = (int64_t)(block / tiles) * (TILE_COLS >> (a.each - 1));
    if (!has_rows(a, p, row0, 16 * N))
        return;
    float sum[M][N][4] = { { { 0 } } };
    tile_warp warp = warp_place<N>();
    if (p.k > 0)
        add_chain(sum, *memory, lines_of<N>(a, p, row0, col0), (int)p.k, warp);
    add_other_chain(sum, memory->exchange);
    put_tile(a, p, sum, memory->exchange, place_of<N>(a, warp, row0, col0));
}

/* Whether all rows can be copied 16 bytes at a time, and the two products of a glu read the same x. */
static bool serves(const group_view<bf16> &a)
{
    for (int i = 0; i < a.n; i++)
        if (a.product[i].w && !a.product[i].aligned)
            return false;
    return a.joint;
}

template <int N>
static void launch_tiles(struct ctx *c, group_view<bf16> *a)
{
    int64_t blocks = number_blocks(*a, 16 * N, TILE_COLS / a->each);
    LAUNCH_WIDE(linear_tiles_kernel<N>, blocks_for(blocks, 1), THREADS, sizeof(tile_memory<N>), cuda_stream(c), *a);
}

/*
 * Returns the N whose tiles take the least time, if each multiprocessor computes one tile at a time.
 *
 * A tile takes the longer of two times: reading shared memory takes 8 + N units, and the products take 2 N.
 */
static int best_rows(const struct ctx *c, group_view<bf16> a)
{
    int64_t least = INT64_MAX;
    int best = 0;
    for (int n = 4; n <= 10; n += 2) {
        int64_t blocks = number_blocks(a, 16 * n, TILE_COLS / a.each);
        int64_t rounds = (blocks + c->dev->multiprocessors - 1) / c->dev->multiprocessors;
        int64_t time = rounds * (n < 8 ? 8 + n : 2 * n);
        best = time < least ? n : best;
        least = time < least ? time : least;
    }
    return best;
}

bool cuda_group_tiles(struct ctx *c, group_view<bf16> a)
{
    if (!serves(a) || (a.norm && !cuda_group_norm(c, &a)))
        return false;
    switch (best_rows(c, a)) {
    case 4:
        launch_tiles<4>(c, &a);
        break;
    case 6:
        launch_tiles<6>(c, &a);
        break;
    case 8:
        launch_tiles<8>(c, &a);
        break;
    default:
        launch_tiles<10>(c, &a);
    }
    return true;
}
