/*
 * element.cuh - the type bf16, and loads and stores of PACK elements at once.
 *
 * Kernels compute in f32 registers.  These functions are the only conversions between memory and registers, so a kernel
 * is written once for both element types.  Memory instructions move 16 bytes if the address is aligned; rows of odd
 * lengths fall back to single elements.
 */
#ifndef KERNELS_CUDA_ELEMENT_CUH
#define KERNELS_CUDA_ELEMENT_CUH

#include "kernels/cuda/ptx.cuh"

constexpr int PACK = 8; /* elements that a thread moves at once: 16 bytes of bf16, 32 of f32 */

/* bfloat16 with conversions. nvcc and the host compiler see the same type, so simt shares the sources. */
struct bf16 {
    uint16_t bits;
    bf16() = default;
    __host__ __device__ explicit bf16(float x) : bits(bf16_bits(x))
    {
    }
    __host__ __device__ operator float() const
    {
        return f32_bits((unsigned)bits << 16);
    }
};

/* Whether T is bfloat16. */
template <typename T>
constexpr bool dtype_half = sizeof(T) == sizeof(uint16_t);

__host__ __device__ inline bool aligned16(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

/* v = x[0 ..  PACK), with zeros from `left` on.  Elements behind `left` are not read. */
__device__ inline void load_pack(float (&v)[PACK], const float *x, int64_t left)
{
    if (left >= PACK && aligned16(x)) {
        /* Two loads of 16 bytes. */
        float4 a = ((const float4 *)x)[0], b = ((const float4 *)x)[1];
        v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
        v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
        return;
    }
    for (int i = 0; i < PACK; i++)
        v[i] = i < left ? x[i] : 0.0f;
}

__device__ inline void load_pack(float (&v)[PACK], const bf16 *x, int64_t left)
{
    if (left >= PACK && aligned16(x)) {
        /* One load of 16 bytes.  A bf16 is the upper half of an f32, so a shift or a mask converts it. */
        uint4 a = *(const uint4 *)x;
        const unsigned u[4] = { a.x, a.y, a.z, a.w };
        for (int i = 0; i < 4; i++) {
            v[2 * i] = f32_bits(u[i] << 16);
            v[2 * i + 1] = f32_bits(u[i] & 0xffff0000u);
        }
        return;
    }
    for (int i = 0; i < PACK; i++)
        v[i] = i < left ? (float)x[i] : 0.0f;
}

/* y[0 ..  PACK) = v, of which the first `left` elements are written. */
__device__ inline void store_pack(float *y, const float (&v)[PACK], int64_t left)
{
    if (left >= PACK && aligned16(y)) {
        ((float4 *)y)[0] = float4{ v[0], v[1], v[2], v[3] };
        ((float4 *)y)[1] = float4{ v[4], v[5], v[6], v[7] };
        return;
    }
    for (int i = 0; i < PACK; i++)
        if (i < left)
            y[i] = v[i];
}

__device__ inline void store_pack(bf16 *y, const float (&v)[PACK], int64_t left)
{
    if (left >= PACK && aligned16(y)) {
        *(uint4 *)y =
            uint4{ bf16_pair(v[0], v[1]), bf16_pair(v[2], v[3]), bf16_pair(v[4], v[5]), bf16_pair(v[6], v[7]) };
        return;
    }
    for (int i = 0; i < PACK; i++)
        if (i < left)
            y[i] = bf16(v[i]);
}

/* Load and store of a whole pack at an aligned address.  The compiler removes the test of alignment. */
template <typename T>
__device__ inline void load_whole(float (&v)[PACK], const T *x)
{
    load_pack(v, (const T *)__builtin_assume_aligned(x, 16), PACK);
}

template <typename T>
__device__ inline void store_whole(T *y, const float (&v)[PACK])
{
    store_pack((T *)__builtin_assume_aligned(y, 16), v, PACK);
}

/* y = v, or y += v if `add`.  The sum is rounded once. */
template <typename T>
__device__ inline void put_pack(T *y, const float (&v)[PACK], int64_t left, bool add)
{
    float sum[PACK];
    if (!add) {
        store_pack(y, v, left);
        return;
    }
    load_pack(sum, y, left);
    for (int i = 0; i < PACK; i++)
        sum[i] += v[i];
    store_pack(y, sum, left);
}

/* The same for a whole pack at an aligned address. */
template <typename T>
__device__ inline void put_whole(T *y, const float (&v)[PACK], bool add)
{
    put_pack((T *)__builtin_assume_aligned(y, 16), v, PACK, add);
}

/* The same for one element. */
template <typename T>
__device__ inline void put(T *y, float v, bool add)
{
    *y = T(add ? (float)*y + v : v);
}

#endif
