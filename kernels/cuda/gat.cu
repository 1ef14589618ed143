#include "kernels/cuda/columns.cuh"

constexpr int WARPS = 4;
/* A multiprocessor can hold so many: left alone, ptxas makes room for twice as many and spills.  simt has no such
 * bound. */
[[maybe_unused]] constexpr int BLOCKS = 8;

/* One aggregation as the kernels see it. */
template <typename T>
struct gat_view {
    const int *offsets, *sources, *types, *targets, *out_offsets, *out_edges, *rng;
    const T *z;
    const float *a_src, *a_dst, *edge_bias;
    float *src, *dst; /* scratch [N, H]: a_src . z_j and a_dst . z_i */
    int64_t nodes, edges;
    int heads, dim;
    float slope, keep_scale, share; /* share: what a head's output is multiplied by */
    unsigned threshold, site;
    bool drop;
};

/* The argument of LeakyReLU for edge e into i. */
template <typename T>
__device__ inline float edge_score(const gat_view<T> &g, int64_t e, int64_t i, int h)
{
    float s = g.src[(int64_t)g.sources[e] * g.heads + h] + g.dst[i * g.heads + h];
    return g.edge_bias ? s + g.edge_bias[(int64_t)g.types[e] * g.heads + h] : s;
}

/* What dropout and averaging multiply the coefficient of edge e and head h by. */
template <typename T>
__device__ inline float edge_share(const gat_view<T> &g, int64_t e, int h)
{
    if (!g.drop)
        return g.share;
    struct philox w = rng_quad(g.rng, g.site, (uint32_t)e, (uint32_t)(h / 4));
    int k = h % 4;
    unsigned word = k == 0 ? w.v[0] : k == 1 ? w.v[1] : k == 2 ? w.v[2] : w.v[3];
    return word < g.threshold ? 0.0f : g.share * g.keep_scale;
}

/*
 * src[n,h] = a_src[h] . z[n,h];  dst[n,h] = a_dst[h] . z[n,h]
 *
 * Grid     one warp per node and head.
 * Memory   reads z once: bandwidth bound.
 * Numbers  f32 sums in a fixed order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS) gat_score_kernel(gat_view<T> g)
{
    int64_t task = grid_warp();
    if (task >= g.nodes * g.heads)
        return;
    int64_t at = task * g.dim, a = task % g.heads * g.dim;
    float src = 0, dst = 0;
    for (int d = lane_id(); d < g.dim; d += WARP) {
        float z = (float)g.z[at + d];
        src += g.a_src[a + d] * z;
        dst += g.a_dst[a + d] * z;
    }
    src = warp_sum(src);
    dst = warp_sum(dst);
    if (lane_id() == 0) {
        g.src[task] = src;
        g.dst[task] = dst;
    }
}

/*
 * alpha[e,h] = softmax over the edges e into i of LeakyReLU(score)
 *
 * Grid     one warp per node and head, lanes over edges.
 * Memory   reads the scores three times (L1 after the first), writes alpha once.
 * Numbers  the largest score is taken out first; f32 sums in a fixed order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS) gat_softmax_kernel(float *__restrict__ alpha, gat_view<T> g)
{
    int64_t task = grid_warp();
    if (task >= g.nodes * g.heads)
        return;
    int64_t i = task / g.heads, first = g.offsets[i], end = g.offsets[i + 1];
    int h = (int)(task % g.heads);
    float most = -INFINITY, sum = 0;
    for (int64_t e = first + lane_id(); e < end; e += WARP) {
        float s = edge_score(g, e, i, h);
        s = s > 0 ? s : g.slope * s;
        alpha[e * g.heads + h] = s;
        most = fmaxf(most, s);
    }
    most = warp_max(most);
    for (int64_t e = first + lane_id(); e < end; e += WARP)
        sum += expf(alpha[e * g.heads + h] - most);
    sum = warp_sum(sum);
    for (int64_t e = first + lane_id(); e < end; e += WARP)
        alpha[e * g.heads + h] = expf(alpha[e * g.heads + h] - most) / sum;
}

/*
 * y[i,h,:] = sum over edges e into i of share(e,h) alpha[e,h] z[source(e),h,:] + bias; heads added up when mean
 *
 * Grid     one warp per node and head, or per node when mean; lanes over the columns of a head.
 * Memory   reads a row of z per edge (L2: neighbours share sources), writes y once.
 * Numbers  f32 sums in edge order, then head order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS)
    gat_gather_kernel(T *__restrict__ y, const float *__restrict__ alpha, const float *__restrict__ bias, gat_view<T> g,
                      bool mean)
{
    int64_t task = grid_warp();
    int outputs = mean ? 1 : g.heads;
    if (task >= g.nodes * outputs)
        return;
    int64_t i = task / outputs, first = g.offsets[i], end = g.offsets[i + 1];
    int h0 = (int)(task % outputs), h1 = mean ? g.heads : h0 + 1;
    for (int d = lane_id(); d - lane_id() < g.dim; d += WARP) {
        float sum = bias && d < g.dim ? bias[h0 * g.dim + d] : 0.0f;
        for (int h = h0; h < h1; h++)
            for (int64_t e = first; e < end; e++) {
                float w = edge_share(g, e, h) * alpha[e * g.heads + h];
                if (d < g.dim)
                    sum += w * (float)g.z[((int64_t)g.sources[e] * g.heads + h) * g.dim + d];
            }
        if (d < g.dim)
            y[task * g.dim + d] = T(sum);
    }
}

/*
 * c[e] = share(e,h) (dy_i . z_source);  ds[e,h] = LeakyReLU' alpha (c[e] - sum of alpha c);  into[i,h] = sum of ds
 *
 * Grid     one warp per node and head; lanes over the columns of a head, then over edges.
 * Memory   reads a row of z per edge, writes ds twice.
 * Numbers  f32 sums in a fixed order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS)
    gat_edge_backward_kernel(float *__restrict__ ds, float *__restrict__ into, const T *__restrict__ dy,
                             const float *__restrict__ alpha, gat_view<T> g, bool mean)
{
    int64_t task = grid_warp();
    if (task >= g.nodes * g.heads)
        return;
    int64_t i = task / g.heads, first = g.offsets[i], end = g.offsets[i + 1];
    int h = (int)(task % g.heads);
    const T *up = dy + (mean ? i : task) * g.dim;
    float expected = 0, sum = 0;
    for (int64_t e = first; e < end; e++) {
        const T *z = g.z + ((int64_t)g.sources[e] * g.heads + h) * g.dim;
        float dot = 0;
        for (int d = lane_id(); d < g.dim; d += WARP)
            dot += (float)up[d] * (float)z[d];
        dot = warp_sum(dot) * edge_share(g, e, h);
        expected += alpha[e * g.heads + h] * dot;
        if (lane_id() == 0)
            ds[e * g.heads + h] = dot;
    }
    __syncwarp();
    for (int64_t e = first + lane_id(); e < end; e += WARP) {
        float slope = edge_score(g, e, i, h) > 0 ? 1.0f : g.slope;
        float d = slope * alpha[e * g.heads + h] * (ds[e * g.heads + h] - expected);
        ds[e * g.heads + h] = d;
        sum += d;
    }
    sum = warp_sum(sum);
    if (lane_id() == 0)
        into[task] = sum;
}

/*
 * dz[j,h,:] (+)= sum over edges e out of j of share alpha dy_target + out[j,h] a_src[h] + into[j,h] a_dst[h],
 * out[j,h] = sum of ds[e,h]
 *
 * Grid     one warp per node and head; lanes over the columns of a head.
 * Memory   reads a row of dy per edge, writes dz once.
 * Numbers  f32 sums in edge order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS)
    gat_node_backward_kernel(T *__restrict__ dz, bool add, float *__restrict__ out, const float *__restrict__ ds,
                             const float *__restrict__ into, const T *__restrict__ dy, const float *__restrict__ alpha,
                             gat_view<T> g, bool mean)
{
    int64_t task = grid_warp();
    if (task >= g.nodes * g.heads)
        return;
    int64_t j = task / g.heads, first = g.out_offsets[j], end = g.out_offsets[j + 1];
    int h = (int)(task % g.heads);
    float score = 0;
    for (int64_t k = first + lane_id(); k < end; k += WARP)
        score += ds[(int64_t)g.out_edges[k] * g.heads + h];
    score = warp_sum(score);
    if (lane_id() == 0)
        out[task] = score;
    for (int d = lane_id(); dz && d < g.dim; d += WARP) {
        float sum = score * g.a_src[h * g.dim + d] + into[task] * g.a_dst[h * g.dim + d];
        for (int64_t k = first; k < end; k++) {
            int64_t e = g.out_edges[k], target = g.targets[e];
            float w = edge_share(g, e, h) * alpha[e * g.heads + h];
            sum += w * (float)dy[(mean ? target : target * g.heads + h) * g.dim + d];
        }
        put(dz + task * g.dim + d, sum, add);
    }
}

/*
 * part[p] = sums over nodes p * per .. of out[j,h] z[j,h,:], [H D] of them, then of into[j,h] z[j,h,:]
 *
 * Grid     one block per part and COLUMN_TILE columns; warps take turns at the nodes.
 * Memory   reads z once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape; sum_finish_kernel adds the parts.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    gat_vector_part_kernel(float *__restrict__ part, const float *__restrict__ out, const float *__restrict__ into,
                           gat_view<T> g, int64_t per)
{
    int64_t cols = (int64_t)g.heads * g.dim, p = tile_row(cols), j = tile_column(cols);
    int64_t end = (p + 1) * per < g.nodes ? (p + 1) * per : g.nodes;
    float src[PACK] = { 0 }, dst[PACK] = { 0 }, z[PACK];
    for (int64_t n = p * per + warp_id(); n < end; n += COLUMN_WARPS) {
        load_pack(z, g.z + n * cols + j, cols - j);
        for (int k = 0; k < PACK; k++) {
            int64_t at = n * g.heads + (j + k < cols ? j + k : 0) / g.dim; /* z is 0 past the end */
            src[k] += out[at] * z[k];
            dst[k] += into[at] * z[k];
        }
    }
    sum_over_warps(src);
    sum_over_warps(dst);
    if (warp_id() == 0) {
        store_pack(part + 2 * p * cols + j, src, cols - j);
        store_pack(part + (2 * p + 1) * cols + j, dst, cols - j);
    }
}

/*
 * part[p, type, h] = sum of ds[e,h] over the edges p * per .. of that type
 *
 * Grid     one warp per part, type and head.
 * Memory   reads types and ds once per type, from L2: types are few.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(WARPS *WARP)
    gat_type_part_kernel(float *__restrict__ part, const float *__restrict__ ds, const int *__restrict__ types,
                         int64_t edges, int64_t per, int64_t cells, int heads, int64_t tasks)
{
    int64_t task = grid_warp();
    if (task >= tasks)
        return;
    int64_t p = task / cells, end = (p + 1) * per < edges ? (p + 1) * per : edges;
    int type = (int)(task % cells / heads), h = (int)(task % heads);
    float sum = 0;
    for (int64_t e = p * per + lane_id(); e < end; e += WARP)
        sum += types[e] == type ? ds[e * heads + h] : 0.0f;
    sum = warp_sum(sum);
    if (lane_id() == 0)
        part[task] = sum;
}

/* Everything but src and dst, which point into scratch[2 N H]. */
template <typename T>
static gat_view<T> view_of(struct ctx *c, const struct tensor *z, const struct gat *g, uint32_t site, float *scratch)
{
    const struct graph *gr = g->graph;
    gat_view<T> v = {};
    v.offsets = data_of<int>(gr->offsets), v.sources = data_of<int>(gr->sources), v.types = data_of<int>(gr->types);
    v.targets = data_of<int>(gr->targets), v.out_offsets = data_of<int>(gr->out_offsets);
    v.out_edges = data_of<int>(gr->out_edges);
    v.drop = g->p > 0;
    v.rng = v.drop ? data_of<int>(c->rng) : nullptr;
    v.z = data_of<T>(z);
    v.a_src = data_of<float>(g->a_src), v.a_dst = data_of<float>(g->a_dst), v.edge_bias = data_of<float>(g->edge_bias);
    v.nodes = gr->nodes, v.edges = gr->edges;
    v.heads = g->heads, v.dim = (int)(tensor_cols(z) / g->heads);
    v.src = scratch, v.dst = scratch + v.nodes * v.heads;
    v.slope = g->slope, v.keep_scale = 1.0f / (1.0f - g->p), v.share = g->mean ? 1.0f / (float)g->heads : 1.0f;
    v.threshold = rng_threshold(g->p), v.site = site;
    LAUNCH(gat_score_kernel<T>, blocks_for(v.nodes * v.heads, WARPS), WARPS * WARP, 0, cuda_stream(c), v);
    return v;
}

static float *scratch_of(struct ctx *c, int64_t floats)
{
    return (float *)cuda_scratch(c, (size_t)floats * sizeof(float));
}

template <typename T>
static void gat_forward(struct ctx *c, struct tensor *y, struct tensor *alpha, const struct tensor *z,
                        const struct gat *g, uint32_t site)
{
    int64_t tasks = g->graph->nodes * g->heads;
    gat_view<T> v = view_of<T>(c, z, g, site, scratch_of(c, 2 * tasks));
    LAUNCH(gat_softmax_kernel<T>, blocks_for(tasks, WARPS), WARPS * WARP, 0, cuda_stream(c), data_of<float>(alpha), v);
    LAUNCH(gat_gather_kernel<T>, blocks_for(g->mean ? v.nodes : tasks, WARPS), WARPS * WARP, 0, cuda_stream(c),
           data_of<T>(y), data_of<float>(alpha), data_of<float>(g->bias), v, g->mean);
}

extern "C" void cuda_gat(struct ctx *c, struct tensor *y, struct tensor *alpha, const struct tensor *z,
                         const struct gat *g, uint32_t site)
{
    if (tensor_size(z))
        DTYPE_SWITCH(z->dtype, gat_forward<T>(c, y, alpha, z, g, site));
}

/* What gat_backward keeps in scratch, in this order. */
struct gat_room {
    float *scores, *ds, *into, *out, *vectors, *types; /* 2 N H, E H, N H, N H, 2 parts H D, parts cells */
    int64_t vector_per, vector_parts, type_parts, cells;
};
constexpr int64_t TYPE_PER = 1024;

static struct gat_room room_of(struct ctx *c, const struct gat *g, struct destination dedge_bias, int64_t width)
{
    int64_t tasks = g->graph->nodes * g->heads, ds = g->graph->edges * g->heads;
    struct gat_room r = {};
    r.vector_per = rows_per_part(g->graph->nodes, 2 * width);
    r.vector_parts = (g->graph->nodes + r.vector_per - 1) / r.vector_per;
    r.type_parts = (g->graph->edges + TYPE_PER - 1) / TYPE_PER;
    r.cells = dedge_bias.t ? tensor_size(dedge_bias.t) : 0;
    r.scores = scratch_of(c, 4 * tasks + ds + 2 * r.vector_parts * width + r.type_parts * r.cells);
    r.into = r.scores + 2 * tasks;
    r.out = r.into + tasks;
    r.ds = r.out + tasks;
    r.vectors = r.ds + ds;
    r.types = r.vectors + 2 * r.vector_parts * width;
    return r;
}

template <typename T>
static void vector_gradients(struct ctx *c, struct destination da_src, struct destination da_dst, const gat_view<T> &v,
                             const struct gat_room &r)
{
    int64_t width = (int64_t)v.heads * v.dim;
    if (!da_src.t && !da_dst.t)
        return;
    LAUNCH(gat_vector_part_kernel<T>, blocks_for(r.vector_parts * column_tiles(width), 1), COLUMN_THREADS, 0,
           cuda_stream(c), r.vectors, r.out, r.into, v, r.vector_per);
    if (da_src.t)
        column_sums_of_parts(c, data_of<float>(da_src.t), da_src.add, r.vectors, r.vector_parts, width, 2 * width);
    if (da_dst.t)
        column_sums_of_parts(c, data_of<float>(da_dst.t), da_dst.add, r.vectors + width, r.vector_parts, width,
                             2 * width);
}

static void type_gradient(struct ctx *c, struct destination dedge_bias, const struct gat *g, const struct gat_room &r)
{
    int64_t tasks = r.type_parts * r.cells;
    if (tasks)
        LAUNCH(gat_type_part_kernel, blocks_for(tasks, WARPS), WARPS * WARP, 0, cuda_stream(c), r.types, r.ds,
               data_of<int>(g->graph->types), g->graph->edges, TYPE_PER, r.cells, g->heads, tasks);
    if (r.cells)
        column_sums_of_parts(c, data_of<float>(dedge_bias.t), dedge_bias.add, r.types, r.type_parts, r.cells, r.cells);
}

template <typename T>
static void gat_backward(struct ctx *c, struct destination dz, struct destination da_src, struct destination da_dst,
                         struct destination dedge_bias, const struct tensor *dy, const struct tensor *alpha,
                         const struct tensor *z, const struct gat *g, uint32_t site)
{
    int64_t tasks = g->graph->nodes * g->heads;
    struct gat_room r = room_of(c, g, dedge_bias, tensor_cols(z));
    gat_view<T> v = view_of<T>(c, z, g, site, r.scores);
    LAUNCH(gat_edge_backward_kernel<T>, blocks_for(tasks, WARPS), WARPS * WARP, 0, cuda_stream(c), r.ds, r.into,
           data_of<T>(dy), data_of<float>(alpha), v, g->mean);
    LAUNCH(gat_node_backward_kernel<T>, blocks_for(tasks, WARPS), WARPS * WARP, 0, cuda_stream(c), data_of<T>(dz.t),
           dz.add, r.out, r.ds, r.into, data_of<T>(dy), data_of<float>(alpha), v, g->mean);
    vector_gradients(c, da_src, da_dst, v, r);
    type_gradient(c, dedge_bias, g, r);
}

extern "C" void cuda_gat_backward(struct ctx *c, struct destination dz, struct destination da_src,
                                  struct destination da_dst, struct destination dedge_bias, struct destination dbias,
                                  const struct tensor *dy, const struct tensor *alpha, const struct tensor *z,
                                  const struct gat *g, uint32_t site)
{
    const struct destination vectors[] = { da_src, da_dst, dedge_bias };
    if (tensor_size(z))
        DTYPE_SWITCH(z->dtype, gat_backward<T>(c, dz, da_src, da_dst, dedge_bias, dy, alpha, z, g, site));
    else
        for (const struct destination &v : vectors)
            if (v.t && !v.add)
                cuda_fill(c, v.t, 0);
    if (dbias.t)
        column_sums(c, data_of<float>(dbias.t), dbias.add, dy, tensor_rows(dy), tensor_cols(dy));
}
