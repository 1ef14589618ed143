/*
 * dte_decode_impl.h - what the two ways from a reading to an answer share; for the files of this module only.
 */
#ifndef MODELS_TAGGER_DTE_DECODE_IMPL_H
#define MODELS_TAGGER_DTE_DECODE_IMPL_H

#include "models/tagger/dte_decode.h"

/* The concepts with the best scores [n_concepts], which are used up, at most `most` and none that has less than a share
 * of the best or less than 0; a value and its own column are one meaning.  Returns how many. */
int dte_take_best(struct tag_concept **list, double *scores, const struct dte_reading *r, int most, double share);

#endif
