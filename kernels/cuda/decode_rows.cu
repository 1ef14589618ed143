#include "kernels/cuda/decode.cuh"

constexpr int THREADS = 256;

/* Tensors of struct decode_start. */
struct start_view {
    const int *request, *token, *state, *key, *length, *rows;
    int64_t longest;
    bool beams;
};

/*
 * Starts the rows of requests, see op_decode_start.
 *
 * Grid     one block per row of the state.
 * Memory   reads a prompt's cache rows once for each row of its request, and writes them.
 */
__global__ void __launch_bounds__(THREADS) decode_start_kernel(state_view s, start_view start)
{
    int64_t i = block_id() / s.width, request = start.request[i], within = block_id() % s.width;
    int64_t row = request * s.width + within;
    if (request < 0)
        return;
    for (int64_t place = thread_id(); place < start.length[i]; place += THREADS)
        s.table[row * s.keys + place] = start.rows[i * start.longest + place];
    if (thread_id() == 0) {
        s.token[row] = start.token[i];
        s.state[row] = start.state[i];
        s.score[row] = start.beams && within > 0 ? -INFINITY : 0.0f; /* with beams, only the first row is active */
        s.end_step[row] = -1;
        s.end_score[row] = NO_ANSWER;
    }
    if (thread_id() == 0 && within == 0) {
        s.key[2 * request] = start.key[2 * i];
        s.key[2 * request + 1] = start.key[2 * i + 1];
        s.done[request] = 0;
    }
}

/* Tensors of struct decode_read. */
struct read_view {
    const int *row, *ahead, *place, *cache_row;
};

/* Returns the token that follows a row's newest token by `ahead` forced edges; 0 if there is none. */
__device__ inline int token_ahead(const state_view &s, const automaton_view &a, int64_t row, int ahead)
{
    int token = s.token[row], state = s.state[row];
    for (int i = 0; i < ahead; i++) {
        int edge = state < 0 ? 0 : a.first[state];
        if (state < 0 || edge == a.first[state + 1])
            return 0;
        token = a.token[edge], state = a.next[edge];
    }
    return token;
}

/*
 * y[t] = the token to read, 0 for padding;  table[row, place] = cache_row[t]
 *
 * Grid     one thread per token.
 * Memory   a few words a token, and as many more as it is ahead.
 */
__global__ void __launch_bounds__(THREADS)
    next_tokens_kernel(int *__restrict__ y, state_view s, automaton_view a, read_view read, int64_t n)
{
    int64_t t = grid_thread();
    if (t >= n)
        return;
    int64_t row = read.row[t];
    y[t] = row < 0 ? 0 : token_ahead(s, a, row, read.ahead[t]);
    if (row >= 0)
        s.table[row * s.keys + read.place[t]] = read.cache_row[t];
}

/* Returns the number of tokens that follow a state without a choice, at most `most`.  A token that leads to a state
 * without edges does not count: it ends the row. */
__device__ inline int forced_run(const automaton_view &a, int state, int most)
{
    for (int n = 0; n < most; n++) {
        if (state < 0 || a.first[state + 1] != a.first[state] + 1)
            return n;
        state = a.next[a.first[state]];
        if (a.first[state] == a.first[state + 1])
            return n;
    }
    return most;
}

/*
 * run[request] = the minimum of forced_run over its active rows, see op_forced_runs
 *
 * Grid     one thread per request.
 * Memory   three words a token of a run.
 */
__global__ void __launch_bounds__(THREADS)
    forced_runs_kernel(int *__restrict__ run, state_view s, automaton_view a, const int *__restrict__ request,
                       bool beams, int most, int64_t n)
{
    int64_t i = grid_thread(), r = i < n ? request[i] : -1;
    int least = most;
    if (r < 0)
        return;
    for (int64_t row = r * s.width; row < (r + 1) * s.width; row++)
        if (s.score[row] > -INFINITY && (beams || s.end_step[row] < 0))
            least = forced_run(a, s.state[row], least);
    run[r] = s.done[r] ? 0 : least;
}

extern "C" void cuda_decode_start(struct ctx *c, const struct decode_state *s, const struct decode_start *start,
                                  bool beams)
{
    int64_t n = tensor_size(start->request) * s->width;
    start_view v = { data_of<int>(start->request), data_of<int>(start->token),
                     data_of<int>(start->state),   data_of<int>(start->key),
                     data_of<int>(start->length),  data_of<int>(start->rows),
                     tensor_cols(start->rows),     beams };
    if (n)
        LAUNCH(decode_start_kernel, blocks_for(n, 1), THREADS, 0, cuda_stream(c), view_of(s), v);
}

extern "C" void cuda_next_tokens(struct ctx *c, struct tensor *y, const struct decode_state *s,
                                 const struct decode_read *read, const struct automaton *a)
{
    int64_t n = tensor_size(y);
    read_view v = { data_of<int>(read->row), data_of<int>(read->ahead), data_of<int>(read->place),
                    data_of<int>(read->cache_row) };
    if (n)
        LAUNCH(next_tokens_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<int>(y), view_of(s),
               view_of(a), v, n);
}

extern "C" void cuda_forced_runs(struct ctx *c, const struct decode_state *s, const struct tensor *request,
                                 const struct automaton *a, bool beams, int most)
{
    int64_t n = tensor_size(request);
    if (n)
        LAUNCH(forced_runs_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<int>(s->run), view_of(s),
               view_of(a), data_of<int>(request), beams, most, n);
}
