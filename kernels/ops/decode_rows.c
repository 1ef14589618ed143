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

struct tensor *op_next_tokens(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                              struct tensor *cache_rows)
{
    int64_t rows = tensor_size(step->request) * s->width;

    CHECK(tensor_size(cache_rows) == rows && cache_rows->dtype == I32, "next_tokens: %lld cache rows of %s for %lld",
          (long long)tensor_size(cache_rows), dtype_name(cache_rows->dtype), (long long)rows);
    struct tensor *y = tensor_new1(c, I32, rows);
    RUN(c, next_tokens, y, s, step, cache_rows);
    return y;
}
