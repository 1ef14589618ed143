#include "kernels/cuda/matmul.cuh"

#include "kernels/cuda/activation.cuh"

constexpr int TILE = 64, DEEP = 16, EACH = 4, THREADS = TILE / EACH * (TILE / EACH);

/* A product as its kernel sees it. */
template <typename T, typename U>
struct gemm_view {
    U *y, *pre;
    const T *a, *b;
    const float *bias;
    int64_t m, n, k;
    int act;
    bool ta, tb, add;
};

/*
 * tile[i][j] = element (at + j, k + i) of a matrix [rows, depth], or of its transpose [depth, rows]; zeros outside.
 * Neighbouring threads read neighbouring addresses either way.
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
 * Grid     one block per TILE x TILE of y, n tiles going round fastest; a thread makes EACH x EACH of them.
 * Memory   reads a n / TILE times and b m / TILE times through 8 KiB of shared memory, writes y once.
 * Numbers  f32 products and sums, in the order of k.
 * Serves   small and odd shapes, and simt; large products go to cuBLASLt.
 */
template <typename T, typename U>
__global__ void __launch_bounds__(THREADS) gemm_kernel(gemm_view<T, U> p)
{
    __shared__ float a[DEEP][TILE + 1], b[DEEP][TILE + 1];
    int64_t tiles = (p.n + TILE - 1) / TILE, row = block_id() / tiles * TILE, col = block_id() % tiles * TILE;
    int i0 = thread_id() / (TILE / EACH), j0 = thread_id() % (TILE / EACH);
    float sum[EACH][EACH] = { { 0 } };
    for (int64_t k = 0; k < p.k; k += DEEP) {
        load_tile(a, p.a, p.ta, row, p.m, k, p.k);
        load_tile(b, p.b, !p.tb, col, p.n, k, p.k);
        __syncthreads();
        for (int d = 0; d < DEEP; d++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += a[d][i0 + i * (TILE / EACH)] * b[d][j0 + j * (TILE / EACH)];
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) {
            int64_t r = row + i0 + i * (TILE / EACH), s = col + j0 + j * (TILE / EACH);
            if (r >= p.m || s >= p.n)
                continue;
            float v = sum[i][j] + (p.bias ? p.bias[s] : 0.0f);
            if (p.pre)
                p.pre[r * p.n + s] = U(v);
            put(p.y + r * p.n + s, activate(v, p.act), p.add);
        }
}

template <typename T, typename U>
static void launch_gemm(struct ctx *c, const struct cuda_gemm *p)
{
    gemm_view<T, U> v = { data_of<U>(p->y),
                          data_of<U>(p->pre),
                          data_of<T>(p->a),
                          data_of<T>(p->b),
                          data_of<float>(p->bias),
                          p->m,
                          p->n,
                          p->k,
                          (int)p->act,
                          p->ta,
                          p->tb,
                          p->add };
    int64_t tiles = ((p->m + TILE - 1) / TILE) * ((p->n + TILE - 1) / TILE);
    LAUNCH((gemm_kernel<T, U>), blocks_for(tiles, 1), THREADS, 0, cuda_stream(c), v);
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
    if (tensor_rows(y.t) > GROUP_ROWS || tensor_size(y.t) == 0)
        return false;
    struct linear_group g = {};
    g.n = 1;
    g.product[0] = { x, w, bias, nullptr, 1, y };
    cuda_linear_group(c, &g);
    return true;
}

extern "C" void cuda_matmul(struct ctx *c, struct destination y, const struct tensor *a, bool ta,
                            const struct tensor *b, bool tb)
{
    if (!y.t || (!ta && tb && cuda_few_rows(c, y, a, b, nullptr)) ||
        cuda_library_matmul(c, y, a, ta, b, tb, nullptr))
        return;
    struct cuda_gemm p = {};
    p.y = y.t, p.a = a, p.b = b;
    p.m = y.t->shape[0], p.n = y.t->shape[1], p.k = a->shape[ta ? 0 : 1];
    p.ta = ta, p.tb = tb, p.add = y.add;
    cuda_gemm_run(c, &p);
}
