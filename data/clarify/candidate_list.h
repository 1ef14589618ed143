/*
 * candidate_list.h - the candidate statements of a record and how likely each is said to be.
 *
 * A record has {"candidates": [{"sql", "p" or "logprob"}]}, all of them the same of the two, and "reserve", the chance
 * that the right statement is not among them, if that is known.  Without either, also as strings of SQL alone, they are
 * equally likely, which is told once; "p" that with the reserve do not sum to 1 are made to, with a warning.
 */
#ifndef DATA_CLARIFY_CANDIDATE_LIST_H
#define DATA_CLARIFY_CANDIDATE_LIST_H

#include "data/util/json.h"

enum candidate_weights { WEIGHTS_GIVEN, WEIGHTS_EQUAL, WEIGHTS_NORMALISED };

struct candidate_list {
    const char **sql; /* [n], borrowed from the record */
    double *p;        /* [n], with the reserve they sum to 1 */
    double *raw;      /* [n], "logprob" as it stands or the logarithm of "p" */
    int n;
    double p_none;
    enum candidate_weights weights;
};

/* -1 with EXIT_CODE_DATA naming the candidate and the field; the caller releases either way. */
int candidate_list_read(struct candidate_list *l, const json_t *record, const char *where, struct error *err);
void candidate_list_release(struct candidate_list *l);

/* "equal" or "normalised"; NULL: as they were given. */
const char *candidate_weights_name(enum candidate_weights w);

/* Logarithms of weights made shares of `share`. */
void shares_of_logs(double *p, const double *logs, int n, double share);

/* Whether the record says itself that candidate i is its gold statement `gold`: "gold": [0, ...] beside its "sql". */
bool candidate_is_marked(const json_t *record, int i, size_t gold);

#endif
