/*
 * gat_warp.cu - the kernels of a GAT layer whose row of z, all heads side by side, lies in the registers of a warp.
 *
 * A warp has a node.  Pack n of a lane is columns PACK (n WARP + lane) .. of a row of z.  The packs of a head lie in
 * `width` neighbouring lanes, a power of two.  A few shuffles thus sum over the columns of each head, for all heads at
 * once.  All lanes of a head keep the numbers of their head: scores, coefficients, sums.
 */
#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/gat.cuh"

constexpr int WARP_PACKS = 2;            /* packs of a lane, at most */
constexpr int EDGES = 4;                 /* edges whose rows are in flight at once */
constexpr int WARP_HEADS = WARP / EDGES; /* heads, at most: a lane draws the dropout of one edge and head */
constexpr int64_t NODE_PARTS = 128;      /* blocks of gat_warp_node_kernel, at most, for many nodes */

/* The place of a lane in a row of N packs a lane. */
template <int N>
struct lane_place {
    int width;   /* lanes of a head */
    int head[N]; /* of pack n; 0 for packs behind the row's end */
    int at[N];   /* first column of pack n; 0 behind the row's end */
    bool in[N];  /* pack n lies in the row */
};

template <int N, typename T>
__device__ inline lane_place<N> lane_place_of(const gat_view<T> &g)
{
    lane_place<N> p;
    p.width = g.dim / PACK;
    UNROLL
    for (int n = 0; n < N; n++) {
        int pack = n * WARP + lane_id();
        p.in[n] = pack < g.heads * p.width;
        p.at[n] = p.in[n] ? pack * PACK : 0;
        p.head[n] = p.in[n] ? pack / p.width : 0;
    }
    return p;
}

/* Returns the sum over the lanes of a head. */
__device__ inline float head_sum(float v, int width)
{
    for (int lane = width / 2; lane; lane /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, lane);
    return v;
}

__device__ inline float pack_dot(const float (&x)[PACK], const float (&y)[PACK])
{
    float sum = 0;
    for (int k = 0; k < PACK; k++)
        sum += x[k] * y[k];
    return sum;
}

/* Returns the products of a row of z with a vector [heads, dim], for the head of each pack. */
template <typename T, int N>
__device__ inline void head_dots(float (&dot)[N], const T *z, const float *a, const struct lane_place<N> &p)
{
    float x[PACK], y[PACK];
    UNROLL
    for (int n = 0; n < N; n++) {
        load_whole(x, z + p.at[n]);
        load_whole(y, a + p.at[n]);
        dot[n] = head_sum(pack_dot(x, y), p.width);
    }
}

/* Returns edge_share of edge e + lane / heads and head lane % heads, for the lanes of EDGES edges. */
template <typename T>
__device__ inline float drawn_share(const gat_view<T> &g, int64_t e, int64_t end)
{
    int64_t own = e + lane_id() / g.heads;
    return lane_id() < EDGES * g.heads && own < end ? edge_share(g, own, lane_id() % g.heads) : 0.0f;
}

/* Loads the rows of z of the sources of EDGES edges into a node; edges from `end` on repeat the first. */
template <typename T, int N>
__device__ inline void load_sources(float (&z)[EDGES][N][PACK], const gat_view<T> &g, int64_t e, int64_t end,
                                    const struct lane_place<N> &p)
{
    UNROLL
    for (int q = 0; q < EDGES; q++) {
        const T *row = g.z + (int64_t)g.sources[e + q < end ? e + q : e] * g.heads * g.dim;
        UNROLL
        for (int n = 0; n < N; n++)
            load_whole(z[q][n], row + p.at[n]);
    }
}

/* Returns the argument of LeakyReLU for edge e and head h.  src and dst are the shares of both ends. */
template <typename T>
__device__ inline float edge_score(const gat_view<T> &g, int64_t e, int h, float src, float dst)
{
    return src + dst + (g.edge_bias ? g.edge_bias[(int64_t)g.types[e] * g.heads + h] : 0.0f);
}

/* The softmax over the edges into a node so far: the largest score, the sum of exp(score - most), and the sum of
 * share exp(score - most) z. */
template <int N>
struct running {
    float most[N], sum[N], z[N][PACK];
};

/* Adds EDGES edges; edges from `end` on have weight 0. */
template <typename T, int N>
__device__ inline void attend_edges(struct running<N> &r, float *alpha, const gat_view<T> &g, int64_t e, int64_t end,
                                    const float (&src)[N][PACK], const float (&dst)[N], const struct lane_place<N> &p)
{
    float z[EDGES][N][PACK], score[EDGES], share = drawn_share(g, e, end);
    load_sources(z, g, e, end, p);
    UNROLL
    for (int n = 0; n < N; n++) {
        float most = r.most[n];
        UNROLL
        for (int q = 0; q < EDGES; q++) {
            float s =
                edge_score(g, e + q < end ? e + q : e, p.head[n], head_sum(pack_dot(z[q][n], src[n]), p.width), dst[n]);
            s = s > 0 ? s : g.slope * s;
            if (e + q < end && p.in[n] && lane_id() % p.width == 0)
                alpha[(e + q) * g.heads + p.head[n]] = s;
            score[q] = e + q < end ? s : -INFINITY;
            most = fmaxf(most, score[q]);
        }
        float keep = expf(r.most[n] - most);
        r.most[n] = most;
        r.sum[n] *= keep;
        for (int k = 0; k < PACK; k++)
            r.z[n][k] *= keep;
        UNROLL
        for (int q = 0; q < EDGES; q++) {
            float a = expf(score[q] - most), w = a * __shfl_sync(ALL_LANES, share, q * g.heads + p.head[n]);
            r.sum[n] += a;
            for (int k = 0; k < PACK; k++)
                r.z[n][k] += w * z[q][n][k];
        }
    }
}

/* Stores pack j of row i of y, and of the argument of the activation. */
template <typename T>
__device__ inline void store_activated(T *y, T *pre, const float *bias, const gat_view<T> &g, int64_t i, int j,
                                       float (&v)[PACK])
{
    float b[PACK] = { 0 }, keep[4];
    int64_t at = i * g.outputs * g.dim + j;
    if (bias)
        load_whole(b, bias + j);
    for (int k = 0; k < PACK; k++)
        v[k] += b[k];
    if (pre)
        store_whole(pre + at, v);
    for (int k = 0; k < PACK; k++)
        v[k] = activate(v[k], g.act);
    for (int q = 0; q < PACK / 4; q++) {
        keep_quad(keep, g, i, j / 4 + q);
        for (int k = 0; k < 4; k++)
            v[4 * q + k] *= keep[k];
    }
    store_whole(y + at, v);
}

/*
 * The same as gat_kernel.
 *
 * Grid     one warp per node.
 * Memory   reads a row of z per edge once, writes alpha twice (the second time in L1) and y once.
 * Numbers  the largest score so far is subtracted; f32 sums in edge order, then over heads as a butterfly.
 */
template <typename T, int N>
__global__ void __launch_bounds__(COLUMN_THREADS)
    gat_warp_kernel(T *__restrict__ y, T *__restrict__ pre, float *alpha, const float *__restrict__ bias, gat_view<T> g)
{
    int64_t i = grid_warp();
    if (i >= g.nodes)
        return;
    const struct lane_place<N> p = lane_place_of<N>(g);
    int64_t first = g.offsets[i], end = g.offsets[i + 1];
    float src[N][PACK], dst[N];
    running<N> r = {};
    UNROLL
    for (int n = 0; n < N; n++) {
        r.most[n] = -INFINITY;
        load_whole(src[n], g.a_src + p.at[n]);
    }
    head_dots(dst, g.z + i * g.heads * g.dim, g.a_dst, p);
    ROLLED
    for (int64_t e = first; e < end; e += EDGES)
        attend_edges(r, alpha, g, e, end, src, dst, p);
    __syncwarp(); /* the scores are written */
    UNROLL
    for (int n = 0; n < N; n++) {
        for (int64_t e = first + lane_id() % p.width; p.in[n] && e < end; e += p.width) {
            float *a = alpha + e * g.heads + p.head[n];
            *a = expf(*a - r.most[n]) / r.sum[n];
        }
        float scale = p.in[n] && end > first ? 1.0f / r.sum[n] : 0.0f; /* without edges there is nothing to scale */
        for (int k = 0; k < PACK; k++)
            r.z[n][k] *= scale;
    }
    if (!g.mean) {
        UNROLL
        for (int n = 0; n < N; n++)
            if (p.in[n])
                store_activated(y, pre, bias, g, i, p.at[n], r.z[n]);
        return;
    }
    for (int n = 1; n < N; n++)
        for (int k = 0; k < PACK; k++)
            r.z[0][k] += r.z[n][k];
    for (int lane = p.width; lane < WARP; lane *= 2)
        for (int k = 0; k < PACK; k++)
            r.z[0][k] += __shfl_xor_sync(ALL_LANES, r.z[0][k], lane);
    if (lane_id() < p.width)
        store_activated(y, pre, bias, g, i, lane_id() * PACK, r.z[0]);
}

/* Returns the first column of pack n in a row of y. */
template <typename T, int N>
__device__ inline int output_column(const gat_view<T> &g, const struct lane_place<N> &p, int n)
{
    return g.mean ? lane_id() % p.width * PACK : p.at[n];
}

/* v = the gradient of the argument of the activation, pack j of row i, rounded to T.  `store`: into up. */
template <typename T>
__device__ inline void load_up(float (&v)[PACK], T *up, const T *dy, const T *pre, const gat_view<T> &g, int64_t i,
                               int j, bool store)
{
    float x[PACK] = { 0 }, keep[4];
    int64_t at = i * g.outputs * g.dim + j;
    load_whole(v, dy + at);
    if (pre)
        load_whole(x, pre + at);
    for (int q = 0; q < PACK / 4; q++) {
        keep_quad(keep, g, i, j / 4 + q);
        for (int k = 0; k < 4; k++)
            v[4 * q + k] = (float)T(v[4 * q + k] * (keep[k] * activation_slope(x[4 * q + k], g.act)));
    }
    if (store)
        store_whole(up + at, v);
}

/*
 * The same as gat_edge_backward_kernel.  Without the bound of blocks ptxas plans for two and spills registers.
 *
 * Grid     one warp per node.  gat_warp_node_kernel may start meanwhile.
 * Memory   reads a row of z per edge once, writes up, slopes and weight once, ds twice.
 * Numbers  f32 sums in a fixed order; up is rounded to the element type.
 */
template <typename T, int N>
__global__ void __launch_bounds__(COLUMN_THREADS, 1) gat_warp_edge_kernel(struct gat_gradients<T> d, gat_view<T> g)
{
    dependents_launch();
    const float *alpha = d.alpha;
    float *ds = d.ds, *slopes = d.slopes;
    int64_t i = grid_warp();
    if (i >= g.nodes)
        return;
    const struct lane_place<N> p = lane_place_of<N>(g);
    int64_t first = g.offsets[i], end = g.offsets[i + 1];
    float src[N][PACK], mine[N][PACK], dst[N], expected[N] = { 0 };
    UNROLL
    for (int n = 0; n < N; n++) {
        int j = output_column(g, p, n);
        load_whole(src[n], g.a_src + p.at[n]);
        if (d.up != d.dy)
            load_up(mine[n], d.up, d.dy, d.pre, g, i, j, g.mean ? n == 0 && lane_id() < p.width : p.in[n]);
        else
            load_whole(mine[n], d.dy + i * g.outputs * g.dim + j);
    }
    head_dots(dst, g.z + i * g.heads * g.dim, g.a_dst, p);
    ROLLED
    for (int64_t e = first; e < end; e += EDGES) {
        float z[EDGES][N][PACK], drawn = drawn_share(g, e, end);
        load_sources(z, g, e, end, p);
        UNROLL
        for (int q = 0; q < EDGES; q++)
            UNROLL
        for (int n = 0; n < N; n++) {
            float score = head_sum(pack_dot(z[q][n], src[n]), p.width),
                  dot = head_sum(pack_dot(z[q][n], mine[n]), p.width);
            float share = __shfl_sync(ALL_LANES, drawn, q * g.heads + p.head[n]);
            if (e + q >= end || !p.in[n])
                continue;
            int64_t own = (e + q) * g.heads + p.head[n];
            score = edge_score(g, e + q, p.head[n], score, dst[n]);
            expected[n] += alpha[own] * (dot * share);
            if (lane_id() % p.width == 0) {
                ds[own] = dot * share;
                slopes[own] = score > 0 ? 1.0f : g.slope;
                g.weight[own] = share * alpha[own];
            }
        }
    }
    __syncwarp(); /* ds and slopes are written */
    UNROLL
    for (int n = 0; n < N; n++) {
        float sum = 0;
        for (int64_t e = first + lane_id() % p.width; p.in[n] && e < end; e += p.width) {
            int64_t own = e * g.heads + p.head[n];
            float slope = slopes[own] * alpha[own] * (ds[own] - expected[n]);
            ds[own] = slope;
            sum += slope;
        }
        sum = head_sum(sum, p.width);
        if (p.in[n] && lane_id() % p.width == 0)
            d.into[i * g.heads + p.head[n]] = sum;
    }
}

/* The gradients of a node: of its row of z, and of the scores of the edges out of it. */
template <int N>
struct node_gradient {
    float z[N][PACK], out[N];
};

/* Adds EDGES edges from place k of out_edges on; edges from `end` on have weight 0. */
template <typename T, int N>
__device__ inline void gather_edges(struct node_gradient<N> &d, const float *ds, const T *up, const gat_view<T> &g,
                                    int64_t k, int64_t end, const struct lane_place<N> &p)
{
    float v[EDGES][N][PACK], w[EDGES][N], slope[EDGES][N];
    UNROLL
    for (int q = 0; q < EDGES; q++) {
        int64_t e = g.out_edges[k + q < end ? k + q : k];
        const T *row = up + (int64_t)g.targets[e] * g.outputs * g.dim;
        UNROLL
        for (int n = 0; n < N; n++) {
            load_whole(v[q][n], row + output_column(g, p, n));
            w[q][n] = k + q < end ? g.weight[e * g.heads + p.head[n]] : 0.0f;
            slope[q][n] = k + q < end ? ds[e * g.heads + p.head[n]] : 0.0f;
        }
    }
    UNROLL
    for (int q = 0; q < EDGES; q++)
        UNROLL
    for (int n = 0; n < N; n++) {
        d.out[n] += slope[q][n];
        for (int c = 0; c < PACK; c++)
            d.z[n][c] += w[q][n] * v[q][n][c];
    }
}

/*
 * dz as in gat_node_backward_kernel, and part[p] as in gat_vector_part_kernel
 *
 * Grid     one block per part; warps take turns at its nodes.  It may start before gat_warp_edge_kernel has ended.
 * Memory   reads a row of up per edge, z and up once, writes dz and the part once; 24 KiB N of shared memory.
 * Numbers  f32 sums in edge order; those of a part are those of its warps, in their order.
 */
template <typename T, int N>
__global__ void __launch_bounds__(COLUMN_THREADS) gat_warp_node_kernel(struct gat_gradients<T> d, gat_view<T> g)
{
    __shared__ float of_warp[COLUMN_WARPS][VECTORS * N][PACK][WARP];
    const struct lane_place<N> p = lane_place_of<N>(g);
    int64_t last = (block_id() + 1) * d.per < g.nodes ? (block_id() + 1) * d.per : g.nodes;
    float sum[VECTORS][N][PACK] = {};
    dependents_launch();
    dependency_wait();
    for (int64_t j = block_id() * d.per + warp_id(); j < last; j += COLUMN_WARPS) {
        int64_t end = g.out_offsets[j + 1];
        node_gradient<N> node = {};
        ROLLED
        for (int64_t k = g.out_offsets[j]; k < end; k += EDGES)
            gather_edges(node, d.ds, d.up, g, k, end, p);
        UNROLL
        for (int n = 0; n < N; n++) {
            float src[PACK], dst[PACK], z[PACK], mine[PACK], in = d.into[j * g.heads + p.head[n]];
            load_whole(src, g.a_src + p.at[n]);
            load_whole(dst, g.a_dst + p.at[n]);
            load_whole(z, g.z + j * g.heads * g.dim + p.at[n]);
            load_whole(mine, d.up + j * g.outputs * g.dim + output_column(g, p, n));
            for (int k = 0; k < PACK; k++) {
                sum[0][n][k] += node.out[n] * z[k];
                sum[1][n][k] += in * z[k];
                sum[2][n][k] += mine[k];
                node.z[n][k] += node.out[n] * src[k] + in * dst[k];
            }
            if (p.in[n] && d.dz)
                put_whole(d.dz + j * g.heads * g.dim + p.at[n], node.z[n], d.add);
        }
    }
    if (!d.part)
        return;
    UNROLL
    for (int v = 0; v < VECTORS; v++)
        UNROLL
    for (int n = 0; n < N; n++)
        for (int k = 0; k < PACK; k++)
            of_warp[warp_id()][v * N + n][k][lane_id()] = sum[v][n][k];
    __syncthreads();
    for (int t = warp_id(); t < VECTORS * N; t += COLUMN_WARPS) { /* PACK columns a lane, of one vector */
        int64_t pack = t % N * WARP + lane_id(), width = (int64_t)g.heads * g.dim;
        float all[PACK] = { 0 };
        for (int w = 0; w < COLUMN_WARPS; w++)
            for (int k = 0; k < PACK; k++)
                all[k] += of_warp[w][t][k][lane_id()];
        if (pack * PACK < width)
            store_whole(d.part + (VECTORS * block_id() + t / N) * width + pack * PACK, all);
    }
}

template <typename T>
int gat_warp_packs(const gat_view<T> &v, std::initializer_list<const void *> rows)
{
    int width = v.dim / PACK, packs = (v.heads * width + WARP - 1) / WARP;
    bool fit = width > 0 && v.dim % PACK == 0 && WARP % width == 0 && v.heads <= WARP_HEADS && packs <= WARP_PACKS;
    for (const void *p : rows)
        fit = fit && aligned16(p);
    return fit && aligned16(v.z) && aligned16(v.a_src) && aligned16(v.a_dst) ? packs : 0;
}

int64_t gat_warp_nodes(int64_t nodes)
{
    int64_t rounds = (nodes + COLUMN_WARPS * NODE_PARTS - 1) / (COLUMN_WARPS * NODE_PARTS);
    return rounds * COLUMN_WARPS;
}

template <typename T>
void gat_warp_forward(struct ctx *c, int packs, T *y, T *pre, float *alpha, const float *bias, const gat_view<T> &v)
{
    auto kernel = packs == 1 ? gat_warp_kernel<T, 1> : gat_warp_kernel<T, 2>;
    LAUNCH(kernel, blocks_for(v.nodes, COLUMN_WARPS), COLUMN_THREADS, 0, cuda_stream(c), y, pre, alpha, bias, v);
}

template <typename T>
void gat_warp_backward(struct ctx *c, int packs, const struct gat_gradients<T> &d, const gat_view<T> &v)
{
    auto edges = packs == 1 ? gat_warp_edge_kernel<T, 1> : gat_warp_edge_kernel<T, 2>;
    auto nodes = packs == 1 ? gat_warp_node_kernel<T, 1> : gat_warp_node_kernel<T, 2>;
    LAUNCH(edges, blocks_for(v.nodes, COLUMN_WARPS), COLUMN_THREADS, 0, cuda_stream(c), d, v);
    LAUNCH_EARLY(c, nodes, blocks_for(d.parts, 1), COLUMN_THREADS, 0, d, v);
}

template int gat_warp_packs(const gat_view<float> &, std::initializer_list<const void *>);
template int gat_warp_packs(const gat_view<bf16> &, std::initializer_list<const void *>);
template void gat_warp_forward(struct ctx *, int, float *, float *, float *, const float *, const gat_view<float> &);
template void gat_warp_forward(struct ctx *, int, bf16 *, bf16 *, float *, const float *, const gat_view<bf16> &);
template void gat_warp_backward(struct ctx *, int, const struct gat_gradients<float> &, const gat_view<float> &);
template void gat_warp_backward(struct ctx *, int, const struct gat_gradients<bf16> &, const gat_view<bf16> &);
