/*
 * beam_step.cu - a step of beam search: one block per request does everything, since a request has at most BEAMS_MAX
 * rows.
 *
 * Candidates are sorted within each row.  A candidate's rank among all rows is thus a sum of binary searches, and no
 * sort is needed.
 */
#include "kernels/cuda/decode.cuh"

constexpr int THREADS = 256;
static_assert(THREADS == CANDIDATES_MAX, "a thread a continuation");

/* Arguments of a step. */
struct beam_view {
    const float *value; /* of candidates */
    const int *id, *state, *stops;
    const float *norm;
    int k, keep;
    int64_t n_stops;
    enum early_stopping early;
    bool grows; /* longer completions have better scores than shorter ones */
};

/* A candidate among the best of all rows; row -1: none. */
struct went_on {
    int row, at, id;
    float score, logp;
    bool stop, hit; /* hit: it ends here, by a stop token or the limit */
};

/* One request: its first row, its first row of candidates, and the numbers of its step. */
struct beam_place {
    int64_t row, from;
    int step, limit, fixed, place;
};

/* Returns how many of a row's sorted candidates precede a score: those above it, and with `equals` also its equals. */
__device__ inline int ahead(const float *value, int k, float add, float score, bool equals)
{
    int low = 0, high = k;
    while (low < high) {
        int middle = (low + high) / 2;
        float other = value[middle] + add;
        if (equals ? other >= score : other > score)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the rank of a row's candidate among those of all rows, or `keep` if that many precede it.  Of equal scores
 * the lower row comes first, so ranks differ. */
__device__ inline int rank_of(const beam_view &b, const float *value, const float *row_score, int width, int row,
                              int at, float score)
{
    int rank = at;
    for (int i = 0; i < width && rank < b.keep; i++)
        if (i != row)
            rank += ahead(value + i * b.k, b.k, row_score[i], score, i < row);
    return rank < b.keep ? rank : b.keep;
}

/*
 * list[rank] = the best candidates of all rows.  Begins with a barrier, and a barrier must follow.
 */
__device__ inline void merge(went_on *list, const float *row_score, const state_view &s, const beam_view &b,
                             const beam_place &p)
{
    const float *value = b.value + p.from * b.k;
    list[thread_id()] = { -1, 0, 0, 0.0f, 0.0f, false, false };
    __syncthreads();
    for (int i = thread_id(); i < s.width * b.k; i += THREADS) {
        int row = i / b.k, at = i % b.k, id = b.id[p.from * b.k + i];
        float score = value[i] + row_score[row];
        if (!(score > -INFINITY))
            continue;
        int rank = rank_of(b, value, row_score, s.width, row, at, score);
        if (rank == b.keep)
            continue;
        bool stop = is_stop(b.stops, b.n_stops, id);
        list[rank] = { row, at, id, score, value[i], stop, stop || p.step + 1 >= p.limit };
    }
}

/* next[i] = the i-th of the list that does not end; a barrier must follow. */
__device__ inline void choose_next(int *next, const went_on *list, const state_view &s)
{
    int at = thread_id(), before = 0;
    if (at < s.width)
        next[at] = -1;
    __syncthreads();
    if (list[at].row >= 0 && !list[at].hit) {
        for (int i = 0; i < at; i++)
            before += !list[i].hit;
        if (before < s.width)
            next[before] = at;
    }
}

/*
 * Moves completions into the slots of the request, sorted by score.
 *
 * They are those of the first `width` candidates that end, and those that the slots hold already.  Both are sorted, so
 * the new slot of each is the number of completions before it.  Of equal scores, the old one comes before the new one,
 * and of two new ones the earlier.
 */
__device__ inline void take_answers(const went_on *list, float *old_score, float *new_score, const state_view &s,
                                    const beam_view &b, const beam_place &p)
{
    int at = thread_id(), slot = s.width, old_slot = s.width;
    /* Each thread reads its old slot before any thread writes. */
    int64_t from = p.row + at;
    bool mine = at < s.width, ends = mine && list[at].hit;
    int step = 0, row = 0, token = 0, stop = 0;
    float logp = 0;
    if (mine) {
        old_score[at] = s.end_score[from];
        new_score[at] = ends ? list[at].score / b.norm[p.step + 1] : -INFINITY;
        step = s.end_step[from], row = s.end_row[from], token = s.end_token[from], stop = s.end_stop[from];
        logp = s.end_logp[from];
    }
    __syncthreads();
    if (mine) {
        slot = old_slot = 0;
        for (int i = 0; i < s.width; i++) {
            slot += (old_score[i] >= new_score[at]) + (i < at && new_score[i] > -INFINITY);
            old_slot += new_score[i] > old_score[at];
        }
        old_slot += at;
    }
    if (mine && old_slot < s.width) {
        int64_t to = p.row + old_slot;
        s.end_step[to] = step, s.end_row[to] = row, s.end_token[to] = token, s.end_stop[to] = stop;
        s.end_logp[to] = logp, s.end_score[to] = old_score[at];
    }
    if (ends && slot < s.width) {
        int64_t to = p.row + slot;
        s.end_step[to] = p.step, s.end_row[to] = list[at].row, s.end_token[to] = list[at].id;
        s.end_stop[to] = list[at].stop;
        s.end_logp[to] = list[at].logp, s.end_score[to] = new_score[at];
    }
}

/*
 * Moves the rows' own entries of the page table: each row gets those of the row that it continues.
 *
 * The first positions, before `fixed`, are shared by all rows and stay.  The threads of all rows move at_once positions
 * in a round.  A barrier separates reads and writes, and no two rounds touch the same position.
 */
__device__ inline void move_tables(const went_on *list, const int *next, const state_view &s, const beam_place &p)
{
    int at_once = THREADS / s.width, i = thread_id() / at_once, entry = 0;
    int from = i < s.width && next[i] >= 0 ? list[next[i]].row : i;
    for (int64_t first = p.fixed; first <= p.place; first += at_once) {
        int64_t place = first + thread_id() % at_once;
        bool moves = from != i && place <= p.place;
        if (moves)
            entry = s.table[(p.row + from) * s.keys + place];
        __syncthreads();
        if (moves)
            s.table[(p.row + i) * s.keys + place] = entry;
    }
}

/* Appends the chosen candidate to each row.  Rows without one become empty. */
__device__ inline void move_row(const went_on *list, const int *next, const state_view &s, const beam_view &b,
                                const beam_place &p)
{
    int i = thread_id();
    int64_t row = p.row + i, log = row * s.steps + p.step;
    if (i >= s.width)
        return;
    if (next[i] < 0) {
        s.score[row] = -INFINITY;
        return;
    }
    const went_on &to = list[next[i]];
    s.score[row] = to.score;
    s.token[row] = s.said[log] = to.id;
    s.parent[log] = to.row;
    s.logp[log] = to.logp;
    s.state[row] = b.state[(p.from + to.row) * b.k + to.at];
}

/*
 * Whether the request is done.  There are three reasons: no row continues; every slot is filled and early stopping asks
 * for no more; or the best row cannot become better than the worst slot.  The last one follows the estimate of
 * transformers.
 */
__device__ inline bool is_done(const went_on *list, int best, const state_view &s, const beam_view &b,
                               const beam_place &p)
{
    int64_t last = p.row + s.width - 1;
    int length = b.early == EARLY_NEVER && b.grows ? p.limit : p.step + 1;
    if (best < 0 || (b.early == EARLY_TRUE && s.end_step[last] >= 0))
        return true;
    return !(list[best].score / b.norm[length] > s.end_score[last]);
}

/*
 * A step of beam search for each request, see op_beam_step.
 *
 * Grid     one block per request.
 * Memory   W k candidates, read from L1 as often as the ranks need, and the positions of W rows of the table.
 * Numbers  one addition and one division a score, as in transformers.
 */
__global__ void __launch_bounds__(THREADS) beam_step_kernel(state_view s, step_view step, beam_view b)
{
    __shared__ went_on list[CANDIDATES_MAX];
    __shared__ int next[BEAMS_MAX];
    __shared__ float row_score[BEAMS_MAX], old_score[BEAMS_MAX], new_score[BEAMS_MAX];
    int64_t i = block_id(), request = step.request[i];
    if (request < 0 || s.done[request])
        return;
    beam_place p = { request * s.width, i * s.width, step.step[i], step.limit[i], step.fixed[i], step.place[i] };
    if (thread_id() < s.width)
        row_score[thread_id()] = s.score[p.row + thread_id()];
    merge(list, row_score, s, b, p);
    choose_next(next, list, s);
    take_answers(list, old_score, new_score, s, b, p);
    move_tables(list, next, s, p);
    move_row(list, next, s, b, p);
    __syncthreads(); /* all slots have their completions */
    if (thread_id() == 0)
        s.done[request] = is_done(list, next[0], s, b, p);
}

extern "C" void cuda_beam_step(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                               const struct candidates *best, const struct beam_settings *set)
{
    int64_t n = tensor_size(step->request), n_stops = tensor_size(set->stops);
    beam_view b = { data_of<float>(best->value),
                    data_of<int>(best->id),
                    data_of<int>(best->state),
                    data_of<int>(set->stops),
                    data_of<float>(set->norm),
                    best->k,
                    beam_candidates(s->width, n_stops),
                    n_stops,
                    set->early,
                    set->length_penalty > 0 };
    if (n)
        LAUNCH(beam_step_kernel, blocks_for(n, 1), THREADS, 0, cuda_stream(c), view_of(s), view_of(step), b);
}
