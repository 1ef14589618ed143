/*
 * Ops of decoding: the start of requests, the next tokens of rows, runs of tokens that a grammar forces, candidates,
 * beam search and sampling. The host knows shapes only; all numbers stay in the state on the device. No op has a
 * record, since decoding is not differentiated.
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

void op_beam_step(struct ctx *c, const struct decode_state *s, const struct decode_step *step,
                  const struct candidates *best, const struct beam_settings *set)
{
    int keep = beam_candidates(s->width, tensor_size(set->stops));

    CHECK(s->width >= 1 && s->width <= BEAMS_MAX && keep <= best->k,
          "beam_step: %d beams with %lld stop tokens go on from %d candidates each, expected %d", s->width,
          (long long)tensor_size(set->stops), best->k, keep);
    CHECK(tensor_rows(best->value) == tensor_size(step->request) * s->width,
          "beam_step: candidates of %lld rows, %lld requests of %d", (long long)tensor_rows(best->value),
          (long long)tensor_size(step->request), s->width);
    RUN(c, beam_step, s, step, best, set);
}

void op_draw(struct ctx *c, const struct decode_state *s, const struct decode_step *step, struct tensor *logits,
             const struct automaton *a, const struct draw_settings *set)
{
    CHECK(logits->dtype == F32 && logits->ndim == 2 && tensor_cols(logits) <= DRAW_COLUMNS &&
              (step->first || logits->shape[0] == tensor_size(step->request) * s->width),
          "draw: logits [%lld, %lld] of %s for %lld requests of %d rows", (long long)logits->shape[0],
          (long long)tensor_cols(logits), dtype_name(logits->dtype), (long long)tensor_size(step->request), s->width);
    CHECK(set->temperature >= 0 && set->top_k >= 0 && set->top_p >= 0 && set->min_p >= 0 && set->min_p <= 1 &&
              set->typical_p >= 0,
          "draw: temperature %g, top_k %d, top_p %g, min_p %g, typical_p %g", (double)set->temperature, set->top_k,
          (double)set->top_p, (double)set->min_p, (double)set->typical_p);
    RUN(c, draw, s, step, logits, a, set);
}

struct tensor *op_argmax(struct ctx *c, struct tensor *x)
{
    int64_t cols = tensor_cols(x);
    CHECK(x->dtype != I32 && cols > 0 && cols <= INT32_MAX, "argmax: %lld columns of %s", (long long)cols,
          dtype_name(x->dtype));
    struct tensor *y = tensor_new1(c, I32, tensor_rows(x));
    RUN(c, argmax, y, x);
    return y;
}
