/*
 * alternatives.h - a detector's other alternative as a candidate of its own.
 *
 * A candidate statement that uses one of the two elements is said of the other one too (sql_exchange.h), and what is
 * new, and runs, is added.  Let q be the score of the finding.  Of the two readings the less likely one, new or there
 * before, gets at least q / 2 of what both have together: were the detector sure, both would be equally likely,
 * whatever the parser thinks.  All other probabilities stay.
 */
#ifndef INFER_ASK_ALTERNATIVES_H
#define INFER_ASK_ALTERNATIVES_H

#include "data/exec/sqlite_exec.h"
#include "data/schema/schema.h"
#include "kernels/arena.h"

#include <jansson.h>

struct alternatives_made {
    int added, raised; /* candidates that are new; those that became likelier */
};

/* To a record with "candidates" and a finding's "alternatives", "kind" and "score"; s is its schema, db its database or
 * NULL, trees is scratch.  -1 with EXIT_CODE_DATA. */
int alternatives_add(struct alternatives_made *made, json_t *record, const struct schema *s, struct exec_db *db,
                     struct arena *trees, const char *where, struct error *err);

#endif
