/* Part of linear_group.cuh: many rows of bf16, whose weights are read once for a tile of them. */
#include "kernels/cuda/linear_group.cuh"

/*
 * A block makes TILE_COLS columns of 16 N rows.  Four warps add one chain of k, four the other; of four each has M x 16
 * columns and N x 8 rows.  Stages of k, a strip of each chain, come through STAGES places of shared memory.
 */
constexpr int THREADS = 256, M = 4, TILE_COLS = 2 * 16 * M, HALF = TILE_COLS / 2;
constexpr int STAGES = 4, STAGE = CHAINS * STRIP;
constexpr int PIECES = STAGE / PACK, LINES = THREADS / PIECES; /* of a line; lines that the threads copy at once */
static_assert(CHAINS == 2 && HALF % LINES == 0, "warps fill the tile, lines that are copied at once are of one half");

/* Lines of 128 bytes, of which piece i lies at i ^ line % 8: the same piece of eight lines is in different banks. */
template <int N>
struct alignas(16) tile_stage {
    bf16 w[TILE_COLS][STAGE], x[16 * N][STAGE];
};

/* The sums of each chain, as rows of y; with the gap a warp's lanes store into different banks. */
template <int N>
struct tile_sums {
    float at[CHAINS][16 * N][TILE_COLS + 4];
};

template <int N>
union tile_memory {
    tile_stage<N> stage[STAGES];
    tile_sums<N> sums;
};

/* Where a thread's pieces come from: of the lines thread / PIECES, LINES further on and so forth. */
template <int N>
struct tile_lines {
    const bf16 *w[2], *x;                                   /* its piece of the first line of each half of w, of x */
    unsigned w_at[TILE_COLS / LINES], x_at[16 * N / LINES]; /* elements from there to each line */
    int left;                                               /* numbers from there to the end of k */
};

/* Lines behind the last are the last again: no one stores what they give. */
__device__ inline unsigned line_at(int line, int64_t lines, int64_t k)
{
    return (unsigned)((line < lines ? line : lines - 1) * k);
}

/* Each half of w's lines is a product's or, of one product, HALF of its columns. */
template <int N>
__device__ inline tile_lines<N> lines_of(const group_view<bf16> &a, const product_view<bf16> &p, int64_t row0,
                                         int64_t col0)
{
    tile_lines<N> at;
    int piece = thread_id() % PIECES * PACK, line = thread_id() / PIECES;
    UNROLL
    for (int h = 0; h < 2; h++) {
        int64_t first = col0 + (a.each == 1 && col0 + HALF < p.cols ? h * HALF : 0);
        at.w[h] = (&p)[h * (a.each - 1)].w + first * p.k + piece;
        UNROLL
        for (int i = 0; i < HALF / LINES; i++)
            at.w_at[h * HALF / LINES + i] = line_at(line + i * LINES, p.cols - first, p.k);
    }
    at.x = p.x + row0 * p.k + piece;
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
    int line = thread_id() / PIECES, piece = (thread_id() % PIECES ^ line % PIECES) * PACK;
    int bytes = at.left > 0 ? 16 : 0;
    UNROLL
    for (int i = 0; i < TILE_COLS / LINES; i++)
        copy_async(&to.w[line + i * LINES][piece], at.w[i / (HALF / LINES)] + at.w_at[i], bytes);
    UNROLL
    for (int i = 0; i < 16 * N / LINES; i++)
        copy_async(&to.x[line + i * LINES][piece], at.x + at.x_at[i], bytes);
    at.w[0] += STAGE;
    at.w[1] += STAGE;
    at.x += STAGE;
    at.left -= STAGE;
}

/* Which chain the warp adds, and which columns and rows of the tile. */
struct tile_warp {
    int chain, col, row;
};

template <int N>
__device__ inline tile_warp warp_place()
{
    return { warp_id() / 4, warp_id() / 2 % 2 * (16 * M), warp_id() % 2 * (8 * N) };
}

/* sum += the warp's strip of the stage. */
template <int N>
__device__ inline void multiply_stage(float (&sum)[M][N][4], const tile_stage<N> &s, const tile_warp &warp)
{
    int lane = lane_id();
    UNROLL
    for (int k = 0; k < STRIP / 16; k++) {
        int first = warp.chain * (STRIP / PACK) + 2 * k; /* piece */
        unsigned w[M][4], x[N / 2][4];
        UNROLL
        for (int m = 0; m < M; m++)
            load_matrices<false>(w[m], &s.w[warp.col + 16 * m + lane % 16][((first + lane / 16) ^ lane % 8) * PACK]);
        UNROLL
        for (int n = 0; n < N / 2; n++)
            load_matrices<false>(
                x[n], &s.x[warp.row + 16 * n + lane / 16 * 8 + lane % 8][((first + lane / 8 % 2) ^ lane % 8) * PACK]);
        UNROLL
        for (int n = 0; n < N; n++) {
            const unsigned right[2] = { x[n / 2][n % 2 * 2], x[n / 2][n % 2 * 2 + 1] };
            UNROLL
            for (int m = 0; m < M; m++)
                mma_bf16(sum[m][n], w[m], right);
        }
    }
}

/* Adds the block's chains, and leaves them in shared memory. */
template <int N>
__device__ inline void add_chains(tile_memory<N> &memory, const group_view<bf16> &a, const product_view<bf16> &p,
                                  int64_t row0, int64_t col0)
{
    float sum[M][N][4] = { { { 0 } } };
    tile_lines<N> at = lines_of<N>(a, p, row0, col0);
    tile_warp warp = warp_place<N>();
    UNROLL
    for (int i = 0; i < STAGES - 1; i++) {
        fetch_stage(memory.stage[i], at);
        copy_commit();
    }
    ROLLED
    for (int k0 = 0, i = 0; k0 < p.k; k0 += STAGE, i = (i + 1) % STAGES) {
        copy_wait<STAGES - 2>();
        __syncthreads(); /* the stage is there, and the one before has been used */
        fetch_stage(memory.stage[(i + STAGES - 1) % STAGES], at);
        copy_commit();
        multiply_stage(sum, memory.stage[i], warp);
    }
    copy_wait<0>(); /* of stages behind the end */
    __syncthreads();
    int row = warp.row + lane_id() % 4 * 2, col = warp.col + lane_id() / 4;
    UNROLL
    for (int i = 0; i < M * N * 4; i++)
        memory.sums.at[warp.chain][row + i / 4 % N * 8 + i % 2][col + i / 4 / N * 16 + i / 2 % 2 * 8] =
            sum[i / 4 / N][i / 4 % N][i % 4];
    __syncthreads();
}

/* The bias of PACK columns, or zeros. */
__device__ inline void load_bias(float (&bias)[PACK], const product_view<bf16> &p, int64_t col)
{
    load_pack(bias, p.bias + col, p.bias ? p.cols - col : 0);
}

/* PACK numbers at row, col from their sums, which lie at r, j of the tile: as `finished` makes them. */
template <int N>
__device__ inline void finish_pack(float (&v)[PACK], const tile_sums<N> &s, int r, int j, const product_view<bf16> &p,
                                   const float (&bias)[PACK], float rstd, int64_t row, int64_t col)
{
    float addend[PACK], factor = p.scale * rstd;
    UNROLL
    for (int i = 0; i < PACK; i += 4) {
        float4 a = *(const float4 *)&s.at[0][r][j + i], b = *(const float4 *)&s.at[1][r][j + i];
        v[i] = a.x + b.x, v[i + 1] = a.y + b.y, v[i + 2] = a.z + b.z, v[i + 3] = a.w + b.w;
    }
    UNROLL
    for (int i = 0; i < PACK; i++)
        v[i] = fmaf(v[i], factor, bias[i]);
    if (!p.addend)
        return;
    load_pack(addend, p.addend + row * p.cols + col, p.cols - col);
    UNROLL
    for (int i = 0; i < PACK; i++)
        v[i] += addend[i];
}

/* Stores the block's numbers, PACK beside each other at once: of one product, or gated, of EACH. */
template <int N, int EACH>
__device__ inline void put_tile(const group_view<bf16> &a, const product_view<bf16> &p, const tile_sums<N> &s,
                                int64_t row0, int64_t col0)
{
    constexpr int PACKS = TILE_COLS / EACH / PACK;
    int j = thread_id() % PACKS * PACK;
    int64_t col = col0 + j, end = a.rows - row0 < 16 * N ? a.rows : row0 + 16 * N;
    if (col >= p.cols)
        return;
    float bias[EACH][PACK];
    UNROLL
    for (int i = 0; i < EACH; i++)
        load_bias(bias[i], (&p)[i], col);
    ROLLED
    for (int64_t row = row0 + thread_id() / PACKS; row < end; row += THREADS / PACKS) {
        if (!has_row(a, p, row))
            continue;
        float v[PACK], up[PACK], rstd = a.rstd ? a.rstd[row] : 1.0f;
        int r = (int)(row - row0);
        finish_pack(v, s, r, j, p, bias[0], rstd, row, col);
        if (EACH == 2) {
            finish_pack(up, s, r, HALF + j, (&p)[1], bias[EACH - 1], rstd, row, col);
            UNROLL
            for (int i = 0; i < PACK; i++)
                v[i] = gated(a, v[i], up[i]);
        }
        if (p.wide)
            put_pack((float *)p.y + row * p.cols + col, v, p.cols - col, p.add);
        else
            put_pack((bf16 *)p.y + row * p.cols + col, v, p.cols - col, p.add);
    }
}

/*
 * What few_rows_kernel makes, bit for bit
 *
 * Grid     one block per 16 N rows and TILE_COLS columns of a product, or half as many of two; rows go round fastest.
 * Memory   reads w once for 16 N rows and x once for TILE_COLS columns, mostly from L2, by cp.async.
 * Numbers  those of few_rows_kernel, in the order of linear_group.cuh.
 */
template <int N>
__global__ void __launch_bounds__(THREADS, 1) linear_tiles_kernel(GRID_CONSTANT const group_view<bf16> a)
{
    DYNAMIC_SHARED(tile_memory<N>, memory);
    const product_view<bf16> &p = product_of(a);
    int64_t tiles = (a.rows + 16 * N - 1) / (16 * N), block = block_id() - p.first;
    int64_t row0 = block % tiles * (16 * N), col0 = block / tiles * (TILE_COLS / a.each);
    if (!has_rows(a, p, row0, 16 * N))
        return;
    add_chains(*memory, a, p, row0, col0);
    if (a.each == 2)
        put_tile<N, 2>(a, p, memory->sums, row0, col0);
    else
        put_tile<N, 1>(a, p, memory->sums, row0, col0);
}

/* Whether rows are copied 16 bytes at a time, and the two products of a glu read the same. */
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

bool cuda_group_tiles(struct ctx *c, group_view<bf16> a)
{
    if (!serves(a) || (a.norm && !cuda_group_norm(c, &a)))
        return false;
    int64_t over = (a.rows - 1) % 128 + 1; /* rows of the last tile of 128 */
    if (over <= 64)
        launch_tiles<4>(c, &a);
    else
        launch_tiles<8>(c, &a);
    return true;
}
