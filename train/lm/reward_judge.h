/*
 * reward_judge.h - rewards of completions, behind one interface.
 *
 * A reward_function scores a list of completions at once. A program of the user is one, and needs neither databases
 * nor golds. By execution, a completion stands for statements, and a statement finds a gold if both return the same
 * rows under the strict rule (trial.h), one gold each. A completion is to find the missing golds of a record of the
 * task infill (`covered_by` of `ambit-data infilling annotate`), and all golds of other records. As in IntentRL
 * (Saparina and Lapata 2025, arXiv 2511.10453), the reward is recall for an ambiguous question and precision for
 * another one:
 *
 *   ambiguous    recall - penalty * wrong       several golds; task infill: some gold is missing
 *   otherwise    precision - penalty * wrong    one gold; task infill: no gold is missing
 *
 * `wrong` counts interpretations without a gold of their own. Such an interpretation has no statement, a statement that
 * fails, other rows, or rows that another interpretation has found. IntentRL has no penalty. A completion with neither
 * interpretations nor the statement that none is missing counts as one wrong interpretation.
 */
#ifndef TRAIN_LM_REWARD_JUDGE_H
#define TRAIN_LM_REWARD_JUDGE_H

#include "data/db/db_cache.h"
#include "data/prompt/interpretation_sql.h"
#include "train/lm/lm_data.h"
#include "train/lm/lm_settings.h"
#include "train/lm/sql_writer.h"

/* recall and precision concern the golds that the completion is to find. A ratio of nothing is 1 if nothing was to be
 * found and nothing was written, else 0. A program sets `value` alone: the ratios are then NAN. */
struct reward {
    double value, recall, precision;
    int golds, wrong; /* golds to find; wrong interpretations */
};

/* A completion to score, borrowed. */
struct reward_input {
    const json_t *record; /* a checked one */
    const char *text;
};

struct reward_judge;

/* Fills rewards [n]. Returns 0, 1 when a signal stopped the SQL model's server, or -1 with err. */
typedef int reward_function(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                            struct error *err);

/* Start as { 0 }. */
enum { REWARD_SOURCES = 4 };
struct reward_judge {
    reward_function *judge; /* chosen by the request, or by the task of the first record */
    const char *task;       /* of all records, borrowed from the first one */
    const char *program;    /* command of the user's program, or NULL */
    double timeout;         /* seconds of the program */
    const char *db;         /* as in db_path.h */
    double penalty;
    struct db_cache databases;
    struct interpretation_sql known[REWARD_SOURCES];
    int n_known;
    struct sql_writer writer;          /* for reward_sql_model */
    struct interpretation_sql written; /* by the writer so far */
    uint64_t hash;                     /* of all known SQL and all checked golds */
};

/* Reads the SQL in all files of the request, and opens the SQL model without memory of the device. -1 with
 * EXIT_CODE_DATA, or the code of the model. Release j either way. */
int reward_judge_open(struct reward_judge *j, const struct lm_request *q, struct device *d, struct error *err);
/* Loads the SQL model, if there is one. */
int reward_judge_start(struct reward_judge *j, struct device *d, struct error *err);
/* By execution: checks that all records of data, which were kept, have a database, golds that run and differ, and the
 * task of the first record that was checked. -1 with EXIT_CODE_DATA, naming file and id of the first that does not. */
int reward_judge_check(struct reward_judge *j, const struct lm_data *data, const char *path, struct error *err);
/* Scores completions by the function of the request. */
int reward_judge(struct reward_judge *j, struct reward *rewards, const struct reward_input *list, int n,
                 struct error *err);
/* Whether the reward of a checked record is recall. */
bool reward_by_recall(const json_t *record);
void reward_judge_release(struct reward_judge *j);

#endif
