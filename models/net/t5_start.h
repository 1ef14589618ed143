/*
 * t5_start.h - first weights from which a small encoder-decoder learns early to copy.
 *
 * To copy a name a decoder must find where its last token stands in what the encoder read, and say what follows there.
 * Weights drawn at random know neither "the same" nor "next to", and a small model needs millions of tokens for either.
 * Here every attention begins with keys that are its queries, so that equal tokens find each other, and outputs that
 * are its values transposed, so that what is looked at is what is said (mimetic initialisation: Trockman and Kolter,
 * arXiv 2305.09828); of four heads three begin with a relative bias towards one neighbour.  All of it is trained on.
 */
#ifndef MODELS_NET_T5_START_H
#define MODELS_NET_T5_START_H

#include "models/net/t5.h"

/* Changes the weights of m, which params_init has drawn; p has them. */
void t5_start_copying(const struct t5 *m, struct params *p, struct device *d);

#endif
