/*
 * reward_judge.h - what an answer to a prompt for missing readings is worth, by execution.
 *
 * Golds that a record's own readings cover (`covered_by`, as ambit-data annotate leaves it) are there already; the
 * others are missing.  A line of the answer means what the first of its SQLs that runs returns: SQL is known of
 * readings by database and words (reading_sql.h), from the records themselves and from --sqls.  A reading finds a
 * missing gold when both give the same rows, by the strict rule (trial.h), one gold each; every other one is wrong: it
 * has no SQL, none that runs, repeats another or gives what nobody asked for.
 *
 *   value = found / missing - price wrong,  where nothing is missing 1 - price wrong
 */
#ifndef TRAIN_REWARD_REWARD_JUDGE_H
#define TRAIN_REWARD_REWARD_JUDGE_H

#include "data/exec/db_cache.h"
#include "data/prompt/reading_sql.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"

struct reward {
    double value, recall; /* recall of what is missing; 1 where nothing is */
    int missing, wrong;
};

/* Start as { 0 }. */
enum { REWARD_SOURCES = 4 };
struct reward_judge {
    const char *db; /* as in db_path.h */
    double penalty;
    struct db_cache databases;
    struct reading_sql known[REWARD_SOURCES];
    int n_known;
    uint64_t hash; /* of all SQL that is known, and of the golds that were checked */
};

/* Reads the SQL of all the request's files.  -1 with EXIT_CODE_DATA; release either way. */
int reward_judge_open(struct reward_judge *j, const struct lm_request *q, struct error *err);
/* Whether all records of data, which were kept, can be judged: a database, and golds that run on it and differ.  -1
 * with EXIT_CODE_DATA names file and id of the first that cannot. */
int reward_judge_check(struct reward_judge *j, const struct lm_data *data, const char *path, struct error *err);
/* How many golds a checked record lacks. */
int reward_missing(const json_t *record);
/* What the answer `text` to a checked record is worth.  One that has neither readings nor says that none is missing, as
 * where it breaks off in its thought, finds nothing and counts as one wrong reading. */
struct reward reward_of(struct reward_judge *j, const json_t *record, const char *text);
void reward_judge_release(struct reward_judge *j);

#endif
