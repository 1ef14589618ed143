/*
 * score_tally.h - what the rules that execute SQL count: five measures over examples, ambiguous and unambiguous apart.
 *
 * Means are over examples, intervals from a bootstrap over databases.  An example that cannot be scored is skipped,
 * never counted as a zero by the way.
 */
#ifndef DATA_SCORE_SCORE_TALLY_H
#define DATA_SCORE_SCORE_TALLY_H

#include "data/score/score.h"
#include "data/score/trial.h"
#include "data/util/strings.h"

enum { TALLY_RECALL, TALLY_PRECISION, TALLY_F1, TALLY_ONE_FOUND, TALLY_ALL_FOUND, TALLY_MEASURES };

struct score_class {
    double *values[TALLY_MEASURES];
    int *database; /* its number, of each example */
    int n, cap;
};

struct score_tally {
    struct score_class classes[2]; /* unambiguous, ambiguous */
    struct strings databases;
    json_t *skipped; /* {"record", "why"} */
    json_t *failed;  /* likewise, of examples that count as zeros all the same */
    int empty_golds; /* scored examples with a gold that has no rows */
    struct out_file evidence;
};

/* Opens per_example where that is not NULL. */
int score_tally_init(struct score_tally *t, const char *per_example, struct error *err);
void score_tally_add(struct score_tally *t, bool ambiguous, const char *database, const struct trial_score *s);
/* All zeros, and told in `failed`. */
void score_tally_fail(struct score_tally *t, bool ambiguous, const char *database, const char *record, const char *why);
void score_tally_skip(struct score_tally *t, const char *record, const char *why);
/* One line of evidence: takes o, adds what came of the queries, and the measures when the trial could be scored. */
int score_tally_write(struct score_tally *t, json_t *o, const struct trial *trial, const struct trial_score *s,
                      struct error *err);
/* Prints everything, takes `more` (fields for the object; lines for the table, or NULL) and commits the evidence.
 * EXIT_CODE_RECORDS when examples were skipped. */
enum exit_code score_tally_finish(struct score_tally *t, const struct score_request *q, json_t *more,
                                  struct error *err);
void score_tally_release(struct score_tally *t);

#endif
