#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 256;

/*
 * y[t,:] = cos(positions[t] freqs), sin(positions[t] freqs)
 *
 * Grid     one thread per position and frequency.
 * Memory   writes y once; once per step.
 * Numbers  the product is rounded to f32 before its cosine and sine, which are good to 2 units at any position.
 */
__global__ void __launch_bounds__(THREADS)
    rope_angles_kernel(float *__restrict__ y, const int *__restrict__ positions, const float *__restrict__ freqs,
                       int64_t rows, int64_t half)
{
    int64_t i = grid_thread(), t = i / half, j = i % half;
    if (t >= rows)
        return;
    float angle = (float)positions[t] * freqs[j];
    y[2 * t * half + j] = cosf(angle);
    y[(2 * t + 1) * half + j] = sinf(angle);
}

/*
 * y_j (+)= x_j cos - x_(j+half) sin, y_(j+half) (+)= x_(j+half) cos + x_j sin in every head; back: by the negative
 * angle
 *
 * Grid     one thread per PACK pairs of columns.
 * Memory   reads x once, y once when adding, writes y once; the angles of a row come from L1 for all heads but one.
 * Numbers  in f32, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    rope_kernel(T *__restrict__ y, const T *__restrict__ x, const float *__restrict__ angles, int64_t rows,
                int64_t heads, int64_t half, float sign, bool add)
{
    int64_t packs = (half + PACK - 1) / PACK, i = grid_thread(), j = i % packs * PACK;
    int64_t head = i / packs, t = head / heads, at = head * 2 * half + j;
    float a[PACK], b[PACK], cosine[PACK], sine[PACK], low[PACK], high[PACK];
    if (t >= rows)
        return;
    load_pack(a, x + at, half - j);
    load_pack(b, x + at + half, half - j);
    load_pack(cosine, angles + 2 * t * half + j, half - j);
    load_pack(sine, angles + (2 * t + 1) * half + j, half - j);
    for (int k = 0; k < PACK; k++) {
        float s = sign * sine[k];
        low[k] = a[k] * cosine[k] - b[k] * s;
        high[k] = b[k] * cosine[k] + a[k] * s;
    }
    put_pack(y + at, low, half - j, add);
    put_pack(y + at + half, high, half - j, add);
}

extern "C" void cuda_rope_angles(struct ctx *c, struct tensor *y, const struct tensor *positions,
                                 const struct tensor *freqs)
{
    int64_t rows = tensor_size(positions), half = tensor_size(freqs);
    if (rows * half > 0)
        LAUNCH(rope_angles_kernel, blocks_for(rows * half, THREADS), THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<int>(positions), data_of<float>(freqs), rows, half);
}

extern "C" void cuda_rope(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *angles,
                          bool back)
{
    int64_t rows = tensor_rows(x), half = tensor_cols(angles) / 2, heads = tensor_cols(x) / tensor_cols(angles);
    int64_t threads = rows * heads * ((half + PACK - 1) / PACK);
    if (threads == 0 || !y.t)
        return;
    DTYPE_SWITCH(x->dtype,
                 LAUNCH(rope_kernel<T>, blocks_for(threads, THREADS), THREADS, 0, cuda_stream(c), data_of<T>(y.t),
                        data_of<T>(x), data_of<float>(angles), rows, heads, half, back ? -1.0f : 1.0f, y.add));
}
