/*
 * lm_judge.h - scores generated statements, templates and interpretations, for the setting `select`.
 *
 *   template      equal text except for case and some blanks (sql_template_match)
 *   exact-match   Spider's exact set match, with the schemas of tables.json
 *   execution     equal rows, in the same order if the gold has a top-level ORDER BY (match_rows)
 *   recall        fraction of golds that the interpretations find, by execution
 *
 * A database's name and a plan in front of a completion, as LogicalBeam's models write them (parser_text.h), are
 * ignored, and so are thoughts and text around the first statement (model_output.h).
 */
#ifndef TRAIN_LM_LM_JUDGE_H
#define TRAIN_LM_LM_JUDGE_H

#include "data/db/db_cache.h"
#include "data/eval/trial.h"
#include "data/prompt/interpretation_sql.h"
#include "data/published/ambiqt_score.h"
#include "data/published/spider_match.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"
#include "train/lm/sql_writer.h"

/* Start as { 0 }. */
struct lm_judge {
    enum lm_select select;
    struct schema_set schemas;
    struct ambiqt_runner *runner; /* for execution */
};

/* Opens everything that q->settings.select needs, and checks that every record of `valid`, which were kept, can be
 * scored. -1 with EXIT_CODE_DATA, naming the first that cannot. Release j either way. */
int lm_judge_open(struct lm_judge *j, const struct lm_request *q, const struct lm_data *valid, struct error *err);
void lm_judge_release(struct lm_judge *j);
/* True if the completion is correct for that record. */
bool lm_judge_correct(struct lm_judge *j, const json_t *record, const char *said);

/* Recall of golds by execution. The record's field "task" says the contents of a completion: missing
 * interpretations, beside which the existing ones count; all interpretations; or statements. The SQL of an
 * interpretation comes from --sqls, else from --sql-model; without SQL it finds nothing. All statements run on the
 * record's database and are scored as by `ambit-data score --rule strict`. */

/* Start as { 0 }. */
struct lm_recall {
    const struct lm_request *request;
    struct interpretation_sql sqls; /* from --sqls, and written by the model so far */
    struct db_cache databases;
    struct sql_writer writer;
    bool *counts;           /* [valid.n] records of the mean: the ambiguous ones, or all if none is */
    int unread, unread_sql; /* completions without anything to score, and SQL prompts without a statement */
};

/* Reads the request's files and checks every record of `valid`, which were kept. -1 with EXIT_CODE_DATA, naming the
 * first without the fields, or if no record can be scored. A record whose golds fail or coincide is left out with a
 * warning. Takes no device memory. Release r either way. */
int lm_recall_open(struct lm_recall *r, const struct lm_request *q, const struct lm_data *valid, struct device *d,
                   struct error *err);
/* Loads the SQL model, if there is one. */
int lm_recall_start(struct lm_recall *r, struct device *d, struct error *err);
void lm_recall_release(struct lm_recall *r);

/* Mean recall over `valid` of the texts, one for each record. Logs the number of unusable completions. 1 when a
 * signal asked to stop. */
int lm_recall_mean(struct lm_recall *r, const struct lm_data *valid, char *const *texts, double *mean,
                   struct error *err);

#endif
