/*
 * several_score.h - `ambit-data score --rule several`: all ambiguities of a question against those of gold.
 *
 * Gold has "ambiguities", [{"alternatives", "start", "end"}], perhaps none. A prediction has the same list, as
 * `ambit-infer detect` writes it, or the AMB spans of `ambit-infer tag`. An ambiguity is found if a prediction names
 * all of its alternatives; each prediction finds one at most. The measures are printed by the number of ambiguities of
 * gold. Intervals come from a bootstrap over "source_db", whose schemas are similar, or else over "db_id".
 */
#ifndef DATA_EVAL_SEVERAL_SCORE_H
#define DATA_EVAL_SEVERAL_SCORE_H

#include "data/eval/score.h"

/* Matches --gold and --pred by id. Records without a prediction, errors, duplicates and predictions of unknown records
 * are skipped and listed. */
score_rule score_several;

#endif
