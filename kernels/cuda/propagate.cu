#include "kernels/cuda/cuda.cuh"

constexpr int THREADS = 128;

/* The edges of a node in one direction: into it, or out of it. */
struct edge_ends {
    const int *offsets, *edges, *others; /* edges nullptr: position k is the edge */
    const float *w;
};

/*
 * y[i,:] (+)= sum over i's edges e of w[e] x[other end,:]
 *
 * Grid     one warp per node and WARP * PACK columns, lanes over the columns.
 * Memory   reads a row of x per edge (from L2, since edges share ends), writes y once.
 * Numbers  f32 sums in the order of the edges, one rounding.
 */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    propagate_kernel(T *__restrict__ y, const T *__restrict__ x, edge_ends b, int64_t nodes, int64_t cols, bool add)
{
    int64_t tiles = (cols + WARP * PACK - 1) / (WARP * PACK), task = grid_warp();
    int64_t i = task / tiles, j = (task % tiles * WARP + lane_id()) * PACK;
    float sum[PACK] = { 0 }, v[PACK];
    if (i >= nodes || j >= cols)
        return;
    for (int k = b.offsets[i]; k < b.offsets[i + 1]; k++) {
        int e = b.edges ? b.edges[k] : k;
        load_pack(v, x + b.others[e] * cols + j, cols - j);
        for (int n = 0; n < PACK; n++)
            sum[n] += b.w[e] * v[n];
    }
    put_pack(y + i * cols + j, sum, cols - j, add);
}

extern "C" void cuda_propagate(struct ctx *c, struct destination y, const struct tensor *x, const struct tensor *w,
                               const struct graph *g, bool back)
{
    int64_t cols = tensor_cols(x), tiles = (cols + WARP * PACK - 1) / (WARP * PACK);
    edge_ends b = { data_of<int>(back ? g->out_offsets : g->offsets), back ? data_of<int>(g->out_edges) : nullptr,
                    data_of<int>(back ? g->targets : g->sources), data_of<float>(w) };
    if (g->nodes && cols)
        DTYPE_SWITCH(x->dtype, LAUNCH(propagate_kernel<T>, blocks_for(g->nodes * tiles, THREADS / WARP), THREADS, 0,
                                      cuda_stream(c), data_of<T>(y.t), data_of<T>(x), b, g->nodes, cols, y.add));
}
