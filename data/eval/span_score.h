/*
 * span_score.h - `ambit-data score --rule spans`: a tagger's output against records with marked words.
 *
 * Ratios are taken over sums of all records. Intervals come from a bootstrap over tables and databases (db_id),
 * because questions about one table are similar.
 */
#ifndef DATA_EVAL_SPAN_SCORE_H
#define DATA_EVAL_SPAN_SCORE_H

#include "data/eval/score.h"

/* Matches --gold, span records, and --pred, output of `ambit-infer tag`, by id. Records without a prediction, errors,
 * duplicates and predictions of unknown records are skipped and listed. */
score_rule score_spans;

#endif
