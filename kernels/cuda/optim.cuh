/*
 * optim.cuh - the common part of the optimisers: the chunk that a block updates, the learning rate, clipping.
 *
 * All parameters of a model are rows of one table, in chunks of UPDATE_CHUNK elements.  One launch updates them all, a
 * block a chunk.
 */
#pragma once

#include "kernels/cuda/cuda.cuh"

constexpr int UPDATE_THREADS = 256;

/* Chunk `number` of a row of the table. */
struct table_chunk {
    int row;
    int64_t number;
};

/* Finds the chunk of this block.  Each thread looks at some of the rows, and exactly one of them finds it.  All
 * UPDATE_THREADS threads call it, once in a kernel. */
__device__ inline struct table_chunk chunk_of(const struct update_table &t)
{
    __shared__ struct table_chunk s;
    for (int i = thread_id(); i < t.n; i += UPDATE_THREADS)
        if (t.first[i] <= block_id() && block_id() < t.first[i + 1])
            s = { i, block_id() - t.first[i] };
    __syncthreads();
    return s;
}

/* The learning rate at a step: linear warm-up, then constant, linear or cosine decay.  It is computed in f64 and
 * rounded once. */
__device__ inline float rate_at(const struct schedule &s, int64_t step)
{
    double rate = s.lr;
    if (step < s.warmup) {
        rate *= (double)step / (double)s.warmup;
    } else if (s.form != SCHEDULE_CONSTANT && step >= s.total) {
        rate = 0;
    } else if (s.form != SCHEDULE_CONSTANT) {
        double u = (double)(step - s.warmup) / (double)(s.total - s.warmup);
        rate *= s.form == SCHEDULE_COSINE ? 0.5 * (1.0 + cos(3.141592653589793 * u)) : 1.0 - u;
    }
    return (float)rate;
}

/* The factor of the gradients for a squared norm of `norm`: 1, or less if the norm exceeds `clip`. clip 0:
 * no clipping. */
__device__ inline float clip_scale(float clip, float norm)
{
    double size = sqrt((double)norm);
    return clip > 0 && size > (double)clip ? (float)((double)clip / size) : 1.0f;
}
