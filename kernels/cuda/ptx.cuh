/*
 * ptx.cuh - instructions without a C++ equivalent, each with a plain C++ version for simt.
 *
 * __CUDA_ARCH__ is defined while nvcc compiles for the GPU, __CUDACC__ in nvcc's passes for host and GPU.  In the simt
 * version, lanes exchange registers through simt_exchange, which also checks that the lanes named by its mask take
 * part.
 */
#ifndef KERNELS_CUDA_PTX_CUH
#define KERNELS_CUDA_PTX_CUH

#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

/* The bits of a float as an integer, and back. */
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

/* x y, rounded.  The compiler must not fuse it into a multiply-add, which would keep the bits that rounding removes. */
__device__ inline float rounded_product(float x, float y)
{
#ifdef __CUDA_ARCH__
    return __fmul_rn(x, y);
#else
    volatile float product = x * y;
    return product;
#endif
}

/* 2^x in one instruction, with a relative error below 2^-22.  Results below 2^-126 become 0. */
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

/* 1 / x in one instruction, with an error of at most one unit in the last place.  Results below 2^-126 become 0. */
__device__ inline float reciprocal_fast(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return x > 0x1p126f ? 0.0f : 1.0f / x;
#endif
}

/* The nearest integer; of two equally near ones the even one. */
__device__ inline int nearest(float x)
{
#ifdef __CUDA_ARCH__
    return __float2int_rn(x);
#else
    return (int)rintf(x);
#endif
}

/* Returns x >= 0 as a new value: the compiler computes addresses from it again, and keeps them in no register. */
__device__ inline int afresh(int x)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
    __builtin_assume(x >= 0);
#endif
    return x;
}

/* Rounds to the nearest bf16, ties to even. */
__host__ __device__ inline uint16_t bf16_bits(float x)
{
#ifdef __CUDA_ARCH__
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    return bf16_from_f32(x);
#endif
}

/* Two bf16 in a register, `low` in its lower half.  The PTX instruction takes the upper half first. */
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
 * d[16,8] += a[16,16] b[16,8] on tensor cores: bf16 factors, f32 sums (PTX ISA, mma.m16n8k16).
 *
 * The 32 lanes share the matrices.  With g = lane / 4 and i = lane % 4 a lane holds:
 *
 *     register   a (row, columns)          b (rows, column)          d (row, column)
 *     0          g,     2i and 2i + 1      2i and 2i + 1,   g        g,     2i
 *     1          g + 8, 2i and 2i + 1      2i + 8, 2i + 9,  g        g,     2i + 1
 *     2          g,     2i + 8, 2i + 9                               g + 8, 2i
 *     3          g + 8, 2i + 8, 2i + 9                               g + 8, 2i + 1
 *
 * Each register of a and b holds two bf16, the first in its lower half.  Two neighbouring results d thus have the
 * layout of a left factor a: a product can feed the next one without any exchange between lanes.
 */
__device__ inline void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#ifdef __CUDACC__
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    /* A lane needs the rows g and g + 8 of a, which the four lanes of its group hold.  It also needs the columns 2i and
     * 2i + 1 of b, which the lanes of groups 2i and 2i + 1 hold. */
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
 * Loads four 8 x 8 matrices of 16-bit elements from shared memory (PTX ISA, ldmatrix).
 *
 * Lanes 8j .. 8j + 7 pass the addresses of the rows of matrix j, 16 bytes each.  Lane l receives in r[j] two elements
 * of matrix j, or of its transpose: those in row l / 4 from column 2 (l % 4) on.  The instruction is fast if the eight
 * rows of a matrix lie in different banks.  Tiles have gaps (mma_tile.cuh) or a swizzle (swizzled.cuh) for that
 * purpose.
 */
template <bool TRANSPOSED>
__device__ inline void load_matrices(unsigned (&r)[4], const void *row)
{
#ifdef __CUDACC__
    /* ldmatrix takes an address in the window of shared memory, not a generic pointer. */
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
 * Programmatic dependent launch (CUDA Programming Guide), on GPUs of Hopper's generation and later.
 *
 * It hides the time between two kernels.  A kernel of LAUNCH_EARLY may start when every block of the kernel before it
 * has called dependents_launch or has ended.  Its threads call dependency_wait before they read results of earlier
 * launches, and before they write.  Until then they may read constants only: weights, and results of kernels that do
 * not call dependents_launch.
 *
 * At least one block of a kernel of LAUNCH_EARLY waits, so that the end of a kernel is the end of all kernels before
 * it.
 */

/* Allows the next kernel of LAUNCH_EARLY to start. */
__device__ inline void dependents_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Waits until all earlier launches have ended and their writes are visible. */
__device__ inline void dependency_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#elif !defined(__CUDACC__)
    simt_dependency_wait();
#endif
}

/* Starts a copy of 16 bytes from global to shared memory (cp.async).  Only the first `bytes` are read, and the rest
 * becomes 0.  The copy bypasses registers and runs in the background until copy_wait. */
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

/* Closes the group of copies that this thread has started since its last call.  A group may be empty. */
__device__ inline void copy_commit()
{
#ifdef __CUDACC__
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    simt_copy_commit();
#endif
}

/* Waits until at most PENDING of this thread's newest groups are in flight.  Only this thread's copies are complete
 * then: before a thread reads copies of other threads, a barrier must follow. */
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
