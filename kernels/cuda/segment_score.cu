#include "kernels/cuda/columns.cuh"

/* Arguments that forward and backward share. */
struct score_view {
    const float *w;
    const int *offsets, *rng;
    int64_t segments, cols;
    unsigned threshold, site;
    float keep_scale;
    bool mean, drop;
};

/* scale = the factors of columns j .. of the sum over segment s: 1 / rows for a mean, and dropout. */
__device__ inline void pooled_scale(float (&scale)[PACK], const struct score_view &v, int64_t s, int64_t j)
{
    int64_t rows = v.offsets[s + 1] - v.offsets[s];
    float factor = v.mean && rows > 0 ? 1.0f / (float)rows : 1.0f;
    for (int q = 0; q < PACK / 4; q++) {
        struct philox word = v.drop ? rng_quad(v.rng, v.site, (uint32_t)s, (uint32_t)(j / 4 + q)) : philox{};
        for (int k = 0; k < 4; k++)
            scale[4 * q + k] = !v.drop ? factor : word.v[k] < v.threshold ? 0.0f : factor * v.keep_scale;
    }
}

/*
 * pooled[s,:] = dropout of the sum or mean of rows offsets[s] .. offsets[s+1] of x;  y[s] = w . pooled[s,:] + b
 *
 * Grid     one block per segment; warps take turns at the rows, for COLUMN_TILE columns at a time.
 * Memory   reads x once, writes pooled once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the offsets.
 */
__global__ void __launch_bounds__(COLUMN_THREADS)
    segment_score_kernel(float *__restrict__ y, float *__restrict__ pooled, const float *__restrict__ x,
                         const float *__restrict__ b, struct score_view v)
{
    int64_t s = block_id(), first = v.offsets[s], end = v.offsets[s + 1];
    float score = 0;
    for (int64_t tile = 0; tile < v.cols; tile += COLUMN_TILE) {
        int64_t j = tile + lane_id() * PACK, left = v.cols - j;
        float sum[PACK] = { 0 }, row[PACK], scale[PACK];
        for (int64_t r = first + warp_id(); r < end; r += COLUMN_WARPS) {
            load_pack(row, x + r * v.cols + j, left);
            for (int k = 0; k < PACK; k++)
                sum[k] += row[k];
        }
        sum_over_warps(sum);
        pooled_scale(scale, v, s, j);
        load_pack(row, v.w + j, left);
        for (int k = 0; k < PACK; k++) {
            sum[k] *= scale[k];
            score += sum[k] * row[k]; /* of warp 0 alone; both are 0 behind the last column */
        }
        if (warp_id() == 0)
            store_pack(pooled + s * v.cols + j, sum, left);
    }
    score = warp_sum(score);
    if (thread_id() == 0)
        y[s] = score + *b;
}

/* The gradients; NULL: not wanted. */
struct score_gradient {
    float *x, *w, *b;
    bool x_add, w_add, b_add;
};

/* dx[r,:] (+)= dy[s] w scale for the rows r of a segment. */
__device__ inline void spread_score(const struct score_gradient &d, const float *dy, const struct score_view &v,
                                    int64_t s)
{
    int64_t first = v.offsets[s], end = v.offsets[s + 1];
    for (int64_t j = lane_id() * PACK; j < v.cols; j += COLUMN_TILE) {
        float scale[PACK], w[PACK];
        pooled_scale(scale, v, s, j);
        load_pack(w, v.w + j, v.cols - j);
        for (int k = 0; k < PACK; k++)
            w[k] *= dy[s] * scale[k];
        for (int64_t r = first + warp_id(); r < end; r += COLUMN_WARPS)
            put_pack(d.x + r * v.cols + j, w, v.cols - j, d.x_add);
    }
}

/* dw (+)= sum of dy[s] pooled[s,:] for the columns of a tile;  db (+)= sum of dy, by the first tile */
__device__ inline void score_vectors(const struct score_gradient &d, const float *dy, const float *pooled,
                                     const struct score_view &v, int64_t tile)
{
    int64_t j = tile * COLUMN_TILE + lane_id() * PACK, left = v.cols - j;
    float sum[PACK] = { 0 }, row[PACK], all = 0;
    for (int64_t s = warp_id(); s < v.segments; s += COLUMN_WARPS) {
        load_pack(row, pooled + s * v.cols + j, left);
        for (int k = 0; k < PACK; k++)
            sum[k] += dy[s] * row[k];
    }
    sum_over_warps(sum);
    if (warp_id() == 0 && d.w)
        put_pack(d.w + j, sum, left, d.w_add);
    if (tile || !d.b)
        return;
    for (int64_t s = thread_id(); s < v.segments; s += COLUMN_THREADS)
        all += dy[s];
    all = block_sum(all);
    if (thread_id() == 0)
        put(d.b, all, d.b_add);
}

/*
 * Grid     one block per COLUMN_TILE columns of w, then one block per segment if dx is wanted.
 * Memory   reads pooled once, writes dx once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(COLUMN_THREADS)
    segment_score_backward_kernel(struct score_gradient d, const float *__restrict__ dy,
                                  const float *__restrict__ pooled, struct score_view v, int64_t tiles)
{
    if (block_id() < tiles)
        score_vectors(d, dy, pooled, v, block_id());
    else
        spread_score(d, dy, v, block_id() - tiles);
}

static struct score_view view_of(const struct ctx *c, const struct tensor *w, const struct seqs *s, enum pool pool,
                                 float p, uint32_t site)
{
    struct score_view v = {};
    v.w = data_of<float>(w), v.offsets = data_of<int>(s->offsets);
    v.drop = p > 0, v.rng = v.drop ? data_of<int>(c->rng) : nullptr;
    v.segments = s->n, v.cols = tensor_size(w);
    v.threshold = rng_threshold(p), v.site = site, v.keep_scale = 1.0f / (1.0f - p);
    v.mean = pool == POOL_MEAN;
    return v;
}

extern "C" void cuda_segment_score(struct ctx *c, struct tensor *y, struct tensor *pooled, const struct tensor *x,
                                   const struct tensor *w, const struct tensor *b, const struct seqs *s, enum pool pool,
                                   float p, uint32_t site)
{
    if (s->n)
        LAUNCH(segment_score_kernel, blocks_for(s->n, 1), COLUMN_THREADS, 0, cuda_stream(c), data_of<float>(y),
               data_of<float>(pooled), data_of<float>(x), data_of<float>(b), view_of(c, w, s, pool, p, site));
}

extern "C" void cuda_segment_score_backward(struct ctx *c, struct destination dx, struct destination dw,
                                            struct destination db, const struct tensor *dy, const struct tensor *pooled,
                                            const struct tensor *w, const struct seqs *s, enum pool pool, float p,
                                            uint32_t site)
{
    int64_t tiles = dw.t || db.t ? column_tiles(tensor_size(w)) : 0, blocks = tiles + (dx.t ? s->n : 0);
    struct score_gradient d = {
        data_of<float>(dx.t), data_of<float>(dw.t), data_of<float>(db.t), dx.add, dw.add, db.add
    };
    if (blocks)
        LAUNCH(segment_score_backward_kernel, blocks_for(blocks, 1), COLUMN_THREADS, 0, cuda_stream(c), d,
               data_of<float>(dy), data_of<float>(pooled), view_of(c, w, s, pool, p, site), tiles);
}
