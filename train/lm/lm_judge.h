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

#include "data/exec/db_cache.h"
#include "data/prompt/prompter.h"
#include "data/prompt/reading_sql.h"
#include "data/score/ambiqt_score.h"
#include "data/score/trial.h"
#include "data/spider_eval/spider_match.h"
#include "kernels/workspace.h"
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
/* Whether `said` is right for that record. */
bool lm_judge_correct(struct lm_judge *j, const json_t *record, const char *said);

/* Which golds a model's answers find, by execution: what --select recall chooses by.
 *
 * An answer is one of the three systems that ambit-data annotate writes records for ("teaches"): readings that are
 * missing, beside which those that exist count; all readings; or statements.  A reading's SQL is what --sqls has for
 * its text, else what --sql-model writes; one that has none finds nothing.  All of it runs on the record's database and
 * is scored as `ambit-data score --rule strict` does.  So words decide only which statement runs. */

/* Start as { 0 }. */
struct lm_recall {
    const struct lm_request *request;
    struct reading_sql sqls; /* of --sqls, and what the model wrote so far */
    struct db_cache databases;
    struct prompter prompter;
    struct workspace work; /* the SQL model's */
    struct llama_model sql_model;
    size_t model_bytes;     /* that it takes */
    bool *counts;           /* [valid.n] records that the mean is over: the ambiguous ones, or all where none is */
    int unread, unread_sql; /* answers scored, and answers to prompts for SQL, in which nothing was found */
};

/* Reads what the request names, and looks whether every record of `valid`, which were kept, can be scored: -1 with
 * EXIT_CODE_DATA names the first that has not the fields.  Records whose golds fail or coincide on their database are
 * told and left out, as score does; -1 when all are.  Takes no memory of the device.  Release either way. */
int lm_recall_open(struct lm_recall *r, const struct lm_request *q, const struct lm_data *valid, struct device *d,
                   struct error *err);
/* Brings the SQL model, if there is one, into memory. */
int lm_recall_start(struct lm_recall *r, struct device *d, struct error *err);
void lm_recall_release(struct lm_recall *r);

/* The mean over `valid` of what the texts, one for each, find.  How many answers hold nothing that can be read is told
 * on the log.  1 when a signal asked to stop. */
int lm_recall_mean(struct lm_recall *r, const struct lm_data *valid, char *const *texts, double *mean,
                   struct error *err);

#endif
