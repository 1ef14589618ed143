#include "kernels/kernels.h"

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
