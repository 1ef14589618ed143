/*
 * Ops on the state of decoding: the start of requests, the next tokens of rows, and runs of tokens that a grammar
 * forces. The host knows shapes only; all numbers stay on the device.
 */
#include "kernels/kernels.h"

void op_decode_start(struct ctx *c, const struct decode_state *s, const struct decode_start *start, bool beams)
{
    int64_t n = tensor_size(start->request);

    CHECK(tensor_size(start->token) == n && tensor_size(start->state) == n && tensor_size(start->key) == 2 * n &&
              tensor_size(start->length) == n && start->rows->shape[0] == n &&
              tensor_cols(start->rows) <= tensor_cols(s->table),
          "decode_start: %lld requests, prompts of %lld places, %lld keys in the table", (long long)n,
          (long long)tensor_cols(start->rows), (long long)tensor_cols(s->table));
    RUN(c, decode_start, s, start, beams);
}

struct tensor *op_next_tokens(struct ctx *c, const struct decode_state *s, const struct decode_read *read,
                              const struct automaton *a)
{
    int64_t n = tensor_size(read->row);

    CHECK(tensor_size(read->ahead) == n && tensor_size(read->place) == n && tensor_size(read->cache_row) == n,
          "next_tokens: %lld rows, %lld places, %lld cache rows", (long long)n, (long long)tensor_size(read->place),
          (long long)tensor_size(read->cache_row));
    struct tensor *y = tensor_new1(c, I32, n);
    RUN(c, next_tokens, y, s, read, a);
    return y;
}

void op_forced_runs(struct ctx *c, const struct decode_state *s, struct tensor *request, const struct automaton *a,
                    bool beams, int most)
{
    CHECK(s->run && most >= 0, "forced_runs: a state without a place for %d tokens", most);
    RUN(c, forced_runs, s, request, a, beams, most);
}
