/*
 * wording.h - the same question as different people type it.
 *
 * A style never touches the words that name something in the schema: it adds a request before them ("could you tell me
 * ..."), drops capitals or the question mark, or says the question as a command.
 */
#ifndef DATA_NATURAL_WORDING_H
#define DATA_NATURAL_WORDING_H

#include "data/util/strings.h"
#include "kernels/rng.h"

/* The question in a style drawn at random, mostly as it is; text keeps it. */
const char *wording_restyle(struct strings *text, const char *question, struct rng *rng);

#endif
