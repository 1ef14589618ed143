/*
 * The best tokens of each row of a decoding step, and their store for callers that ask for alternatives. Neither op
 * has a record: decoding is not differentiated.
 */
#include "kernels/kernels.h"

struct candidates op_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                                struct tensor *logits, const struct automaton *a, int k, enum normalise normalise)
{
    int64_t rows = tensor_size(step->request) * s->width;

    CHECK(logits->dtype == F32 && logits->ndim == 2 && (step->first || logits->shape[0] == rows),
          "candidates: logits [%lld, %lld] of %s for %lld requests of %d rows", (long long)logits->shape[0],
          (long long)tensor_cols(logits), dtype_name(logits->dtype), (long long)tensor_size(step->request), s->width);
    CHECK(k >= 1 && k <= CANDIDATES_MAX, "candidates: %d, expected 1 .. %d", k, CANDIDATES_MAX);
    struct candidates best = { tensor_new2(c, F32, rows, k), tensor_new2(c, I32, rows, k), tensor_new2(c, I32, rows, k),
                               k };
    const struct candidates *y = &best;
    RUN(c, candidates, y, s, step, logits, a, normalise);
    return best;
}

void op_keep_candidates(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                        const struct candidates *best)
{
    int64_t steps = tensor_cols(s->said), kept = tensor_cols(s->best_id) / steps;

    CHECK(kept * steps == tensor_cols(s->best_logp) && kept <= best->k && kept >= 1,
          "keep_candidates: %lld of %d, room for %lld log p of %lld steps", (long long)kept, best->k,
          (long long)tensor_cols(s->best_logp), (long long)steps);
    RUN(c, keep_candidates, s, step, best);
}
