#include "kernels/cuda/decode.cuh"

constexpr int THREADS = 256;

struct start_view {
    const int *request, *token, *state, *key, *length, *rows;
    int64_t longest;
    bool beams;
};

/*
 * What op_decode_start says.
 *
 * Grid     one block per row of the state.
 * Memory   reads a prompt's places once for each of its rows, writes them.
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
        s.score[row] = start.beams && within > 0 ? -INFINITY : 0.0f;
        s.end_step[row] = -1;
        s.end_score[row] = NO_ANSWER;
    }
    if (thread_id() == 0 && within == 0) {
        s.key[2 * request] = start.key[2 * i];
        s.key[2 * request + 1] = start.key[2 * i + 1];
        s.done[request] = 0;
    }
}

/*
 * y[t] = the row's token, 0 for padding; table[row, place] = cache_rows[t]
 *
 * Grid     one thread per row.
 * Memory   a few words a row.
 */
__global__ void __launch_bounds__(THREADS)
    next_tokens_kernel(int *__restrict__ y, state_view s, step_view step, const int *__restrict__ cache_rows, int64_t n)
{
    int64_t t = grid_thread(), i = t / s.width;
    if (t >= n)
        return;
    int64_t request = step.request[i], row = request * s.width + t % s.width;
    y[t] = request < 0 ? 0 : s.token[row];
    if (request >= 0)
        s.table[row * s.keys + step.place[i]] = cache_rows[t];
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
                                 const struct decode_step *step, const struct tensor *cache_rows)
{
    int64_t n = tensor_size(y);
    if (n)
        LAUNCH(next_tokens_kernel, blocks_for(n, THREADS), THREADS, 0, cuda_stream(c), data_of<int>(y), view_of(s),
               view_of(step), data_of<int>(cache_rows), n);
}
