/*
 * linear_group.cuh - the common part of the kernels of linear_group: two for bf16, for few rows and in tiles, and one
 * for f32.
 *
 * Both bf16 kernels give the same bits, so the results of a row do not depend on the number of rows beside it.  The
 * order of a sum is therefore part of their contract.  The inner dimension k is cut into strips of STRIP numbers.  A
 * product's sum is the sum of CHAINS chains in order.  Chain i adds the strips i, i + CHAINS, ... in order, by mma_bf16
 * with w as its left operand, 16 numbers at a time as they lie in memory.  Zeros behind the end of k change no bit.
 *
 * fmaf is written wherever a compiler could choose between one rounding and two.
 */
#ifndef KERNELS_CUDA_LINEAR_GROUP_CUH
#define KERNELS_CUDA_LINEAR_GROUP_CUH

#include "kernels/cuda/activation.cuh"

constexpr int STRIP = 32, CHAINS = 2;
constexpr int FEW_ROWS = 64; /* more rows go in tiles, if tiles serve the group */
constexpr int NORM_THREADS = 128, NORM_WARPS = NORM_THREADS / WARP; /* see square_leave */
constexpr int NORM_ROUND = NORM_THREADS * PACK;

/* A product as its kernel sees it (struct linear_product). */
template <typename T>
struct product_view {
    const T *x, *w;
    const float *bias, *addend;
    void *y;
    int64_t k, cols, first; /* first: its first block in the grid */
    uint64_t rows;          /* mask of adapters, see linear_product */
    float scale;
    bool wide, add, aligned; /* y is F32; y is added to; rows of x and w are aligned to 16 bytes */
    bool whole;              /* rows and columns of y, bias and addend are whole aligned packs of PACK numbers */
};

/* All products of a launch. */
template <typename T>
struct group_view {
    product_view<T> product[GROUP_PRODUCTS];
    const float *norm;     /* NULL: none */
    const float *rstd;     /* of each row, if x has been multiplied by the norm's weights already; else NULL */
    const int *adapter_of; /* NULL: every product applies to all rows */
    float eps;
    enum gate gate;
    int n, each; /* products, and those that one number of y comes from: 2 for a glu */
    bool joint;  /* the products of one number read the same x */
    int64_t rows;
};

/* Products of bf16 in blocks of few rows.  It serves any number of rows. */
void cuda_group_few(struct ctx *c, group_view<bf16> a);
/* Products of many rows in tiles.  Returns false, with nothing done, if tiles do not serve the group. */
bool cuda_group_tiles(struct ctx *c, group_view<bf16> a);
/* Multiplies x by the norm's weights into scratch memory, where kernels then read it together with rstd.  Returns false
 * if x does not fit. */
bool cuda_group_norm(struct ctx *c, group_view<bf16> *a);

/* Assigns to each product its blocks of `rows` rows and `cols` columns, and returns the number of all blocks. */
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

/* Returns the product of this block, or the first of its two products. */
template <typename T>
__device__ inline const product_view<T> &product_of(const group_view<T> &a)
{
    int number = 0;
    while (number + a.each < a.n && block_id() >= a.product[number + a.each].first)
        number += a.each;
    return a.product[number];
}

/* x[0 .. 8) as four pairs, with zeros from `left` on. */
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

/* Multiplies eight numbers of x by the norm's weights, and adds their squares to `square`.  The squares are those of
 * the numbers before they are multiplied. */
__device__ inline void weigh(unsigned (&v)[4], float &square, const float (&w)[PACK])
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        float low = f32_bits(v[i] << 16), high = f32_bits(v[i] & 0xffff0000u);
        square += fmaf(low, low, high * high);
        v[i] = bf16_pair(low * w[2 * i], high * w[2 * i + 1]);
    }
}

/* Whether the product writes this row: the row exists and has one of the product's adapters. */
template <typename T>
__device__ inline bool has_row(const group_view<T> &a, const product_view<T> &p, int64_t row)
{
    return row < a.rows && (!a.adapter_of || (p.rows >> a.adapter_of[row] & 1));
}

/* Whether the product writes any of n rows.  All threads of a block get the same answer. */
template <typename T>
__device__ inline bool has_rows(const group_view<T> &a, const product_view<T> &p, int64_t row0, int n)
{
    bool any = !a.adapter_of;
    for (int r = 0; r < n && !any; r++)
        any = has_row(a, p, row0 + r);
    return any;
}

/* The squares of a row are added in a fixed order.  Thread t of NORM_THREADS adds the packs t, t + NORM_THREADS, ... in
 * order. square_leave stores the sum of each warp in `part`, and square_factor adds these sums behind a barrier. */
__device__ inline void square_leave(float *part, float square)
{
    square = warp_sum(square);
    if (lane_id() == 0)
        part[warp_id()] = square;
}

/* Returns 1 / rms of a row of k numbers. */
__device__ inline float square_factor(const float *part, int64_t k, float eps)
{
    float sum = 0;
    for (int w = 0; w < NORM_WARPS; w++)
        sum += part[w];
    return rsqrtf(sum / (float)k + eps);
}

/* Returns the number at row, col, from its sum over k and the norm's factor. */
template <typename T>
__device__ inline float finished(const product_view<T> &p, float sum, float rstd, int64_t row, int64_t col)
{
    float v = fmaf(sum, p.scale * rstd, p.bias ? p.bias[col] : 0.0f);
    return p.addend ? v + p.addend[row * p.cols + col] : v;
}

/* The gated linear unit: gate(gate) up, with GELU or SiLU. */
template <typename T>
__device__ inline float gated(const group_view<T> &a, float gate, float up)
{
    return (a.gate == GATE_GELU ? activate(gate, ACT_GELU_TANH) : gate * sigmoid(gate)) * up;
}

/* Stores a number of y, or adds it to y. */
template <typename T>
__device__ inline void put_number(const product_view<T> &p, int64_t row, int64_t col, float v)
{
    if (p.wide)
        put((float *)p.y + row * p.cols + col, v, p.add);
    else
        put((T *)p.y + row * p.cols + col, v, p.add);
}

#endif
