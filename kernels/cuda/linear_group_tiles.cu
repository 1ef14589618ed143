/* Part of linear_group.cuh: many rows of bf16, whose weights are read once for TILE of them. */
#include "kernels/cuda/linear_group.cuh"

/* A block makes TILE x TILE sums, a warp M x N tiles of 16 x 8; strips of k come through STAGES of shared memory. */
constexpr int TILE = 128, STAGES = 3, M = 4, N = 4, WARPS_WIDE = 4;
constexpr int WARP_ROWS = 16 * M, WARP_COLS = 8 * N, ROUND = WARPS * CHUNK;
static_assert(TILE * TILE == WARPS * WARP_ROWS * WARP_COLS && TILE == WARPS_WIDE * WARP_COLS, "warps fill the tile");
static_assert(STAGES == 3, "of the strips that are ahead one may still be under way");

/* Rows of 64 bytes: the eight lanes that load 16 bytes at once, of two rows, take different banks. */
struct alignas(16) strip_stage {
    bf16 x[TILE][STRIP], w[TILE][STRIP];
};

/* Where a thread's piece of a line comes from, and where what is there of it ends: at 0, of a line of zeros. */
struct strip_line {
    const bf16 *from;
    int end;
};

/* Those of a thread in each half of the tile. */
struct strip_lines {
    strip_line x[2], w[2];
};

constexpr int HALF = THREADS * PACK / STRIP; /* lines that the threads copy at once */
static_assert(2 * HALF == TILE, "two pieces a thread");

/* The column, from the block's first, that a line of w is.  Of two products each warp has half of its lines. */
__device__ inline int column_of(int line, int each)
{
    return line / WARP_COLS * (WARP_COLS / each) + line % (WARP_COLS / each);
}

__device__ inline strip_line line_of(const bf16 *from, int64_t row, int64_t rows, int64_t k)
{
    int piece = thread_id() % 4 * PACK;
    if (row >= rows)
        return { from, 0 };
    return { from + row * k + (piece < k ? piece : 0), (int)k - piece };
}

__device__ inline strip_lines lines_of(const group_view<bf16> &a, const product_view<bf16> &p, int64_t row0,
                                       int64_t col0)
{
    strip_lines at;
    UNROLL
    for (int i = 0; i < 2; i++) {
        int line = thread_id() / 4 + i * HALF;
        const bf16 *w = (&p)[line % WARP_COLS * a.each / WARP_COLS].w;
        at.x[i] = line_of(p.x, row0 + line, a.rows, p.k);
        at.w[i] = line_of(w, col0 + column_of(line, a.each), p.cols, p.k);
    }
    return at;
}

__device__ inline void fetch_piece(bf16 (&tile)[TILE][STRIP], int half, const strip_line &line, int k)
{
    bf16 *to = &tile[thread_id() / 4 + half * HALF][thread_id() % 4 * PACK];
    copy_async(to, line.from + (k < line.end ? k : 0), k < line.end ? 16 : 0);
}

/* Starts copying the strip at k. */
__device__ inline void fetch_strip(strip_stage &to, const strip_lines &lines, int k)
{
    UNROLL
    for (int i = 0; i < 2; i++) {
        fetch_piece(to.x, i, lines.x[i], k);
        fetch_piece(to.w, i, lines.w[i], k);
    }
}

/* The strip behind that at k in the order of sums, -1: none.  A chunk is taken whole, its strips past the end too. */
__device__ inline int next_strip(int k, int end)
{
    if (k % CHUNK + STRIP < CHUNK)
        return k + STRIP;
    k += ROUND - (CHUNK - STRIP);
    if (k < end)
        return k;
    k = k % ROUND + CHUNK;
    return k < ROUND && k < end ? k : -1;
}

/* sum += the warp's part of the strip; `rows` of them are there. */
__device__ inline void multiply_strip(float (&sum)[M][N][4], const strip_stage &s, int rows)
{
    int piece = lane_id() % 4 * PACK;
    int row = warp_id() / WARPS_WIDE * WARP_ROWS + lane_id() / 4,
        col = warp_id() % WARPS_WIDE * WARP_COLS + lane_id() / 4;
    unsigned w[N][4], x[2 * M][4];
    UNROLL
    for (int n = 0; n < N; n++)
        load_eight(w[n], &s.w[col + 8 * n][piece], PACK, true);
    UNROLL
    for (int r = 0; r < 2 * M; r++)
        load_eight(x[r], &s.x[row + 8 * r][piece], PACK, true);
    UNROLL
    for (int m = 0; m < M; m++) {
        if (16 * m >= rows)
            continue;
        UNROLL
        for (int i = 0; i < 4; i += 2) {
            const unsigned left[4] = { x[2 * m][i], x[2 * m + 1][i], x[2 * m][i + 1], x[2 * m + 1][i + 1] };
            UNROLL
            for (int n = 0; n < N; n++) {
                const unsigned b[2] = { w[n][i], w[n][i + 1] };
                mma_bf16(sum[m][n], left, b);
            }
        }
    }
}

/* total += sum, which begins anew. */
__device__ inline void end_sum(float (&total)[M][N][4], float (&sum)[M][N][4])
{
    UNROLL
    for (int i = 0; i < M * N * 4; i++) {
        total[i / 4 / N][i / 4 % N][i % 4] += sum[i / 4 / N][i / 4 % N][i % 4];
        sum[i / 4 / N][i / 4 % N][i % 4] = 0;
    }
}

/* The sums of the block's corner, in total. */
__device__ inline void add_products(float (&total)[M][N][4], const group_view<bf16> &a, const product_view<bf16> &p,
                                    int64_t row0, int64_t col0)
{
    __shared__ strip_stage stage[STAGES];
    strip_lines lines = lines_of(a, p, row0, col0);
    int rows = (int)(a.rows - row0) - warp_id() / WARPS_WIDE * WARP_ROWS;
    int end = (int)p.k, ahead = p.w ? 0 : -1, k = ahead;
    float sum[M][N][4] = { { { 0 } } };
    for (int i = 0; i < STAGES - 1; i++) {
        if (ahead >= 0) {
            fetch_strip(stage[i], lines, ahead);
            ahead = next_strip(ahead, end);
        }
        copy_commit();
    }
    for (int i = 0; k >= 0; i = (i + 1) % STAGES) {
        copy_wait<1>();
        __syncthreads(); /* the strip is there, and the one before has been used */
        if (ahead >= 0) {
            fetch_strip(stage[(i + STAGES - 1) % STAGES], lines, ahead);
            ahead = next_strip(ahead, end);
        }
        copy_commit();
        multiply_strip(sum, stage[i], rows);
        int next = next_strip(k, end);
        if (next < 0 || next % ROUND / CHUNK != k % ROUND / CHUNK)
            end_sum(total, sum);
        k = next;
    }
}

/* What follows the sums, of which a glu's two lie half a warp's columns apart. */
__device__ inline void put_products(const group_view<bf16> &a, const product_view<bf16> &p,
                                    const float (&total)[M][N][4], int64_t row0, int64_t col0)
{
    row0 += warp_id() / WARPS_WIDE * WARP_ROWS + lane_id() / 4;
    col0 += warp_id() % WARPS_WIDE * (WARP_COLS / a.each) + lane_id() % 4 * 2;
    UNROLL
    for (int r = 0; r < 2 * M; r++) {
        int64_t row = row0 + 8 * r;
        if (!has_row(a, p, row))
            continue;
        float rstd = a.rstd ? a.rstd[row] : 1.0f;
        UNROLL
        for (int i = 0; i < 2 * N; i++) {
            int64_t col = col0 + i / 2 * 8 + i % 2;
            if (i >= 2 * N / a.each || col >= p.cols)
                continue;
            int j = r % 2 * 2 + i % 2;
            float v = finished(p, total[r / 2][i / 2][j], rstd, row, col);
            if (a.each == 2)
                v = gated(a, v, finished((&p)[1], total[r / 2][(i / 2 + N / 2) % N][j], rstd, row, col));
            put_number(p, row, col, v);
        }
    }
}

/*
 * What linear_group_kernel makes, bit for bit
 *
 * Grid     one block per TILE rows and TILE columns of a product, or half as many of two; rows go round fastest.
 * Memory   reads w once for TILE rows and x once for TILE columns, mostly from L2, by cp.async through 48 KiB.
 * Numbers  those of linear_group_kernel in its order: what its warps sum up lies one after another here.
 */
__global__ void __launch_bounds__(THREADS) linear_group_tiles_kernel(GRID_CONSTANT const group_view<bf16> a)
{
    const product_view<bf16> &p = product_of(a);
    int64_t tiles = (a.rows + TILE - 1) / TILE, block = block_id() - p.first;
    int64_t row0 = block % tiles * TILE, col0 = block / tiles * (TILE / a.each);
    if (!has_rows(a, p, row0, TILE))
        return;
    float total[M][N][4] = { { { 0 } } };
    add_products(total, a, p, row0, col0);
    put_products(a, p, total, row0, col0);
}

/*
 * y = x norm, rstd = 1 / rms(x)
 *
 * Grid     one block per LINES rows.
 * Memory   reads x and writes y once, 16 bytes a lane.
 * Numbers  as linear_group_kernel weighs its x, squares summed in its order.
 */
constexpr int LINES = WARP / 4;

__global__ void __launch_bounds__(THREADS)
    weigh_rows_kernel(bf16 *y, float *rstd, const bf16 *x, const float *norm, float eps, int64_t rows, int64_t k)
{
    __shared__ float square[WARPS][LINES];
    int line = lane_id() / 4;
    int64_t row = block_id() * LINES + line;
    float sum = 0;
    for (int64_t k0 = warp_id() * CHUNK; k0 < k && row < rows; k0 += ROUND)
        UNROLL
    for (int d = 0; d < DEPTH; d++) {
        int64_t at = k0 + d * STRIP + lane_id() % 4 * PACK;
        unsigned v[4];
        load_eight(v, x + row * k + at, k - at, true);
        weigh(v, sum, norm + at, k - at);
        if (at < k)
            *(uint4 *)(y + row * k + at) = uint4{ v[0], v[1], v[2], v[3] };
    }
    sum = quad_sum(sum);
    if (lane_id() % 4 == 0)
        square[warp_id()][line] = sum;
    __syncthreads();
    if (warp_id() > 0 || lane_id() % 4 > 0 || row >= rows)
        return;
    sum = 0;
    for (int w = 0; w < WARPS; w++)
        sum += square[w][line];
    rstd[row] = rsqrtf(sum / (float)k + eps);
}

/* Whether rows are copied 16 bytes at a time, and the two products of a glu read the same. */
static bool serves(const group_view<bf16> &a)
{
    for (int i = 0; i < a.n; i++) {
        const product_view<bf16> &p = a.product[i], &pair = a.product[i - i % a.each];
        if (p.w && !p.aligned)
            return false;
        if (p.x != pair.x || p.k != pair.k)
            return false;
    }
    return true;
}

bool cuda_group_tiles(struct ctx *c, group_view<bf16> a)
{
    int64_t k = a.product[0].k;
    size_t bytes = a.norm ? (size_t)(a.rows * k) * sizeof(bf16) + (size_t)a.rows * sizeof(float) : 0;
    if (!serves(a) || bytes > SCRATCH_BYTES)
        return false;
    if (a.norm) { /* all products read the same x */
        bf16 *x = (bf16 *)cuda_scratch(c, bytes);
        float *rstd = (float *)(x + a.rows * k);
        LAUNCH(weigh_rows_kernel, blocks_for(a.rows, LINES), THREADS, 0, cuda_stream(c), x, rstd, a.product[0].x,
               a.norm, a.eps, a.rows, k);
        a.rstd = rstd;
        for (int i = 0; i < a.n; i++)
            a.product[i].x = x;
    }
    int64_t blocks = number_blocks(a, TILE, TILE / a.each);
    LAUNCH(linear_group_tiles_kernel, blocks_for(blocks, 1), THREADS, 0, cuda_stream(c), a);
    return true;
}
