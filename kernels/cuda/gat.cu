/*
 * gat.cu - graph attention (Velickovic et al. 2018) with biases of relations, activation and dropout, and its backward.
 *
 * Two sets of kernels compute the same.  Those of gat_warp.cu serve at most 8 heads of 8, 16, 32, .. 256 columns, 512
 * in all, and those below serve any sizes.
 *
 * Edges are sorted by target, and a second index sorts them by source.  Each node therefore sums over its edges in a
 * fixed order, without atomics: forward over edges into it, backward over edges out of it.
 */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/gat.cuh"

constexpr int WARPS = 8, NODES = 4; /* NODES: of a block in the forward */
/* Blocks of a multiprocessor.  Without this bound ptxas plans for twice as many and spills registers. simt has no such
 * bound. */
[[maybe_unused]] constexpr int BLOCKS = 4;

/* Returns the dot product of two rows to all lanes. */
template <typename T, typename U>
__device__ inline float row_dot(const T *x, const U *y, int dim)
{
    float sum = 0;
    ROLLED
    for (int d = lane_id(); d < dim; d += WARP)
        sum += (float)x[d] * (float)y[d];
    return warp_sum(sum);
}

constexpr int EACH = 4; /* rows of z that a warp reads at once */

/* Returns the dot product of x with the row of head h of a source.  The source is that of this lane's edge, of the 32
 * edges from e on. .  The warp reads EACH rows at once, lanes over their columns, so that loads of several rows are in
 * flight.  Each lane keeps the result of its own edge. */
template <typename T, typename U>
__device__ inline float lane_dot(const gat_view<T> &g, int64_t e, int64_t end, int h, const U *x)
{
    int source = e + lane_id() < end ? g.sources[e + lane_id()] : 0, n = end - e < WARP ? (int)(end - e) : WARP;
    float mine = 0;
    ROLLED
    for (int k = 0; k < n; k += EACH) {
        const T *z[EACH];
        float dot[EACH] = { 0 };
        /* The sources of EACH edges, broadcast from the lanes that read them. */
        UNROLL
        for (int q = 0; q < EACH; q++)
            z[q] = g.z + ((int64_t)__shfl_sync(ALL_LANES, source, k + q) * g.heads + h) * g.dim;
        ROLLED
        for (int d = lane_id(); d < g.dim; d += WARP)
            UNROLL
        for (int q = 0; q < EACH; q++)
            dot[q] += (float)x[d] * (float)z[q][d];
        UNROLL
        for (int q = 0; q < EACH; q++) {
            dot[q] = warp_sum(dot[q]);
            mine = lane_id() == k + q ? dot[q] : mine;
        }
    }
    return mine;
}

/* Returns the argument of LeakyReLU for this lane's edge, of the 32 edges from e on into a node. dst is the node's own
 * share of it. */
template <typename T>
__device__ inline float lane_score(const gat_view<T> &g, int64_t e, int64_t end, int h, float dst)
{
    float score = lane_dot(g, e, end, h, g.a_src + h * g.dim) + dst;
    bool own = g.edge_bias && e + lane_id() < end;
    return own ? score + g.edge_bias[(int64_t)g.types[e + lane_id()] * g.heads + h] : score;
}

/* alpha[e,h] = softmax over the edges e into i of LeakyReLU(score); weight[e,h] = share(e,h) alpha[e,h].  By one warp,
 * for one node and head.  Each lane reads only what it wrote itself, so no barrier is needed. */
template <typename T>
__device__ inline void attend(float *alpha, const gat_view<T> &g, int64_t i, int h)
{
    int64_t first = g.offsets[i], end = g.offsets[i + 1];
    float dst = row_dot(g.a_dst + h * g.dim, g.z + (i * g.heads + h) * g.dim, g.dim), most = -INFINITY, sum = 0;
    for (int64_t e = first; e < end; e += WARP) {
        float s = lane_score(g, e, end, h, dst);
        s = s > 0 ? s : g.slope * s;
        if (e + lane_id() < end) {
            alpha[(e + lane_id()) * g.heads + h] = s;
            most = fmaxf(most, s);
        }
    }
    most = warp_max(most);
    for (int64_t e = first + lane_id(); e < end; e += WARP)
        sum += expf(alpha[e * g.heads + h] - most);
    sum = warp_sum(sum);
    for (int64_t e = first + lane_id(); e < end; e += WARP) {
        float a = expf(alpha[e * g.heads + h] - most) / sum;
        alpha[e * g.heads + h] = a;
        g.weight[e * g.heads + h] = edge_share(g, e, h) * a;
    }
}

/* Applies dropout to column j of row i of y. */
template <typename T>
__device__ inline float dropped(const gat_view<T> &g, float y, int64_t i, int j)
{
    float keep[4];
    keep_quad(keep, g, i, j / 4);
    return y * (j % 4 == 0 ? keep[0] : j % 4 == 1 ? keep[1] : j % 4 == 2 ? keep[2] : keep[3]);
}

/* Returns the argument of the activation in column d of head h of y; for a mean, the sum over all heads. */
template <typename T>
__device__ inline float gathered(const float *bias, const gat_view<T> &g, int64_t i, int h, int d)
{
    float sum = bias ? bias[h * g.dim + d] : 0.0f;
    for (int end = g.mean ? g.heads : h + 1; h < end; h++)
        UNROLL_4
    for (int64_t e = g.offsets[i]; e < g.offsets[i + 1]; e++)
        sum += g.weight[e * g.heads + h] * (float)g.z[((int64_t)g.sources[e] * g.heads + h) * g.dim + d];
    return sum;
}

/*
 * alpha[e,h] = softmax over the edges into i of LeakyReLU(a_src . z_source + a_dst . z_i + bias of the relation)
 *
 * pre[i,h,:] = sum over the edges e into i of share(e,h) alpha[e,h] z[source(e),h,:] + bias
 *
 * y = dropout(act(pre)); for a mean, the heads are added up
 *
 * Grid     one block per NODES nodes.  First a warp per node and head, lanes over columns, then over edges.  Then a
 *          warp per node, head and 32 columns, or per node and 32 columns for a mean.
 * Memory   reads a row of z per edge, twice (the second time from L1 or L2), writes alpha and y once.
 * Numbers  the largest score is subtracted first; f32 sums in edge order, then head order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS)
    gat_kernel(T *__restrict__ y, T *__restrict__ pre, float *alpha, const float *__restrict__ bias, gat_view<T> g)
{
    int64_t first = block_id() * NODES;
    int n = g.nodes - first < NODES ? (int)(g.nodes - first) : NODES;
    int tiles = (g.dim + WARP - 1) / WARP;
    for (int t = warp_id(); t < n * g.heads; t += WARPS)
        attend(alpha, g, first + t / g.heads, t % g.heads);
    /* The second half reads weights that other warps of this block wrote. */
    __syncthreads();
    for (int t = warp_id(); t < n * g.outputs * tiles; t += WARPS) {
        int64_t i = first + t / tiles / g.outputs;
        int h = t / tiles % g.outputs, d = t % tiles * WARP + lane_id(), j = h * g.dim + d;
        if (d >= g.dim)
            continue;
        float v = gathered(bias, g, i, h, d);
        if (pre)
            pre[i * g.outputs * g.dim + j] = T(v);
        y[i * g.outputs * g.dim + j] = T(dropped(g, activate(v, g.act), i, j));
    }
}

/* up = the gradient of the argument of the activation, for the nodes of a block. */
template <typename T>
__device__ inline void undo_activation(T *up, const T *dy, const T *pre, const gat_view<T> &g, int64_t first, int n)
{
    int cols = g.outputs * g.dim, packs = (cols + PACK - 1) / PACK;
    float v[PACK], x[PACK] = { 0 }, keep[4];
    for (int t = thread_id(); t < n * packs; t += WARPS * WARP) {
        int j = t % packs * PACK;
        int64_t at = (first + t / packs) * cols + j;
        load_pack(v, dy + at, cols - j);
        if (pre)
            load_pack(x, pre + at, cols - j);
        for (int q = 0; q < PACK / 4; q++) {
            keep_quad(keep, g, first + t / packs, j / 4 + q);
            for (int k = 0; k < 4; k++)
                v[4 * q + k] *= keep[k] * activation_slope(x[4 * q + k], g.act);
        }
        store_pack(up + at, v, cols - j);
    }
}

/* Computes ds, slopes, weight and into of one node and head; `up` is its row of the gradient.  The first loop stores
 * the gradient of each coefficient and its expectation under alpha.  The second one is the derivative of softmax and
 * LeakyReLU. */
template <typename T>
__device__ inline void edge_gradients(float *ds, float *slopes, float *into, const T *up, const float *alpha,
                                      const gat_view<T> &g, int64_t i, int h)
{
    int64_t task = i * g.heads + h, first = g.offsets[i], end = g.offsets[i + 1];
    float dst = row_dot(g.a_dst + h * g.dim, g.z + task * g.dim, g.dim), expected = 0, sum = 0;
    for (int64_t e = first; e < end; e += WARP) {
        float score = lane_score(g, e, end, h, dst), dot = lane_dot(g, e, end, h, up);
        int64_t own = (e + lane_id()) * g.heads + h;
        if (e + lane_id() < end) {
            float share = edge_share(g, e + lane_id(), h);
            expected += alpha[own] * (dot * share);
            ds[own] = dot * share;
            slopes[own] = score > 0 ? 1.0f : g.slope;
            g.weight[own] = share * alpha[own];
        }
    }
    expected = warp_sum(expected);
    for (int64_t e = first + lane_id(); e < end; e += WARP) {
        float d = slopes[e * g.heads + h] * alpha[e * g.heads + h] * (ds[e * g.heads + h] - expected);
        ds[e * g.heads + h] = d;
        sum += d;
    }
    sum = warp_sum(sum);
    if (lane_id() == 0)
        into[task] = sum;
}

/*
 * up = dy through dropout and activation if there are any, else dy itself
 * c[e] = share(e,h) (up_i . z_source);  ds[e,h] = LeakyReLU' alpha (c[e] - sum of alpha c)
 * into[i,h] = sum of ds;  weight[e,h] = share(e,h) alpha[e,h]
 *
 * Grid     one block per NODES nodes; threads over packs of up, then a warp per node and head, lanes over the columns
 *          of a head, then over edges.
 * Memory   reads a row of z per edge, twice (the second time from L1), writes up, slopes and weight once, ds twice.
 * Numbers  f32 sums in a fixed order; up is rounded to the element type.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS)
    gat_edge_backward_kernel(float *ds, float *slopes, float *__restrict__ into, T *up, const T *dy,
                             const T *__restrict__ pre, const float *__restrict__ alpha, gat_view<T> g, bool undo)
{
    int64_t first = block_id() * NODES;
    int n = g.nodes - first < NODES ? (int)(g.nodes - first) : NODES;
    if (undo)
        undo_activation(up, dy, pre, g, first, n);
    __syncthreads(); /* all of up is written */
    for (int t = warp_id(); t < n * g.heads; t += WARPS) {
        int64_t i = first + t / g.heads;
        int h = t % g.heads;
        edge_gradients(ds, slopes, into, up + (g.mean ? i : i * g.heads + h) * g.dim, alpha, g, i, h);
    }
}

/* Returns column d of the sum of weight dy_target over the edges out of j.  Lanes behind the last column take part in
 * the shuffles. */
template <typename T>
__device__ inline float scattered(const gat_view<T> &g, const T *dy, int64_t j, int h, int d)
{
    int64_t end = g.out_offsets[j + 1];
    float sum = 0;
    for (int64_t k = g.out_offsets[j]; k < end; k += WARP) {
        int64_t own = k + lane_id() < end ? g.out_edges[k + lane_id()] : 0;
        int target = g.targets[own], n = end - k < WARP ? (int)(end - k) : WARP;
        float w = g.weight[own * g.heads + h];
        UNROLL_4
        for (int l = 0; l < n; l++) {
            int64_t i = __shfl_sync(ALL_LANES, target, l);
            float share = __shfl_sync(ALL_LANES, w, l);
            if (d < g.dim)
                sum += share * (float)dy[(g.mean ? i : i * g.heads + h) * g.dim + d];
        }
    }
    return sum;
}

/*
 * dz[j,h,:] (+)= sum over edges e out of j of weight[e,h] dy_target + out[j,h] a_src[h] + into[j,h] a_dst[h]
 * out[j,h] = sum of ds[e,h]
 *
 * Grid     one warp per node and head; lanes over edges and over the columns of a head.
 * Memory   reads a row of dy per edge, writes dz once.
 * Numbers  f32 sums in edge order.
 */
template <typename T>
__global__ void __launch_bounds__(WARPS *WARP, BLOCKS)
    gat_node_backward_kernel(T *__restrict__ dz, bool add, float *__restrict__ out, const float *__restrict__ ds,
                             const float *__restrict__ into, const T *__restrict__ dy, gat_view<T> g)
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
    for (int d = lane_id(); dz && d - lane_id() < g.dim; d += WARP) {
        float sum = scattered(g, dy, j, h, d);
        if (d < g.dim)
            put(dz + task * g.dim + d, sum + score * g.a_src[h * g.dim + d] + into[task] * g.a_dst[h * g.dim + d], add);
    }
}

/*
 * part[p] = sums over nodes p * per .. of out[j,h] z[j,h,:], of into[j,h] z[j,h,:] and of dy[j,:], [H D] each
 *
 * Grid     one block per part and COLUMN_TILE columns; warps take turns at the nodes.
 * Memory   reads z and dy once; 8 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape; gat_finish_kernel adds the parts.
 */
template <typename T>
__global__ void __launch_bounds__(COLUMN_THREADS)
    gat_vector_part_kernel(float *__restrict__ part, const float *__restrict__ out, const float *__restrict__ into,
                           const T *__restrict__ dy, int64_t dy_cols, gat_view<T> g, int64_t per)
{
    int64_t cols = (int64_t)g.heads * g.dim, p = tile_row(cols), j = tile_column(cols);
    int64_t end = (p + 1) * per < g.nodes ? (p + 1) * per : g.nodes;
    float sum[VECTORS][PACK] = { { 0 } }, z[PACK], up[PACK];
    for (int64_t n = p * per + warp_id(); n < end; n += COLUMN_WARPS) {
        load_pack(z, g.z + n * cols + j, cols - j);
        load_pack(up, dy + n * dy_cols + j, dy_cols - j);
        for (int k = 0; k < PACK; k++) {
            int64_t at = n * g.heads + (j + k < cols ? j + k : 0) / g.dim; /* z is 0 behind the last column */
            sum[0][k] += out[at] * z[k];
            sum[1][k] += into[at] * z[k];
            sum[2][k] += up[k];
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        sum_over_warps(sum[v]);
        if (warp_id() == 0)
            store_pack(part + (VECTORS * p + v) * cols + j, sum[v], cols - j);
    }
}

/* The gradients of a_src, a_dst and bias; NULL: not wanted. */
struct vector_gradient {
    float *y[VECTORS];
    int64_t cols[VECTORS];
    bool add[VECTORS];
};

/*
 * y[v] (+)= the sum of the parts' v-th rows
 *
 * Grid     one block per PART_COLUMNS columns of all vectors; warps take turns at the parts.
 * Memory   reads the parts once, a warp 32 neighbours at a time; 1 KiB of shared memory.
 * Numbers  f32 sums in an order fixed by the shape.
 */
__global__ void __launch_bounds__(PART_THREADS)
    gat_finish_kernel(struct vector_gradient d, const float *__restrict__ part, int64_t parts, int64_t cols)
{
    dependency_wait(); /* it may start before the kernel that makes the parts has ended */
    int64_t all = VECTORS * cols, at = part_column(), j = at % cols;
    float sum = sum_of_parts(part, parts, all, at, all);
    UNROLL
    for (int v = 0; v < VECTORS; v++)
        if (warp_id() == 0 && at / cols == v && d.y[v] && j < d.cols[v])
            put(d.y[v] + j, sum, d.add[v]);
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

template <typename T>
static gat_view<T> view_of(struct ctx *c, const struct tensor *z, const struct gat *g, uint32_t site, float *weight)
{
    const struct graph *gr = g->graph;
    gat_view<T> v = {};
    v.offsets = data_of<int>(gr->offsets), v.sources = data_of<int>(gr->sources), v.types = data_of<int>(gr->types);
    v.targets = data_of<int>(gr->targets), v.out_offsets = data_of<int>(gr->out_offsets);
    v.out_edges = data_of<int>(gr->out_edges);
    v.drop = g->p > 0;
    v.rng = v.drop || g->out_p > 0 ? data_of<int>(c->rng) : nullptr;
    v.z = data_of<T>(z);
    v.a_src = data_of<float>(g->a_src), v.a_dst = data_of<float>(g->a_dst), v.edge_bias = data_of<float>(g->edge_bias);
    v.weight = weight;
    v.nodes = gr->nodes, v.edges = gr->edges;
    v.heads = g->heads, v.dim = (int)(tensor_cols(z) / g->heads);
    v.slope = g->slope, v.keep_scale = 1.0f / (1.0f - g->p), v.share = g->mean ? 1.0f / (float)g->heads : 1.0f;
    v.threshold = rng_threshold(g->p), v.site = site;
    v.mean = g->mean, v.outputs = g->mean ? 1 : g->heads, v.act = (int)g->act;
    v.out_drop = g->out_p > 0, v.out_scale = 1.0f / (1.0f - g->out_p);
    v.out_threshold = rng_threshold(g->out_p), v.out_site = site + v.drop;
    return v;
}

static float *scratch_of(struct ctx *c, int64_t floats)
{
    return (float *)cuda_scratch(c, (size_t)floats * sizeof(float));
}

template <typename T>
static void gat_forward(struct ctx *c, struct tensor *y, struct tensor *pre, struct tensor *alpha,
                        const struct tensor *z, const struct gat *g, uint32_t site)
{
    gat_view<T> v = view_of<T>(c, z, g, site, scratch_of(c, g->graph->edges * g->heads));
    const float *bias = data_of<float>(g->bias);
    int packs = gat_warp_packs(v, { data_of<T>(y), data_of<T>(pre), bias });
    if (packs)
        gat_warp_forward(c, packs, data_of<T>(y), data_of<T>(pre), data_of<float>(alpha), bias, v);
    else
        LAUNCH(gat_kernel<T>, blocks_for(v.nodes, NODES), WARPS * WARP, 0, cuda_stream(c), data_of<T>(y),
               data_of<T>(pre), data_of<float>(alpha), bias, v);
}

extern "C" void cuda_gat(struct ctx *c, struct tensor *y, struct tensor *pre, struct tensor *alpha,
                         const struct tensor *z, const struct gat *g, uint32_t site)
{
    if (tensor_size(z))
        DTYPE_SWITCH(z->dtype, gat_forward<T>(c, y, pre, alpha, z, g, site));
}

/* The scratch memory of gat_backward, in this order. */
struct gat_room {
    float *up;                                        /* the gradient before the activation, of y's type and shape */
    float *vectors;                                   /* [vector_parts, VECTORS, H D] */
    float *weight, *ds, *slopes, *into, *out, *types; /* thrice [E, H], twice [N, H], [type_parts, cells] */
    int64_t vector_parts, type_parts, cells;
};
constexpr int64_t TYPE_PER = 1024;

/* vector_per: the nodes of a part of the vectors' gradients; up: the floats of up. */
static struct gat_room room_of(struct ctx *c, const struct gat *g, struct destination dedge_bias, int64_t width,
                               int64_t vector_per, int64_t up)
{
    int64_t tasks = g->graph->nodes * g->heads, ds = g->graph->edges * g->heads;
    struct gat_room r = {};
    r.vector_parts = (g->graph->nodes + vector_per - 1) / vector_per;
    r.type_parts = (g->graph->edges + TYPE_PER - 1) / TYPE_PER;
    r.cells = dedge_bias.t ? tensor_size(dedge_bias.t) : 0;
    r.up = scratch_of(c, up + 2 * tasks + 3 * ds + VECTORS * r.vector_parts * width + r.type_parts * r.cells);
    r.vectors = r.up + up;
    r.weight = r.vectors + VECTORS * r.vector_parts * width;
    r.ds = r.weight + ds;
    r.slopes = r.ds + ds;
    r.into = r.slopes + ds;
    r.out = r.into + tasks;
    r.types = r.out + tasks;
    return r;
}

/* The gradients of a_src, a_dst and bias as gat_finish_kernel writes them. */
static struct vector_gradient vector_gradient_of(const struct destination (&d)[VECTORS], int64_t width, int64_t cols)
{
    struct vector_gradient to = {};
    for (int k = 0; k < VECTORS; k++)
        to.y[k] = data_of<float>(d[k].t), to.add[k] = d[k].add, to.cols[k] = k < 2 ? width : cols;
    return to;
}

/* Computes dz, ds and, if wanted, the parts of the vectors' gradients, for any sizes. */
template <typename T>
static void wide_backward(struct ctx *c, const struct gat_gradients<T> &d, const gat_view<T> &v, float *out)
{
    int64_t width = (int64_t)v.heads * v.dim;
    LAUNCH(gat_edge_backward_kernel<T>, blocks_for(v.nodes, NODES), WARPS * WARP, 0, cuda_stream(c), d.ds, d.slopes,
           d.into, d.up, d.dy, d.pre, d.alpha, v, d.up != d.dy);
    LAUNCH(gat_node_backward_kernel<T>, blocks_for(v.nodes * v.heads, WARPS), WARPS * WARP, 0, cuda_stream(c), d.dz,
           d.add, out, d.ds, d.into, d.up, v);
    if (d.part)
        LAUNCH(gat_vector_part_kernel<T>, blocks_for(d.parts * column_tiles(width), 1), COLUMN_THREADS, 0,
               cuda_stream(c), d.part, out, d.into, d.up, (int64_t)v.outputs * v.dim, v, d.per);
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
static void gat_backward(struct ctx *c, struct destination dz, const struct destination (&vectors)[VECTORS],
                         struct destination dedge_bias, const struct tensor *dy, const struct tensor *pre,
                         const struct tensor *alpha, const struct tensor *z, const struct gat *g, uint32_t site)
{
    bool undo = pre || g->out_p > 0;
    int64_t width = tensor_cols(z), cols = tensor_cols(dy), up_floats = undo ? (tensor_size(dy) + 15) / 16 * 16 : 0;
    struct vector_gradient to = vector_gradient_of(vectors, width, cols);
    gat_view<T> v = view_of<T>(c, z, g, site, nullptr);
    int packs = gat_warp_packs(v, { data_of<T>(dz.t), data_of<T>(dy), data_of<T>(pre) });
    int64_t per = packs ? gat_warp_nodes(v.nodes) : rows_per_part(v.nodes, VECTORS * width);
    struct gat_room r = room_of(c, g, dedge_bias, width, per, up_floats);
    bool wanted = to.y[0] || to.y[1] || to.y[2];
    struct gat_gradients<T> d = {
        data_of<T>(dz.t), dz.add, undo ? (T *)r.up : data_of<T>(dy), data_of<T>(dy), data_of<T>(pre),
            data_of<float>(alpha), r.ds, r.slopes, r.into, wanted ? r.vectors : nullptr, r.vector_parts, per
    };
    v.weight = r.weight;
    if (packs)
        gat_warp_backward(c, packs, d, v);
    else
        wide_backward(c, d, v, r.out);
    if (wanted)
        LAUNCH_EARLY(c, gat_finish_kernel, blocks_for(VECTORS * width, PART_COLUMNS), PART_THREADS, 0, to,
                     (const float *)r.vectors, r.vector_parts, width);
    type_gradient(c, dedge_bias, g, r);
}

extern "C" void cuda_gat_backward(struct ctx *c, struct destination dz, struct destination da_src,
                                  struct destination da_dst, struct destination dedge_bias, struct destination dbias,
                                  const struct tensor *dy, const struct tensor *pre, const struct tensor *alpha,
                                  const struct tensor *z, const struct gat *g, uint32_t site)
{
    const struct destination vectors[VECTORS] = { da_src, da_dst, dbias };
    if (tensor_size(z)) {
        DTYPE_SWITCH(z->dtype, gat_backward<T>(c, dz, vectors, dedge_bias, dy, pre, alpha, z, g, site));
        return;
    }
    /* Without nodes every gradient is 0. */
    for (const struct destination &d : { da_src, da_dst, dbias, dedge_bias })
        if (d.t && !d.add)
            cuda_fill(c, d.t, 0);
}
