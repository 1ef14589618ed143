/*
 * candidate_list.h - the candidate statements of a record, with their probabilities.
 *
 * A record has {"candidates": [{"sql", "p" or "logprob"}]}.  All candidates have the same one of the two fields.  The
 * field "none_of_the_above" is the none-of-the-above probability, 0 by default.  Without "p" and "logprob", also for
 * plain strings of SQL, the candidates are equally probable, which is logged once.  Probabilities that do not sum to 1
 * are normalised with a warning.
 */
#ifndef DATA_EVAL_CANDIDATE_LIST_H
#define DATA_EVAL_CANDIDATE_LIST_H

#include "data/base/json.h"

enum { CANDIDATE_LIST_MAX = 1000 }; /* maximum number of candidates of a record */

enum candidate_weights { WEIGHTS_GIVEN, WEIGHTS_EQUAL, WEIGHTS_NORMALISED };

struct candidate_list {
    const char **sql; /* [n], borrowed from the record */
    double *p;        /* [n], sum to 1 - p_none */
    double *raw;      /* [n], "logprob", or the logarithm of "p" */
    int n;
    double p_none;
    enum candidate_weights weights;
};

/* Returns -1 with EXIT_CODE_DATA, which names the candidate and the field.  The caller releases the list in any case.
 */
int candidate_list_read(struct candidate_list *l, const json_t *record, const char *where, struct error *err);
void candidate_list_release(struct candidate_list *l);

/* Returns "equal" or "normalised", or NULL for weights as they were given. */
const char *candidate_weights_name(enum candidate_weights w);

/* Softmax of logs [n], scaled to the sum `share`, to p [n]. */
void shares_of_logs(double *p, const double *logs, int n, double share);

/* Tells whether the record marks candidate i as its gold statement `gold`, by "gold": [0, ...] beside its "sql". */
bool candidate_is_marked(const json_t *record, int i, size_t gold);

#endif
