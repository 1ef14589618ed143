/*
 * triage_score.h - `ambit-data score --rule triage`: predicted classes of questions against gold classes.
 *
 * Gold is a record of triage.h.  A prediction has "class", or is a line of `ambit-infer detect` ("ambiguous") or of
 * `ambit-infer tag` ("status").  A tagger that finds both statuses predicts unanswerable, since an answer of the user
 * would not help.  Probabilities may be given: "classes", {CLASS: p}, or "confidence" in the predicted class.  An
 * object "triage" with these fields takes precedence over those of the line.
 *
 * The reliability score (EHRSQL 2024) takes an answerable prediction for a statement, which is right unless the line
 * has "correct": false, and every other class for an abstention.
 *
 * The main measure is macro F1: the mean F1 of the classes that occur in gold.  Intervals come from a bootstrap over
 * databases.  The same is measured by kind over the gold records with a kind, if a prediction has one.  Selective
 * prediction (risk_coverage.h) answers by confidence.
 */
#ifndef DATA_EVAL_TRIAGE_SCORE_H
#define DATA_EVAL_TRIAGE_SCORE_H

#include "data/eval/score.h"

/* Matches --gold and --pred by id.  Records without a prediction are skipped and listed, as are errors, duplicates and
 * predictions of unknown records. */
score_rule score_triage;

#endif
