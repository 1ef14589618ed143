#include "kernels/kernels.h"

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
