/*
 * sample.h - the next token drawn from logits.
 */
#ifndef MODELS_LM_SAMPLE_H
#define MODELS_LM_SAMPLE_H

#include <stdint.h>

/*
 * A token of softmax(logits / temperature), cut to the fewest likeliest tokens that together hold at least top_p and
 * renormalised (nucleus sampling, Holtzman et al. 2020); u, uniform in [0, 1), picks it.  temperature > 0, n > 0.  A
 * logit that is no number is never drawn while there is another.
 */
int32_t sample_token(const float *logits, int64_t n, double temperature, double top_p, float u);

#endif
