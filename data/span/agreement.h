/*
 * agreement.h - `ambit-data score --rule agreement`: a detector's findings beside a tagger's marked words on the same
 * questions, and who of them is right.
 *
 * Gold is a record with marked words, or one with "ambiguous" and "alternatives".  Who says that a question is
 * ambiguous is right when it is and all of gold's alternatives are among those named; who does not, when it is not.
 * Intervals are of a bootstrap over databases: "source_db" where a record has it, whose schemas are alike, else
 * "db_id".
 */
#ifndef DATA_SPAN_AGREEMENT_H
#define DATA_SPAN_AGREEMENT_H

#include "data/score/score.h"

/* --gold, --findings of `ambit-infer detect` and --pred of `ambit-infer tag`, by id.  A record that both do not answer
 * is skipped and told, as are lines that nobody asked for, that are errors or that are there twice. */
score_rule score_agreement;

#endif
