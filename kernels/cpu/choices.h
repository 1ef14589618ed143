/*
 * choices.h - the tokens that may follow a row, with their logits, in ascending order of their ids.
 */
#ifndef KERNELS_CPU_CHOICES_H
#define KERNELS_CPU_CHOICES_H

#include "kernels/cpu/row.h"

struct choices {
    const float *x;              /* logits of the row */
    const int32_t *token, *next; /* of edges; NULL: the whole vocabulary */
    int64_t n;
};

/* Returns the row of logits that a step uses for its row t, which is not padding. */
int64_t logit_row(const struct decode_state *s, const struct decode_step *step, int64_t t);
/* Returns the choices in row t of the logits; if a is NULL or the state negative, all tokens. */
struct choices choices_of(const struct automaton *a, int32_t state, const struct tensor *logits, int64_t t);

static inline int32_t choice_id(const struct choices *ch, int64_t i)
{
    return ch->token ? ch->token[i] : (int32_t)i;
}
static inline int32_t choice_state(const struct choices *ch, int64_t i)
{
    return ch->next ? ch->next[i] : STATE_FREE;
}
/* Returns the logits of choices [at, at + n), n <= ROW_BLOCK, in place or in buf. */
const float *choices_in(float *buf, const struct choices *ch, int64_t at, int64_t n);
/* Returns the maximum logit that is a number; minus infinity if there is none. */
float choices_most(const struct choices *ch);
/* Returns log sum exp(logit - most) over logits that are numbers; infinities count as `most`. */
float choices_log_excess(const struct choices *ch, float most);
/* Returns log p of a logit, after choices_most and choices_log_excess. */
static inline float choice_logp(float logit, float most, float excess)
{
    return (logit == most ? 0 : logit - most) - excess;
}

#endif
