/*
 * span_score.h - `ambit-data score --rule spans`: what a tagger says against records whose words are marked.
 *
 * Shares are of sums over all records, their intervals from a bootstrap over tables and databases (db_id): questions
 * about one table are alike.
 */
#ifndef DATA_SPAN_SPAN_SCORE_H
#define DATA_SPAN_SPAN_SCORE_H

#include "data/score/score.h"

/* --gold: span records; --pred: what `ambit-infer tag` wrote, by id.  A record without an answer, an answer that is an
 * error, that nobody asked for or that is there twice is skipped and told. */
score_rule score_spans;

#endif
