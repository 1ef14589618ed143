/*
 * linear_group.cuh - what the kernels of linear_group share: two for bf16, of few rows and in tiles, and one for f32.
 *
 * Both bf16 kernels give the same bits.  Numbers of k come in strips of STRIP.  A product's sum is that of CHAINS
 * chains in order; chain i adds the strips i, i + CHAINS, ... in order, by mma_bf16 with w as its left operand, 16
 * numbers at a time as they lie in memory.  Zeros behind the end of k change no bit.  fmaf is written wherever a
 * compiler could choose between one rounding and two.
 */
#ifndef KERNELS_CUDA_LINEAR_GROUP_CUH
#define KERNELS_CUDA_LINEAR_GROUP_CUH

#include "kernels/cuda/activation.cuh"

constexpr int STRIP = 32, CHAINS = 2;
constexpr int FEW_ROWS = 64;                                        /* more go in tiles, if tiles serve the group */
constexpr int NORM_THREADS = 128, NORM_WARPS = NORM_THREADS / WARP; /* see square_leave */
constexpr int NORM_ROUND = NORM_THREADS * PACK;

/* A product as its kernel sees it. */
template <typename T>
struct product_view {
    const T *x, *w;
    const float *bias, *addend;
    void *y;
    int64_t k, cols, first; /* its first block */
    uint64_t rows;          /* see linear_product */
    float scale;
    bool wide, add, aligned; /* y is F32; y is added to; rows of x and w start at multiples of 16 bytes */
    bool whole;              /* what y's rows and columns have comes in packs of PACK numbers, aligned */
};

template <typename T>
struct group_view {
    product_view<T> product[GROUP_PRODUCTS];
    const float *norm;     /* NULL: none */
    const float *rstd;     /* of each row, where x has been weighed by the norm already; else NULL */
    const int *adapter_of; /* NULL: products are for all rows */
    float eps;
    enum gate gate;
    int n, each; /* products; those that a number of y comes from */
    bool joint;  /* the products that a number comes from read the same x */
    int64_t rows;
};

/* Products of bf16 in blocks of few rows, any number of them. */
void cuda_group_few(struct ctx *c, group_view<bf16> a);
/* Products of many rows, in tiles; false, and nothing done, where tiles do not serve the group. */
bool cuda_group_tiles(struct ctx *c, group_view<bf16> a);
/* Weighs x by the norm into scratch, for kernels that find rstd there; false where x does not fit. */
bool cuda_group_norm(struct ctx *c, group_view<bf16> *a);

/* Gives each product its blocks of `rows` rows and `cols` columns; how many they are. */
template <typename T>
static inline int64_t number_blocks(group_view<T> &a, int rows, int cols)
{
    int64_t blocks = 0;
    for (int i = 0; i < a.n; i++) {
        a.product[i].first = blocks;
        if (i % a.each == 0)
            blocks += (a.rows + rows - 1) / rows * ((a.product[i].cols + cols - 1) / cols);
    }
    return blocks;
}

/* The product, or the first of the two, whose block this is. */
template <typename T>
__device__ inline const product_view<T> &product_of(const group_view<T> &a)
{
    int number = 0;
    while (number + a.each < a.n && block_id() >= a.product[number + a.each].first)
        number += a.each;
    return a.product[number];
}

/* x[0 .. 8) as pairs, zeros from left on. */
__device__ inline void load_eight(unsigned (&v)[4], const bf16 *x, int64_t left, bool aligned)
{
    if (left >= PACK && aligned) {
        uint4 a = *(const uint4 *)x;
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        return;
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        unsigned low = 2 * i < left ? x[2 * i].bits : 0u, high = 2 * i + 1 < left ? x[2 * i + 1].bits : 0u;
        v[i] = low | high << 16;
    }
}

/* Multiplies eight numbers of x by the norm's weights, and adds their squares up. */
__device__ inline void weigh(unsigned (&v)[4], float &square, const float (&w)[PACK])
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        float low = f32_bits(v[i] << 16), high = f32_bits(v[i] & 0xffff0000u);
        square += fmaf(low, low, high * high);
        v[i] = bf16_pair(low * w[2 * i], high * w[2 * i + 1]);
    }
}

/* Whether a row is the product's to write. */
template <typename T>
__device__ inline bool has_row(const group_view<T> &a, const product_view<T> &p, int64_t row)
{
    return row < a.rows && (!a.adapter_of || (p.rows >> a.adapter_of[row] & 1));
}

/* Whether any of n rows is; the same for all threads of a block. */
template <typename T>
__device__ inline bool has_rows(const group_view<T> &a, const product_view<T> &p, int64_t row0, int n)
{
    bool any = !a.adapter_of;
    for (int r = 0; r < n && !any; r++)
        any = has_row(a, p, row0 + r);
    return any;
}

/* Thread t of NORM_THREADS adds the squares of the packs t, t + NORM_THREADS, ... of a row in order.  square_leave
 * leaves the sum of each warp in `part`, for square_factor behind a barrier. */
__device__ inline void square_leave(float *part, float square)
{
    square = warp_sum(square);
    if (lane_id() == 0)
        part[warp_id()] = square;
}

/* 1 / rms of a row of k numbers. */
__device__ inline float square_factor(const float *part, int64_t k, float eps)
{
    float sum = 0;
    for (int w = 0; w < NORM_WARPS; w++)
        sum += part[w];
    return rsqrtf(sum / (float)k + eps);
}

/* The number at row, col from its sum and the norm's factor. */
template <typename T>
__device__ inline float finished(const product_view<T> &p, float sum, float rstd, int64_t row, int64_t col)
{
    float v = fmaf(sum, p.scale * rstd, p.bias ? p.bias[col] : 0.0f);
    return p.addend ? v + p.addend[row * p.cols + col] : v;
}

template <typename T>
__device__ inline float gated(const group_view<T> &a, float gate, float up)
{
    return (a.gate == GATE_GELU ? activate(gate, ACT_GELU_TANH) : gate * sigmoid(gate)) * up;
}

template <typename T>
__device__ inline void put_number(const product_view<T> &p, int64_t row, int64_t col, float v)
{
    if (p.wide)
        put((float *)p.y + row * p.cols + col, v, p.add);
    else
        put((T *)p.y + row * p.cols + col, v, p.add);
}

#endif
