/*
 * ptx.cuh - every instruction that C++ has no word for, each with the same thing spelled out for simt.
 */
#ifndef KERNELS_CUDA_PTX_CUH
#define KERNELS_CUDA_PTX_CUH

#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

__host__ __device__ inline float f32_bits(unsigned u)
{
#ifdef __CUDA_ARCH__
    return __uint_as_float(u);
#else
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
#endif
}

__host__ __device__ inline unsigned f32_word(float f)
{
#ifdef __CUDA_ARCH__
    return __float_as_uint(f);
#else
    unsigned u;
    memcpy(&u, &f, sizeof u);
    return u;
#endif
}

/* x y, rounded: no part of a multiply-add, which would keep what is rounded away. */
__device__ inline float rounded_product(float x, float y)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(x, y);
#else
    volatile float product = x * y;
    return product;
#endif
}

/* 2^x in one instruction, 0 where that is below 2^-126; off by less than 2^-22 of it. */
__device__ inline float exp2_fast(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    float y = exp2f(x);
    return y < 0x1p-126f ? 0.0f : y;
#endif
}

/* a / b, off by at most two units of the last place; 0 where b is above 2^126. */
__device__ inline float divide_fast(float a, float b)
{
#ifdef __CUDA_ARCH__
    return __fdividef(a, b);
#else
    return b > 0x1p126f ? 0.0f : a / b;
#endif
}

/* The nearest integer, even where two are as near. */
__device__ inline int nearest(float x)
{
#ifdef __CUDA_ARCH__
    return __float2int_rn(x);
#else
    return (int)rintf(x);
#endif
}

/* x, for the compiler a new number: it computes again what depends on it, and keeps no registers for that meanwhile. */
__device__ inline int afresh(int x)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* Round to nearest even. */
__host__ __device__ inline uint16_t bf16_bits(float x)
{
#ifdef __CUDA_ARCH__
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    return bf16_from_f32(x);
#endif
}

/* Two bf16 in a register, the first in the lower half. */
__device__ inline unsigned bf16_pair(float low, float high)
{
#ifdef __CUDA_ARCH__
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return (unsigned)bf16_bits(low) | (unsigned)bf16_bits(high) << 16;
#endif
}

/*
 * d[16,8] += a[16,16] b[16,8], bf16 in, f32 sums (PTX ISA, mma.m16n8k16).  With g = lane / 4, i = lane % 4 a lane holds
 * a: rows g, g + 8, columns 2i, 2i + 1 and 8 further on; b: rows as a's columns, column g; d: rows g, g + 8, columns
 * 2i, 2i + 1.  Registers hold two values, a in the order (g, 2i), (g + 8, 2i), (g, 2i + 8), (g + 8, 2i + 8).
 */
__device__ inline void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#ifdef __CUDACC__
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    const unsigned mine[6] = { a[0], a[1], a[2], a[3], b[0], b[1] };
    int group = simt_current->lane / 4, within = simt_current->lane % 4;
    const unsigned char *slots =
        simt_exchange(mine, sizeof mine, 0xffffffffu, { __FILE__, __LINE__ }, 0xfu << 4 * group | 0xffu << 8 * within);
    float rows[2][16], columns[2][16];
    for (int k = 0; k < 16; k += 2) /* the registers that hold elements k and k + 1 */
        for (int i = 0; i < 2; i++) {
            unsigned row, column;
            memcpy(&row, slots + (4 * group + k % 8 / 2) * SIMT_SLOT + 4 * (2 * (k / 8) + i), 4);
            memcpy(&column, slots + (4 * (2 * within + i) + k % 8 / 2) * SIMT_SLOT + 4 * (4 + k / 8), 4);
            rows[i][k] = f32_bits(row << 16), rows[i][k + 1] = f32_bits(row & 0xffff0000u);
            columns[i][k] = f32_bits(column << 16), columns[i][k + 1] = f32_bits(column & 0xffff0000u);
        }
    for (int out = 0; out < 4; out++)
        for (int k = 0; k < 16; k++)
            d[out] += rows[out / 2][k] * columns[out % 2][k];
#endif
}

/*
 * Four 8 x 8 matrices of 16-bit elements from shared memory: lanes 8j .. 8j + 7 give the addresses of matrix j's rows,
 * 16 bytes each; lane l receives in r[j] the elements (l / 4, 2 (l % 4)) and the next, transposed first when asked.
 */
template <bool TRANSPOSED>
__device__ inline void load_matrices(unsigned (&r)[4], const void *row)
{
#ifdef __CUDACC__
    unsigned at = (unsigned)__cvta_generic_to_shared(row);
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
#else
    CHECK(((uintptr_t)row & 15) == 0, "ldmatrix: expected a row aligned to 16 bytes");
    int line = simt_current->lane / 4, first = 2 * (simt_current->lane % 4);
    unsigned mine[4], from = TRANSPOSED ? 3u << first : 1u << line; /* of the 8 lanes with a matrix's rows */
    memcpy(mine, row, sizeof mine);
    const unsigned char *slots = simt_exchange(mine, sizeof mine, 0xffffffffu, { __FILE__, __LINE__ },
                                               from | from << 8 | from << 16 | from << 24);
    for (int j = 0; j < 4; j++) {
        uint16_t pair[2];
        for (int i = 0; i < 2; i++) {
            int at =
                TRANSPOSED ? (8 * j + first + i) * SIMT_SLOT + 2 * line : (8 * j + line) * SIMT_SLOT + 2 * (first + i);
            memcpy(&pair[i], slots + at, 2);
        }
        r[j] = (unsigned)pair[0] | (unsigned)pair[1] << 16;
    }
#endif
}

/*
 * Programmatic dependent launch (CUDA Programming Guide), on GPUs of Hopper's generation and later.  A kernel of
 * LAUNCH_EARLY may start when every block of the kernel before it has called dependents_launch or has ended.  Its
 * threads call dependency_wait before they read results of earlier launches, and before they write.  Until then they
 * may read constants only: weights, and results of kernels that do not call dependents_launch.  At least one block of a
 * kernel of LAUNCH_EARLY waits, so that the end of a kernel is the end of all kernels before it.
 */
__device__ inline void dependents_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Waits until the launches before have ended and their writes can be read. */
__device__ inline void dependency_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__CUDACC__)
    simt_dependency_wait();
#endif
}

/* Starts a copy of 16 bytes from global to shared memory, of which only the first `bytes` are read and the rest is 0.
 */
__device__ inline void copy_async(void *shared, const void *global, int bytes)
{
#ifdef __CUDACC__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global), "r"(bytes)
                 : "memory");
#else
    CHECK((((uintptr_t)shared | (uintptr_t)global) & 15) == 0, "cp.async: expected addresses aligned to 16 bytes");
    simt_copy_start(shared, global, bytes);
#endif
}

/* Ends the group of copies started since the last call. */
__device__ inline void copy_commit()
{
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    simt_copy_commit();
#endif
}

/* Waits until at most PENDING of this thread's newest groups are under way. */
template <int PENDING>
__device__ inline void copy_wait()
{
#ifdef __CUDACC__
    asm volatile("cp.async.wait_group %0;" : : "n"(PENDING) : "memory");
#else
    simt_copy_wait(PENDING);
#endif
}

#endif
