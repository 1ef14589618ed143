/*
 * reward_judge.h - the reward of a completion with missing interpretations, by execution.
 *
 * A gold is missing unless the record's own interpretations cover it (`covered_by` of `ambit-data infilling annotate`).
 * The SQL of an interpretation is looked up by database and text, in the records and in --sqls (interpretation_sql.h);
 * the first statement that runs counts. It finds a missing gold if both return the same rows under the strict rule
 * (trial.h), one gold each. Every other interpretation is wrong: it has no SQL that runs, repeats another one, or
 * returns rows of no missing gold.
 *
 *   reward = found / missing - penalty * wrong; if nothing is missing, 1 - penalty * wrong
 */
#ifndef TRAIN_LM_REWARD_JUDGE_H
#define TRAIN_LM_REWARD_JUDGE_H

#include "data/db/db_cache.h"
#include "data/prompt/interpretation_sql.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"

struct reward {
    double value, recall; /* recall of the missing golds; 1 if there are none */
    int missing, wrong;
};

/* Start as { 0 }. */
enum { REWARD_SOURCES = 4 };
struct reward_judge {
    const char *db; /* as in db_path.h */
    double penalty;
    struct db_cache databases;
    struct interpretation_sql known[REWARD_SOURCES];
    int n_known;
    uint64_t hash; /* of all known SQL and all checked golds */
};

/* Reads the SQL in all files of the request. -1 with EXIT_CODE_DATA. Release j either way. */
int reward_judge_open(struct reward_judge *j, const struct lm_request *q, struct error *err);
/* Checks that all records of data, which were kept, have a database and golds that run and differ. -1 with
 * EXIT_CODE_DATA, naming file and id of the first that does not. */
int reward_judge_check(struct reward_judge *j, const struct lm_data *data, const char *path, struct error *err);
/* Number of golds that a checked record lacks. */
int reward_missing(const json_t *record);
/* The reward of a completion of a checked record. A completion with neither interpretations nor the statement that
 * none is missing, such as one that ends within a thought, counts as one wrong interpretation. */
struct reward reward_of(struct reward_judge *j, const json_t *record, const char *text);
void reward_judge_release(struct reward_judge *j);

#endif
