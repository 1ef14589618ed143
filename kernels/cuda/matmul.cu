#include "kernels/cuda/matmul.cuh"

#include "kernels/cuda/activation.cuh"

constexpr int TILE = 64, DEEP = 16, EACH = 4, THREADS = TILE / EACH * (TILE / EACH);
constexpr int64_t BLOCKS = 128,
                  PART_MIN = 8 * DEEP; /* if there are few tiles, k is cut into parts of at least PART_MIN */

/* Arguments of a product. */
template <typename T, typename U>
struct gemm_view {
    U *y, *pre;
    const T *a, *b;
    const float *bias;
    int64_t m, n, k;
    int act;
    bool ta, tb, add;
    float *part;          /* [parts, m, n] sums of each part; NULL: one part */
    int64_t parts, depth; /* depth: terms of a part */
};

/* y (+)= act(v + bias) at row r and column s. */
template <typename T, typename U>
__device__ inline void finish(const gemm_view<T, U> &p, int64_t r, int64_t s, float v)
{
    v += p.bias ? p.bias[s] : 0.0f;
    if (p.pre)
        p.pre[r * p.n + s] = U(v);
    put(p.y + r * p.n + s, activate_for<U>(v, p.act), p.add);
}

/*
 * tile[i][j] = element (at + j, k + i) of a matrix [rows, depth], or of its transpose [depth, rows]; zeros outside.
 *
 * Neighbouring threads read neighbouring addresses in both cases.
 */
template <typename T>
__device__ inline void load_tile(float (&tile)[DEEP][TILE + 1], const T *x, bool transposed, int64_t at, int64_t rows,
                                 int64_t k, int64_t depth)
{
    for (int t = thread_id(); t < TILE * DEEP; t += THREADS) {
        int i = transposed ? t / TILE : t % DEEP, j = transposed ? t % TILE : t / DEEP;
        bool inside = at + j < rows && k + i < depth;
        tile[i][j] = inside ? (float)x[transposed ? (k + i) * rows + at + j : (at + j) * depth + k + i] : 0.0f;
    }
}

/*
 * y[m,n] (+)= act(op(a) op(b) + bias)
 *
 * Grid     one block per TILE x TILE of y and part of k, n tiles varying fastest; a thread makes EACH x EACH of them.
 * Memory   reads a n / TILE times and b m / TILE times through 8 KiB of shared memory, writes y or its part once.
 * Numbers  f32 products and sums, in the order of k; parts are cut by shape alone.
 * Serves   small and odd shapes, and simt; large products go to cuBLASLt.
 */
template <typename T, typename U>
__global__ void __launch_bounds__(THREADS) gemm_kernel(gemm_view<T, U> p)
{
    __shared__ float a[DEEP][TILE + 1], b[DEEP][TILE + 1];
    int64_t wide = (p.n + TILE - 1) / TILE, tile = block_id() / p.parts, part = block_id() % p.parts;
    int64_t row = tile / wide * TILE, col = tile % wide * TILE;
    int64_t end = (part + 1) * p.depth < p.k ? (part + 1) * p.depth : p.k;
    int i0 = thread_id() / (TILE / EACH), j0 = thread_id() % (TILE / EACH);
    float sum[EACH][EACH] = { { 0 } };
    for (int64_t k = part * p.depth; k < end; k += DEEP) {
        load_tile(a, p.a, p.ta, row, p.m, k, p.k);
        load_tile(b, p.b, !p.tb, col, p.n, k, p.k);
        __syncthreads(); /* both tiles are complete */
        for (int d = 0; d < DEEP; d++)
            UNROLL
        for (int i = 0; i < EACH; i++)
            UNROLL
        for (int j = 0; j < EACH; j++)
            sum[i][j] += a[d][i0 + i * (TILE / EACH)] * b[d][j0 + j * (TILE / EACH)];
        __syncthreads(); /* no thread reads the tiles any more */
    }
    UNROLL
    for (int i = 0; i < EACH; i++)
        UNROLL
    for (int j = 0; j < EACH; j++) {
        int64_t r = row + i0 + i * (TILE / EACH), s = col + j0 + j * (TILE / EACH);
        if (r >= p.m || s >= p.n)
            continue;
        if (p.part)
            p.part[(part * p.m + r) * p.n + s] = sum[i][j];
        else
            finish(p, r, s, sum[i][j]);
    }
}

/*
 * y (+)= act(sum of the parts + bias)
 *
 * Grid     one thread per number of y.
 * Memory   reads every part once, mostly from L2, writes y once.
 * Numbers  f32 sums in the order of the parts.
 */
template <typename T, typename U>
__global__ void __launch_bounds__(THREADS) gemm_finish_kernel(gemm_view<T, U> p)
{
    int64_t i = grid_thread();
    float sum = 0;
    if (i >= p.m * p.n)
        return;
    for (int64_t part = 0; part < p.parts; part++)
        sum += p.part[part * p.m * p.n + i];
    finish(p, i / p.n, i % p.n, sum);
}

/* Cuts k into parts, so that few tiles still make many blocks. */
template <typename T, typename U>
static void cut(struct ctx *c, gemm_view<T, U> *v, int64_t tiles)
{
    int64_t parts = BLOCKS / tiles < v->k / PART_MIN ? BLOCKS / tiles : v->k / PART_MIN;
    v->parts = 1, v->depth = v->k;
    if (parts < 2 || c->rows == ROWS_MANY) /* the number of tiles depends on the rows, and with ROWS_MANY no bit may */
        return;
    v->depth = (v->k + parts * DEEP - 1) / (parts * DEEP) * DEEP;
    v->parts = (v->k + v->depth - 1) / v->depth;
    v->part = (float *)cuda_scratch(c, (size_t)(v->parts * v->m * v->n) * sizeof(float));
}

template <typename T, typename U>
static void launch_gemm(struct ctx *c, const struct cuda_gemm *p)
{
    gemm_view<T, U> v = {};
    v.y = data_of<U>(p->y), v.pre = data_of<U>(p->pre), v.a = data_of<T>(p->a), v.b = data_of<T>(p->b);
    v.bias = data_of<float>(p->bias);
    v.m = p->m, v.n = p->n, v.k = p->k;
    v.act = (int)p->act, v.ta = p->ta, v.tb = p->tb, v.add = p->add;
    int64_t tiles = ((p->m + TILE - 1) / TILE) * ((p->n + TILE - 1) / TILE);
    cut(c, &v, tiles);
    LAUNCH((gemm_kernel<T, U>), blocks_for(tiles * v.parts, 1), THREADS, 0, cuda_stream(c), v);
    if (v.parts > 1)
        LAUNCH((gemm_finish_kernel<T, U>), blocks_for(v.m * v.n, THREADS), THREADS, 0, cuda_stream(c), v);
}

void cuda_gemm_run(struct ctx *c, const struct cuda_gemm *p)
{
    if (p->m == 0 || p->n == 0)
        return;
    DTYPE_SWITCH_2(p->a->dtype, p->y->dtype, launch_gemm<T, U>(c, p));
}

bool cuda_few_rows(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,
                   const struct tensor *bias)
{
    bool few = c->rows == ROWS_FEW || (c->rows == ROWS_BY_NUMBER && tensor_rows(y.t) <= GROUP_ROWS);
    if (!few || tensor_size(y.t) == 0)
        return false;
    struct linear_group g = {};
    g.n = 1;
    g.product[0] = { x, w, bias, nullptr, 1, y, ALL_ROWS };
    cuda_linear_group(c, y.t, &g);
    return true;
}

extern "C" void cuda_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta,
                            const struct tensor *b, bool tb)
{
    if (!y.t || (!ta && tb && cuda_few_rows(c, y, a, b, nullptr)) || cuda_library_matmul(c, y, a, ta, b, tb, nullptr))
        return;
    struct cuda_gemm p = {};
    p.y = y.t, p.a = a, p.b = b;
    p.m = y.t->shape[0], p.n = y.t->shape[1], p.k = a->shape[ta ? 0 : 1];
    p.ta = ta, p.tb = tb, p.add = y.add;
    cuda_gemm_run(c, &p);
}
