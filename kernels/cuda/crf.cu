/*
 * crf.cu - linear-chain conditional random fields (Lafferty et al. 2001): partition function, gradient, best tagging.
 *
 * A sequence is a chain of dependent steps, so a warp has one, with a lane for each tag.  Lanes exchange numbers by
 * shuffles.  Weights [tags + 2, tags] have the transitions, then the start and the end of each tag.
 */
#include "kernels/cuda/cuda.cuh"

constexpr int TAGS = CRF_TAGS_MAX; /* a lane for each tag */
static_assert(TAGS == WARP, "a tag is a bit and a lane");

/* Arguments of a call. */
struct crf_view {
    const float *e, *weights;
    const int *allowed, *forbidden, *offsets;
    int tags;
};

static struct crf_view view_of(const struct tensor *e, const struct tensor *allowed, const struct seqs *s,
                               const struct crf *m)
{
    return { data_of<float>(e),          data_of<float>(m->weights), data_of<int>(allowed),
             data_of<int>(m->forbidden), data_of<int>(s->offsets),   (int)tensor_cols(e) };
}

/* Returns weight [row, lane]; -infinity if it is forbidden or there is no such tag. */
__device__ inline float weight_at(const crf_view &v, int row)
{
    bool barred = lane_id() >= v.tags || (v.forbidden && (unsigned)v.forbidden[row] >> lane_id() & 1u);
    return barred ? -INFINITY : v.weights[row * v.tags + lane_id()];
}

/* Returns this lane's emission of a token; -infinity if the token may not have the tag. */
__device__ inline float emission_at(const crf_view &v, int64_t token)
{
    bool barred = lane_id() >= v.tags || (v.allowed && !((unsigned)v.allowed[token] >> lane_id() & 1u));
    return barred ? -INFINITY : v.e[token * v.tags + lane_id()];
}

/* factor = exp(x - maximum over the warp), 0 for -infinity; returns the maximum. */
__device__ inline float factor_of(float &factor, float x)
{
    float most = warp_max(x);
    factor = x > -INFINITY ? expf(x - most) : 0.0f;
    return most;
}

/* Loads the transitions as factors relative to the largest one, row by row, and returns its logarithm.  Ends with a
 * barrier.  The extra column of w avoids bank conflicts when a lane reads along its row. */
__device__ inline float load_transitions(float (&w)[TAGS][TAGS + 1], const crf_view &v)
{
    float most = -INFINITY;
    for (int i = 0; i < v.tags; i++)
        most = fmaxf(most, weight_at(v, i));
    most = warp_max(most);
    for (int i = 0; i < v.tags; i++) {
        float x = weight_at(v, i);
        w[i][lane_id()] = x > -INFINITY ? expf(x - most) : 0.0f;
    }
    __syncthreads(); /* lanes read rows that other lanes wrote */
    return most;
}

/*
 * y[s] = log Z of sequence s;  alpha[t,:] = probabilities of the tags of token t, given the tokens up to t
 *
 * Grid     one block of a warp per sequence, a lane for each tag.
 * Memory   reads e once, writes alpha once; transitions lie in 4 KiB of shared memory.
 * Numbers  products of factors; rows of alpha are scaled to a sum of 1, and the logarithms of the sums are added in
 *          f64.
 */
__global__ void __launch_bounds__(WARP) crf_log_z_kernel(float *__restrict__ y, float *__restrict__ alpha, crf_view v)
{
    __shared__ float w[TAGS][TAGS + 1];
    int64_t first = v.offsets[block_id()], end = v.offsets[block_id() + 1];
    float most_trans = load_transitions(w, v), at, last, factor;
    double log_z = (double)factor_of(at, weight_at(v, v.tags)) + (double)factor_of(last, weight_at(v, v.tags + 1));
    for (int64_t t = first; t < end; t++) {
        /* One step of the forward algorithm: sum over the tags before, times the emission. */
        float before = at;
        if (t > first) {
            before = 0;
            for (int i = 0; i < v.tags; i++)
                before += __shfl_sync(ALL_LANES, at, i) * w[i][lane_id()];
        }
        log_z += (double)factor_of(factor, emission_at(v, t));
        float sum = warp_sum(before * factor);
        at = sum > 0 ? before * factor / sum : 0.0f;
        log_z += log((double)sum) + (t > first ? (double)most_trans : 0);
        if (lane_id() < v.tags)
            alpha[t * v.tags + lane_id()] = at;
    }
    log_z += log((double)warp_sum(at * last));
    if (lane_id() == 0)
        y[block_id()] = end > first ? (float)log_z : 0.0f;
}

/*
 * de[t,j] (+)= dy[s] P(y_t = j);  sums[s,:] = dy[s] times the expected count of each weight in sequence s
 *
 * Grid     one block of a warp per sequence, a lane for each tag.
 * Memory   reads e and alpha once, writes de once; transitions and their sums lie in 8 KiB of shared memory.
 * Numbers  f32; at every token alpha beta is scaled to a sum of 1.
 */
__global__ void __launch_bounds__(WARP)
    crf_backward_kernel(float *__restrict__ de, bool add, float *__restrict__ sums, const float *__restrict__ dy,
                        const float *__restrict__ alpha, crf_view v)
{
    __shared__ float w[TAGS][TAGS + 1], pairs[TAGS][TAGS + 1];
    int64_t first = v.offsets[block_id()], end = v.offsets[block_id() + 1];
    int lane = lane_id(), tags = v.tags;
    bool mine = lane < tags;
    float at = 0, beta, factor, sum, tail = 0, up = dy[block_id()];
    load_transitions(w, v);
    for (int i = 0; i < tags; i++)
        pairs[i][lane] = 0; /* only lane j accesses column j */
    factor_of(beta, weight_at(v, tags + 1));
    if (end > first && mine)
        at = alpha[(end - 1) * tags + lane];
    sum = warp_sum(at * beta);
    bool possible = sum > 0; /* false: every tagging is forbidden, and all gradients are 0 */
    beta = possible ? beta / sum : 0.0f;
    tail = at * beta;
    for (int64_t t = end - 1; t >= first; t--) {
        if (de && mine)
            put(de + t * tags + lane, up * at * beta, add);
        if (t == first)
            break;
        factor_of(factor, emission_at(v, t));
        float here = factor * beta;
        at = mine ? alpha[(t - 1) * tags + lane] : 0.0f;
        beta = 0;
        for (int j = 0; j < tags; j++) {
            float behind = __shfl_sync(ALL_LANES, here, j);
            beta += mine ? w[lane][j] * behind : 0.0f; /* rows of missing tags are not initialised */
        }
        sum = warp_sum(at * beta);
        beta = possible ? beta / sum : 0.0f;
        here = possible ? here / sum : 0.0f;
        for (int i = 0; i < tags; i++)
            pairs[i][lane] += __shfl_sync(ALL_LANES, at, i) * here;
    }
    float *out = sums ? sums + block_id() * (tags + 2) * tags : nullptr;
    for (int i = 0; out && mine && i < tags; i++)
        out[i * tags + lane] = up * pairs[i][lane] * w[i][lane];
    if (out && mine) {
        out[tags * tags + lane] = up * at * beta;
        out[(tags + 1) * tags + lane] = up * tail;
    }
}

/*
 * y = the best tagging;  back[t,j] = the best tag before tag j of token t
 *
 * Grid     one block of a warp per sequence, a lane for each tag; its first lane walks back.
 * Memory   reads e once, writes back once and reads a word of each of its rows; transitions in 4 KiB of shared memory.
 * Numbers  sums in f32; of equal scores the lower tag.
 */
__global__ void __launch_bounds__(WARP) viterbi_kernel(int *__restrict__ y, int *back, crf_view v)
{
    __shared__ float w[TAGS][TAGS + 1];
    int64_t first = v.offsets[block_id()], end = v.offsets[block_id() + 1];
    for (int i = 0; i < v.tags; i++)
        w[i][lane_id()] = weight_at(v, i); /* only lane j accesses column j */
    float at = weight_at(v, v.tags), most = -INFINITY;
    for (int64_t t = first; t < end; t++) {
        float best = -INFINITY;
        int from = 0;
        for (int i = 0; t > first && i < v.tags; i++) {
            float score = __shfl_sync(ALL_LANES, at, i) + w[i][lane_id()];
            from = score > best ? i : from;
            best = fmaxf(best, score);
        }
        at = (t > first ? best : at) + emission_at(v, t);
        if (lane_id() < v.tags)
            back[t * v.tags + lane_id()] = from;
    }
    at += weight_at(v, v.tags + 1);
    int tag = 0;
    for (int i = 0; i < v.tags; i++) {
        float score = __shfl_sync(ALL_LANES, at, i);
        tag = score > most ? i : tag;
        most = fmaxf(most, score);
    }
    __syncthreads(); /* the first lane reads back, which all lanes wrote */
    for (int64_t t = end - 1; lane_id() == 0 && t >= first; t--) {
        y[t] = most > -INFINITY ? tag : 0;
        tag = back[t * v.tags + tag];
    }
}

extern "C" void cuda_crf_log_z(struct ctx *c, struct tensor *y, struct tensor *alpha, const struct tensor *e,
                               const struct tensor *allowed, const struct seqs *s, const struct crf *m)
{
    if (s->n)
        LAUNCH(crf_log_z_kernel, blocks_for(s->n, 1), WARP, 0, cuda_stream(c), data_of<float>(y), data_of<float>(alpha),
               view_of(e, allowed, s, m));
}

extern "C" void cuda_crf_log_z_backward(struct ctx *c, struct destination de, struct tensor *sums,
                                        const struct tensor *dy, const struct tensor *alpha, const struct tensor *e,
                                        const struct tensor *allowed, const struct seqs *s, const struct crf *m)
{
    if (s->n)
        LAUNCH(crf_backward_kernel, blocks_for(s->n, 1), WARP, 0, cuda_stream(c), data_of<float>(de.t), de.add,
               data_of<float>(sums), data_of<float>(dy), data_of<float>(alpha), view_of(e, allowed, s, m));
}

extern "C" void cuda_viterbi(struct ctx *c, struct tensor *y, struct tensor *back, const struct tensor *e,
                             const struct tensor *allowed, const struct seqs *s, const struct crf *m)
{
    if (s->n)
        LAUNCH(viterbi_kernel, blocks_for(s->n, 1), WARP, 0, cuda_stream(c), data_of<int>(y), data_of<int>(back),
               view_of(e, allowed, s, m));
}
