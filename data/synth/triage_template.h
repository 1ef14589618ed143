/*
 * triage_template.h - questions that are made from templates, which were written by hand (triage_make.h).
 *
 * The caller frees all texts.  The same state of the generator gives the same text.
 */
#ifndef DATA_SYNTH_TRIAGE_TEMPLATE_H
#define DATA_SYNTH_TRIAGE_TEMPLATE_H

#include "kernels/base.h"
#include "kernels/rng.h"

/* Small talk that fits no database. */
char *triage_small_talk(struct rng *rng);
/* A request beyond SQL about a table and its column. */
char *triage_request_beyond(struct rng *rng, const char *table, const char *column);
/* The first question of a dialogue, about a table and a column; NULL: "thing". */
char *triage_opening(struct rng *rng, const char *table, const char *column);
/* A question that follows another one, about a column; NULL: about none. */
char *triage_following(struct rng *rng, const char *column);

#endif
