/*
 * infilling_gold.h - tests/gold/infilling.json: a small vocabulary, stored scores, and the results of the published
 * rules of restricted infilling.  The functions are the callbacks of restricted_infilling.h.
 */
#ifndef TESTS_SUPPORT_INFILLING_GOLD_H
#define TESTS_SUPPORT_INFILLING_GOLD_H

#include "data/prompt/restricted_infilling.h"

#include <jansson.h>

/* One case; strings and lists are borrowed from the file. */
struct infilling_case {
    const struct infilling_gold *gold;
    const char *name, *schema, *template;
    bool branch_columns, branch_tables;
    int beams, max_length, unrestricted_from;
    const json_t *guides, *whitelist;
    const json_t *steps;   /* of {"decisions": ["KILL", ...], "beams": [[newest id, sum], ...]} */
    const json_t *answers; /* of {"ids", "text", "score"}, the best first */
    const json_t *kept;    /* what is left of them */
};

struct infilling_gold {
    json_t *file;
    const char **pieces; /* [n_pieces] */
    int n_pieces;
    int32_t start, end, unknown;
    double boost;
    double *noise; /* [n_rows, n_pieces] */
    int n_rows;
    struct infilling_case *cases;
    int n_cases;
};

/* The test fails when the file is not there. */
void infilling_gold_read(struct infilling_gold *g);
void infilling_gold_release(struct infilling_gold *g);

/* user is the gold: a text's pieces by the longest match, and back with the clean-up. */
void infilling_gold_encode(void *user, const char *text, struct infilling_ids *out);
/* user is the case. */
char *infilling_gold_decode(void *user, const int32_t *ids, int n);
int infilling_gold_scores(void *user, double *rows, const int32_t *const *beams, int n, int length);

#endif
