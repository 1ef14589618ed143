/*
 * linear_group_few.cu - groups of products in bf16 for few rows, as in decoding.
 *
 * With few rows, the time of a product is the time to read its matrix w once.  The kernel keeps as many bytes of w in
 * flight as it can, and everything else overlaps with that.
 *
 * A block makes ROWS rows of TILES tiles of TILE_COLS columns.  A warp adds one chain of one tile.  Its strips of w
 * arrive in windows through a ring of its own, so warps do not wait for each other.  x arrives in phases through memory
 * of the block, as long as the ring, and a barrier a phase suffices.
 *
 * mma_bf16 takes w as its left operand of 16 rows and x as its right operand of 8 columns.  Eight rows of x thus waste
 * nothing.
 */
#include "kernels/cuda/linear_group.cuh"

constexpr int TILE_COLS = 16;
constexpr int WINDOW_STRIPS = 2,
              WINDOW = WINDOW_STRIPS * CHAINS * STRIP; /* strips that a warp takes at once; their span in k */
constexpr int ROW_GAP = 8; /* elements of padding behind a row of x: eight rows then lie in different banks */

/* Sizes of a block.  Fewer rows leave more shared memory for windows of w, so more of them are in flight. */
template <int ROWS, int TILES>
struct few_shape {
    static constexpr int WARPS = TILES * CHAINS, THREADS = WARPS * WARP;
    static constexpr int STAGES = ROWS <= 8 ? 8 : ROWS * TILES <= 128 ? 4 : 3; /* windows of the ring, and of a phase */
    static constexpr int EARLY = STAGES / 2; /* windows that are in flight before x is read */
    static constexpr int PHASE = STAGES * WINDOW, PIECES = PHASE / PACK;
};

/* A window: TILE_COLS rows of w, 64 bytes of each in a strip.  Piece p of a row lies at p ^ row / 2 % 4.  Two rows fill
 * the 32 banks, so the pieces that ldmatrix reads from eight rows lie in different banks. */
struct few_window {
    bf16 strip[WINDOW_STRIPS][TILE_COLS][STRIP];
};

/* Sums of a warp, which all threads of the block read.  The padding avoids bank conflicts. */
template <int ROWS>
struct few_sums {
    float at[ROWS][TILE_COLS + 4];
};

/* Memory of one warp: the ring during the product, its sums after it. */
template <int ROWS, int TILES>
union few_warp {
    few_window ring[few_shape<ROWS, TILES>::STAGES];
    few_sums<ROWS> sums;
};

/* Rows of x with the columns of one phase. */
template <int ROWS, int TILES>
using few_phase = bf16[ROWS][few_shape<ROWS, TILES>::PHASE + ROW_GAP];

/* Shared memory of a block; x has two phases, one in use and one on its way. */
template <int ROWS, int TILES>
struct alignas(16) few_memory {
    few_warp<ROWS, TILES> warp[few_shape<ROWS, TILES>::WARPS];
    few_phase<ROWS, TILES> x[2];
};

/* Fetches sixteen bytes of a row that has `left` more numbers, with zeros behind its end.  ALIGNED is known at compile
 * time; rows that are not aligned go through registers. */
template <bool ALIGNED>
__device__ inline void fetch_pack(bf16 *to, const bf16 *from, int left, bool aligned)
{
    if (ALIGNED || aligned) {
        copy_async(to, from, left > 0 ? 16 : 0);
        return;
    }
    unsigned v[4];
    load_eight(v, from, left, false);
    *(uint4 *)to = uint4{ v[0], v[1], v[2], v[3] };
}

/* Position of a lane in w: its two rows, lane / 4 and 8 further down, from the next window on, and the numbers that
 * they have left. */
struct few_stream {
    const bf16 *row[2];
    int left;
    bool aligned;
};

/* The stream of a warp's tile and chain.  Rows behind the last row read the last one again, and their results are not
 * stored. */
__device__ inline few_stream stream_of(const product_view<bf16> &p, int64_t col0, int chain)
{
    few_stream s;
    int first = chain * STRIP + lane_id() % 4 * PACK;
    UNROLL
    for (int h = 0; h < 2; h++) {
        int64_t row = col0 + lane_id() / 4 + 8 * h;
        s.row[h] = p.w + (row < p.cols ? row : p.cols - 1) * p.k + first;
    }
    s.left = (int)p.k - first;
    s.aligned = p.aligned;
    return s;
}

/* Starts copying the stream's next window. */
template <bool ALIGNED>
__device__ inline void fetch_window(few_window &to, few_stream &s)
{
    /* Four lanes copy the 64 bytes of a row, eight rows at a time. line / 2 needs no % 4, since line is below 8. */
    int line = lane_id() / 4, piece = (lane_id() % 4 ^ line / 2) * PACK;
    UNROLL
    for (int j = 0; j < WINDOW_STRIPS; j++)
        UNROLL
    for (int h = 0; h < 2; h++)
        fetch_pack<ALIGNED>(&to.strip[j][line + 8 * h][piece], s.row[h] + j * CHAINS * STRIP,
                            s.left - j * CHAINS * STRIP, s.aligned);
    s.row[0] += WINDOW;
    s.row[1] += WINDOW;
    s.left -= WINDOW;
}

/* Starts copying a phase of x that begins at k0, for `rows` rows.  A thread copies the same piece of every STEP-th row.
 * A thread of a block of 64 rows copies 12 or 13 pieces for three windows of w, so each copy must be cheap.  Addresses
 * are therefore added up, and rows behind the last become zeros without a branch.  A block of eight rows often has only
 * one, so it leaves the others out. */
template <int ROWS, int TILES, bool ALIGNED>
__device__ inline void fetch_phase(few_phase<ROWS, TILES> &to, const product_view<bf16> &p, int64_t row0, int rows,
                                   int k0)
{
    constexpr int PIECES = few_shape<ROWS, TILES>::PIECES, STEP = few_shape<ROWS, TILES>::THREADS / PIECES;
    constexpr int WIDTH = few_shape<ROWS, TILES>::PHASE + ROW_GAP;
    int first = thread_id() / PIECES, piece = thread_id() % PIECES * PACK;
    int left = (int)p.k - k0 - piece, rest = rows - first, step = STEP * (int)p.k;
    if (first >= STEP) /* too few threads are left for another row */
        return;
    const bf16 *from = p.x + (row0 + first) * p.k + k0 + piece;
    bf16 *at = &to[first][piece];
    UNROLL
    for (int r = 0; r < ROWS; r += STEP, from += step) {
        if ((ROWS == 8 && r >= rest) || (r + STEP > ROWS && first + r >= ROWS))
            break;
        fetch_pack<ALIGNED>(at + r * WIDTH, from, r < rest ? left : 0, p.aligned);
    }
}

/* Multiplies the numbers that this thread has copied by the norm's weights.  No barrier is needed: a thread sees its
 * own copies after copy_wait. */
template <int ROWS, int TILES>
__device__ inline void weigh_phase(few_phase<ROWS, TILES> &x, float (&square)[ROWS], const float (&norm)[PACK],
                                   int rows)
{
    static_assert(few_shape<ROWS, TILES>::PIECES == NORM_THREADS && few_shape<ROWS, TILES>::THREADS == NORM_THREADS,
                  "a thread has one pack of each row of a phase, as in weigh_rows_kernel");
    UNROLL
    for (int r = 0; r < ROWS; r++) {
        if (r >= rows)
            continue;
        uint4 *at = (uint4 *)&x[r][thread_id() * PACK];
        unsigned v[4] = { at->x, at->y, at->z, at->w };
        weigh(v, square[r], norm);
        *at = uint4{ v[0], v[1], v[2], v[3] };
    }
}

/* sum += the window's strips of w times the same numbers of x; x: those of this lane's row of the first eight.  Rows
 * behind the last may have any numbers, since their results are not stored. */
template <int ROWS, int TILES>
__device__ inline void multiply_window(float (&sum)[ROWS / 8][4], const few_window &w, const bf16 *x)
{
    constexpr int WIDTH = few_shape<ROWS, TILES>::PHASE + ROW_GAP;
    int line = lane_id() % 16;
    UNROLL
    for (int j = 0; j < WINDOW_STRIPS; j++) {
        unsigned left[2][4], right[ROWS / 8][4];
        UNROLL
        for (int i = 0; i < 2; i++)
            load_matrices<false>(left[i], &w.strip[j][line][((2 * i + lane_id() / 16) ^ line / 2 % 4) * PACK]);
        UNROLL
        for (int n = 0; n < ROWS / 8; n++)
            load_matrices<false>(right[n], x + 8 * n * WIDTH + j * CHAINS * STRIP);
        UNROLL
        for (int i = 0; i < 2; i++)
            UNROLL
        for (int n = 0; n < ROWS / 8; n++) { /* neighbouring products do not wait for each other */
            const unsigned half[2] = { right[n][2 * i], right[n][2 * i + 1] };
            mma_bf16(sum[n], left[i], half);
        }
    }
}

/* The first row and column of a block, and its number of rows. */
struct few_corner {
    int64_t row0, col0;
    int rows;
};

/*
 * Starts copying the first STAGES - 1 windows, and the first phase of x.
 *
 * Weights do not depend on earlier launches.  With an early launch, EARLY windows are therefore in flight while the
 * block waits for x.  They share group 0 with the phase, and the groups up to EARLY - 1 are empty.  Window i is thus in
 * group i or before it, as add_chain expects.
 */
template <int ROWS, int TILES, bool ALIGNED>
__device__ inline void fetch_first(few_memory<ROWS, TILES> &m, few_window *ring, few_stream &s,
                                   const product_view<bf16> &p, const few_corner &at, bool mine)
{
    constexpr int STAGES = few_shape<ROWS, TILES>::STAGES, EARLY = few_shape<ROWS, TILES>::EARLY;
    UNROLL
    for (int i = 0; i < EARLY; i++)
        if (mine)
            fetch_window<ALIGNED>(ring[i], s);
    dependency_wait();
    fetch_phase<ROWS, TILES, ALIGNED>(m.x[0], p, at.row0, at.rows, 0);
    UNROLL
    for (int i = 0; i < EARLY; i++)
        copy_commit();
    UNROLL
    for (int i = EARLY; i < STAGES - 1; i++) {
        if (mine)
            fetch_window<ALIGNED>(ring[i], s);
        copy_commit();
    }
}

/*
 * Adds the warp's chain of a product.  All warps copy and weigh its x.  `mine`: the warp has a chain of this product,
 * not of the group's other one.
 *
 * Each round of the inner loop commits one group, empty or not.  The number of groups therefore tells which copies are
 * complete: all but the newest STAGES - 2 groups are.
 */
template <int ROWS, int TILES, bool NORM, bool ALIGNED>
__device__ inline void add_chain(float (&sum)[ROWS / 8][4], float (&square)[ROWS], few_memory<ROWS, TILES> &m,
                                 const product_view<bf16> &p, const float *norm_weights, const few_corner &at,
                                 few_stream s, bool mine)
{
    constexpr int STAGES = few_shape<ROWS, TILES>::STAGES, PHASE = few_shape<ROWS, TILES>::PHASE;
    int k = (int)p.k, chain = warp_id() % CHAINS, line = lane_id() % 8;
    few_window *ring = m.warp[warp_id()].ring;
    float norm[PACK];
    fetch_first<ROWS, TILES, ALIGNED>(m, ring, s, p, at, mine);
    if constexpr (NORM)
        load_pack(norm, norm_weights + thread_id() * PACK, k - thread_id() * PACK);
    ROLLED
    for (int k0 = 0, turn = 0; k0 < k; k0 += PHASE, turn ^= 1) {
        copy_wait<STAGES - 2>(); /* the phase was copied with the first window of the phase before */
        if constexpr (NORM)
            weigh_phase<ROWS, TILES>(m.x[turn], square, norm, at.rows);
        __syncthreads(); /* all threads have this phase, and none reads the one before */
        int next = k0 + PHASE;
        if (next < k) {
            fetch_phase<ROWS, TILES, ALIGNED>(m.x[turn ^ 1], p, at.row0, at.rows, next);
            if constexpr (NORM)
                load_pack(norm, norm_weights + next + thread_id() * PACK, k - next - thread_id() * PACK);
        }
        const bf16 *x = &m.x[turn][line][chain * STRIP + lane_id() / 8 * PACK];
        UNROLL
        for (int i = 0; i < STAGES; i++) {
            if (k0 + i * WINDOW >= k)
                break;
            copy_wait<STAGES - 2>();
            __syncwarp(); /* all lanes have this window, and none reads the one before */
            if (mine)
                fetch_window<ALIGNED>(ring[(i + STAGES - 1) % STAGES], s);
            copy_commit();
            if (mine)
                multiply_window<ROWS, TILES>(sum, ring[i], x + i * WINDOW);
        }
    }
    copy_wait<0>(); /* copies behind the end of k, before their memory is used for sums */
    __syncthreads();
}

/* Stores the warp's sums in the memory of its ring, which all its lanes have used. */
template <int ROWS, int TILES>
__device__ inline void leave_sums(few_memory<ROWS, TILES> &m, const float (&sum)[ROWS / 8][4])
{
    few_sums<ROWS> &to = m.warp[warp_id()].sums;
    int row = lane_id() % 4 * 2, col = lane_id() / 4;
    UNROLL
    for (int n = 0; n < ROWS / 8; n++)
        UNROLL
    for (int j = 0; j < 4; j++)
        to.at[8 * n + row + j % 2][col + j / 2 * 8] = sum[n][j];
}

/* Returns the sum of a tile's chains, in order. */
template <int ROWS, int TILES>
__device__ inline float sum_of(const few_memory<ROWS, TILES> &m, int tile, int row, int col)
{
    static_assert(CHAINS == 2, "two sums");
    const few_warp<ROWS, TILES> *chain = &m.warp[tile * CHAINS];
    return chain[0].sums.at[row][col] + chain[1].sums.at[row][col];
}

/* Stores the block's numbers: those of all tiles, or, for a glu, of half as many tiles, with the gate from the first
 * half and the factor from the second. */
template <int ROWS, int TILES>
__device__ inline void put_sums(const group_view<bf16> &a, const product_view<bf16> &p,
                                const few_memory<ROWS, TILES> &m, const few_corner &at, const float *rstd)
{
    int cols = TILES * TILE_COLS / a.each;
    ROLLED
    for (int i = thread_id(); i < at.rows * cols; i += few_shape<ROWS, TILES>::THREADS) {
        int r = i / cols, j = i % cols;
        int64_t row = at.row0 + r, col = at.col0 + j;
        if (!has_row(a, p, row) || col >= p.cols)
            continue;
        float factor = rstd ? rstd[r] : 1.0f;
        float v = finished(p, sum_of<ROWS, TILES>(m, j / TILE_COLS, r, j % TILE_COLS), factor, row, col);
        if (a.each == 2)
            v = gated(a, v,
                      finished((&p)[1], sum_of<ROWS, TILES>(m, TILES / 2 + j / TILE_COLS, r, j % TILE_COLS), factor,
                               row, col));
        put_number(p, row, col, v);
    }
}

/* Returns the norm's factors of the block's rows, or NULL without a norm.  The caller's barrier completes them. */
template <int ROWS, bool NORM>
__device__ inline const float *row_factors(const group_view<bf16> &a, const product_view<bf16> &p,
                                           const float (&square)[ROWS], const few_corner &at)
{
    if constexpr (NORM) {
        __shared__ float part[ROWS][NORM_WARPS], rstd[ROWS];
        UNROLL
        for (int r = 0; r < ROWS; r++)
            if (r < at.rows)
                square_leave(part[r], square[r]);
        __syncthreads();
        if (thread_id() < at.rows)
            rstd[thread_id()] = square_factor(part[thread_id()], p.k, a.eps);
        return rstd;
    }
    return a.rstd ? a.rstd + at.row0 : nullptr;
}

/*
 * y_i (+)= scale_i n(x_i) w_i^T + bias_i + addend_i in its rows;  glu: for each two products, y (+)= gate(first) second
 *
 * Grid     one block per product, ROWS of its rows and 16 TILES of its columns, or half as many columns of two
 *          products. Rows vary fastest.  Blocks without a row of their product return at once.
 * Memory   reads w once (from L2 for more rows than ROWS), 16 bytes a lane by cp.async, STAGES - 1 windows of 2 KiB a
 *          warp ahead of their use.  Each block reads x once from L2: more tiles a block read it less often.
 * Numbers  products of bf16 on tensor cores, f32 sums in the order of linear_group.cuh, for any number of rows.  The
 *          norm's weights multiply x, its factor multiplies the sum.
 */
template <int ROWS, int TILES, bool NORM, bool ALIGNED>
__global__ void __launch_bounds__(few_shape<ROWS, TILES>::THREADS)
    few_rows_kernel(GRID_CONSTANT const group_view<bf16> a)
{
    typedef few_memory<ROWS, TILES> memory_type;
    DYNAMIC_SHARED(memory_type, memory);
    dependents_launch();
    const product_view<bf16> &p = product_of(a);
    int tiles = (int)((a.rows + ROWS - 1) / ROWS), block = (int)(block_id() - p.first);
    few_corner at = { block % tiles * ROWS, (int64_t)(block / tiles) * (TILES * TILE_COLS / a.each), 0 };
    if (!has_rows(a, p, at.row0, ROWS)) {
        dependency_wait();
        return;
    }
    at.rows = (int)(a.rows - at.row0 < ROWS ? a.rows - at.row0 : ROWS);
    int tile = warp_id() / CHAINS, second = a.each == 2 && tile >= TILES / 2, turns = a.joint ? 1 : a.each;
    const product_view<bf16> &mine = (&p)[second];
    float sum[ROWS / 8][4] = { { 0 } }, square[ROWS] = { 0 };
    for (int i = 0; i < turns; i++) {
        if ((&p)[i].k == 0)
            continue;
        few_stream s = stream_of(mine, at.col0 + (tile - second * (TILES / 2)) * TILE_COLS, warp_id() % CHAINS);
        add_chain<ROWS, TILES, NORM, ALIGNED>(sum, square, *memory, (&p)[i], a.norm, at, s, turns == 1 || i == second);
    }
    leave_sums<ROWS, TILES>(*memory, sum);
    const float *rstd = row_factors<ROWS, NORM>(a, p, square, at);
    dependency_wait(); /* a block of addends alone has not waited yet */
    __syncthreads();
    put_sums<ROWS, TILES>(a, p, *memory, at, rstd);
}

/*
 * y = x norm, rstd = 1 / rms(x)
 *
 * Grid     one block per row.
 * Memory   reads x and writes y once, 16 bytes a thread.
 * Numbers  products and squares in the order of few_rows_kernel, so both ways give the same bits.
 */
__global__ void __launch_bounds__(NORM_THREADS)
    weigh_rows_kernel(bf16 *y, float *rstd, const bf16 *x, const float *norm, float eps, int64_t k)
{
    __shared__ float part[NORM_WARPS];
    int64_t row = block_id();
    float square = 0;
    dependents_launch();
    dependency_wait();
    for (int64_t at = thread_id() * PACK; at < k; at += NORM_ROUND) {
        float weights[PACK];
        unsigned v[4];
        load_pack(weights, norm + at, k - at);
        load_eight(v, x + row * k + at, k - at, true);
        weigh(v, square, weights);
        *(uint4 *)(y + row * k + at) = uint4{ v[0], v[1], v[2], v[3] };
    }
    square_leave(part, square);
    __syncthreads();
    if (thread_id() == 0)
        rstd[row] = square_factor(part, k, eps);
}

/* All products of a group with a norm read the same x, so it is weighed once. */
bool cuda_group_norm(struct ctx *c, group_view<bf16> *a)
{
    int64_t k = a->product[0].k;
    size_t bytes = (size_t)(a->rows * k) * sizeof(bf16) + (size_t)a->rows * sizeof(float);
    if (!a->product[0].aligned || bytes > SCRATCH_BYTES)
        return false;
    bf16 *x = (bf16 *)cuda_scratch(c, bytes);
    float *rstd = (float *)(x + a->rows * k);
    LAUNCH_EARLY(c, weigh_rows_kernel, blocks_for(a->rows, 1), NORM_THREADS, 0, x, rstd, a->product[0].x, a->norm,
                 a->eps, k);
    a->rstd = rstd;
    a->norm = nullptr;
    for (int i = 0; i < a->n; i++)
        a->product[i].x = x;
    return true;
}

/* The longest sum of a launch that starts early.  Blocks that start early may share multiprocessors while others are
 * free.  For longer sums that costs more than the early start gains. */
constexpr int64_t EARLY_SUM = 8192;

template <int ROWS, int TILES, bool NORM, bool ALIGNED>
static void launch_few(struct ctx *c, group_view<bf16> *a)
{
    unsigned blocks = blocks_for(number_blocks(*a, ROWS, TILES * TILE_COLS / a->each), 1);
    if (a->product[0].k <= EARLY_SUM)
        LAUNCH_EARLY(c, (few_rows_kernel<ROWS, TILES, NORM, ALIGNED>), blocks, (few_shape<ROWS, TILES>::THREADS),
                     (sizeof(few_memory<ROWS, TILES>)), *a);
    else
        LAUNCH_WIDE((few_rows_kernel<ROWS, TILES, NORM, ALIGNED>), blocks, (few_shape<ROWS, TILES>::THREADS),
                    (sizeof(few_memory<ROWS, TILES>)), cuda_stream(c), *a);
}

static bool all_aligned(const group_view<bf16> &a)
{
    for (int i = 0; i < a.n; i++)
        if (a.product[i].w && !a.product[i].aligned)
            return false;
    return true;
}

/* Blocks of four tiles read x half as often.  They are used if there is one for each multiprocessor. */
static void launch_sixteen(struct ctx *c, group_view<bf16> *a)
{
    if (number_blocks(*a, 16, 4 * TILE_COLS / a->each) >= c->dev->multiprocessors)
        launch_few<16, 4, false, true>(c, a);
    else
        launch_few<16, 2, false, true>(c, a);
}

/* Chooses the shape of a launch.  For more than eight rows a kernel of its own weighs x, since otherwise each block
 * would do it again. */
void cuda_group_few(struct ctx *c, group_view<bf16> a)
{
    bool aligned = all_aligned(a), weighs = a.norm && (!aligned || a.rows <= 8 || !cuda_group_norm(c, &a));
    if (weighs)
        aligned ? launch_few<8, 2, true, true>(c, &a) : launch_few<8, 2, true, false>(c, &a);
    else if (!aligned)
        launch_few<8, 2, false, false>(c, &a);
    else if (a.rows <= 8)
        launch_few<8, 2, false, true>(c, &a);
    else if (a.rows <= 16)
        launch_sixteen(c, &a);
    else if (a.rows <= 32)
        launch_few<32, 4, false, true>(c, &a);
    else
        launch_few<FEW_ROWS, 4, false, true>(c, &a);
}
