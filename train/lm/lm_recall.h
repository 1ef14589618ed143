/*
 * lm_recall.h - which golds a model's answers find, by execution: what --select recall chooses by.
 *
 * An answer is one of the three systems that ambit-data annotate writes records for ("teaches"): readings that are
 * missing, beside which those that exist count; all readings; or statements.  A reading's SQL is what --sqls has for
 * its text, else what --sql-model writes; one that has none finds nothing.  All of it runs on the record's database and
 * is scored as `ambit-data score --rule strict` does.  So words decide only which statement runs.
 */
#ifndef TRAIN_LM_LM_RECALL_H
#define TRAIN_LM_LM_RECALL_H

#include "data/exec/db_cache.h"
#include "data/prompt/prompter.h"
#include "data/prompt/reading_sql.h"
#include "data/score/trial.h"
#include "kernels/workspace.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"

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

/* What an answer to the record finds.  The SQL of its readings must be known (lm_recall_ask); a trial that cannot be
 * scored gives zeros. */
struct trial_score lm_recall_score(struct lm_recall *r, const json_t *record, const char *answer);
/* Asks the SQL model for the SQL of all readings of n answers that have none yet.  1 when a signal asked to stop. */
int lm_recall_ask(struct lm_recall *r, json_t *const *records, char *const *answers, int n, struct error *err);

/* The mean over `valid` of what the texts, one for each, find.  How many answers hold nothing that can be read is told
 * on the log.  1 when a signal asked to stop. */
int lm_recall_mean(struct lm_recall *r, const struct lm_data *valid, char *const *texts, double *mean,
                   struct error *err);

#endif
