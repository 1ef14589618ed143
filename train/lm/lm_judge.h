/*
 * lm_judge.h - whether a statement or a template that a model wrote is the one it should have written.
 *
 *   template      the same text but for case and some blanks (sql_template_match)
 *   exact-match   Spider's exact set match; the schemas are those of tables.json
 *   execution     the same rows, in the same order where the gold orders them at its top level (match_rows)
 *
 * A database's name and a plan in front, as LogicalBeam's models write them (parser_text.h), are no part of either, nor
 * are thoughts; of a statement, nor what model_output.h leaves out around the first one.
 */
#ifndef TRAIN_LM_LM_JUDGE_H
#define TRAIN_LM_LM_JUDGE_H

#include "data/score/ambiqt_score.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"

/* Start as { 0 }. */
struct lm_judge {
    enum lm_select select;
    struct schema_set schemas;
    struct ambiqt_runner *runner; /* of execution */
};

/* Reads what q->settings.select needs, and looks whether every record of `valid`, which were kept, can be judged.  -1
 * with EXIT_CODE_DATA names the first that cannot; release either way. */
int lm_judge_open(struct lm_judge *j, const struct lm_request *q, const struct lm_data *valid, struct error *err);
void lm_judge_release(struct lm_judge *j);
/* What a record's answer says; borrowed. */
const char *lm_judge_gold(const json_t *record);
/* Whether `said` is right for that record. */
bool lm_judge_says(struct lm_judge *j, const json_t *record, const char *said);

#endif
