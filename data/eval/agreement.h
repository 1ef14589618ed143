/*
 * agreement.h - `ambit-data score --rule agreement`: predictions of a detector against those of a tagger.
 *
 * Gold is a record with marked words, or one with "ambiguous" and "alternatives". A prediction of ambiguous is right
 * if gold agrees and all gold alternatives are named. A prediction of clear is right if gold is clear. Intervals come
 * from a bootstrap over "source_db", whose schemas are similar, or else over "db_id".
 */
#ifndef DATA_EVAL_AGREEMENT_H
#define DATA_EVAL_AGREEMENT_H

#include "data/eval/score.h"

/* Matches --gold, --predictions of `ambit-infer detect` and --pred of `ambit-infer tag` by id. A record without both
 * predictions is skipped and listed, as are errors, duplicates and predictions of unknown records. */
score_rule score_agreement;

#endif
