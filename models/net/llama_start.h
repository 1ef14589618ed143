/*
 * llama_start.h - first weights from which a small decoder learns early to copy.
 *
 * To copy, a model finds where the token that it reads stood before and says what followed there: one layer tells each
 * token which ones stand before it, the next looks for the token told so (induction heads: Olsson et al. 2022, arXiv
 * 2209.11895).  A small model finds the two only together, and late.  Here they are there from the start: half of the
 * channels holds embeddings; a first layer's heads, which a channel that is the same for all tokens makes look one
 * token back, two, and so on, write what they see into the other half; in the second layer the first head of each group
 * looks for its own token there, by channels that rotary positions turn slowly, and adds the embedding of the one that
 * it finds.  Everything else is as it was drawn, and all of it is trained on.  t5_start.h is the same of an
 * encoder-decoder.
 */
#ifndef MODELS_NET_LLAMA_START_H
#define MODELS_NET_LLAMA_START_H

#include "models/net/llama.h"

/* Changes the weights of m, which params_init has drawn and which has as many channels as its heads have together; p
 * has them.  With one layer tokens know those before them, and no more. */
void llama_start_copying(const struct llama *m, struct params *p, struct device *d);

#endif
