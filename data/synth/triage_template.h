/*
 * triage_template.h - questions that are made from templates, which were written by hand (triage_make.h).
 *
 * The caller frees all texts.  The same state of the generator gives the same text.
 */
#ifndef DATA_SYNTH_TRIAGE_TEMPLATE_H
#define DATA_SYNTH_TRIAGE_TEMPLATE_H

#include "data/corpora/triage.h"
#include "kernels/rng.h"

/* Small talk that fits no database. */
char *triage_small_talk(struct rng *rng);
/* A question of KIND_REQUEST or KIND_KNOWLEDGE about a table and its column. */
char *triage_beyond(struct rng *rng, enum triage_kind kind, const char *table, const char *column);
/* The first question of a dialogue, about a table and a column; NULL: "thing". */
char *triage_opening(struct rng *rng, const char *table, const char *column);
/* A question that follows another one, about a column; NULL: about none. */
char *triage_following(struct rng *rng, const char *column);

/* A table, one of its columns, and columns of it with numbers and with times. */
struct triage_subject {
    const char *table, *column, *number, *time;
};
/* A question of KIND_TIME or KIND_AGGREGATE.  exact: a similar question with an exact time, order or filter, which is
 * answerable. */
char *triage_vague(struct rng *rng, enum triage_kind kind, bool exact, const struct triage_subject *about);

#endif
