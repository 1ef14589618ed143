/*
 * equivalence.h - test two statements for equivalence by their results on a database and on perturbed copies of it.
 *
 * Statements are different if they differ on any database. They count as equivalent if they agree on all databases and
 * their results vary between the copies, so that a difference could have been seen. A copy on which both fail proves
 * nothing. Copies are made, and statements are run on them, only when a comparison needs them. Statements that differ
 * on the original need none.
 */
#ifndef DATA_DB_EQUIVALENCE_H
#define DATA_DB_EQUIVALENCE_H

#include "data/db/perturb.h"

struct equivalence {
    struct exec_db *db; /* borrowed */
    const char **sql;   /* [n]: statements that the copies should distinguish */
    int n;
    uint64_t seed;
    struct perturb *perturb;
    struct exec_db *copies[PERTURB_COPIES];
    char *broken; /* why there are no copies, or NULL; without copies, no statements are equivalent */
};

/* Prepares a test for the n statements, which are borrowed. The copies are targeted at them. */
void equivalence_open(struct equivalence *w, struct exec_db *db, const char *const *sql, int n, uint64_t seed);
/* Accepts a zeroed struct. */
void equivalence_release(struct equivalence *w);

/* The execution signature of a statement: its results on the original and on the copies. `ordered`: its rows are
 * ordered. */
struct exec_signature {
    const char *sql; /* borrowed */
    bool ordered;
    struct exec_result result; /* on the original */
    struct exec_result copies[PERTURB_COPIES];
    int asked; /* number of copies it has run on */
};
/* Starts a signature and runs the statement on the original. Copies are run by equivalence_compare. */
void equivalence_run(struct exec_signature *t, const struct equivalence *w, const char *sql, bool ordered);
void exec_signature_release(struct exec_signature *t);

/* The result of a comparison. */
enum verdict {
    VERDICT_SAME,
    VERDICT_DIFFERENT,  /* they differ on the original, or one of them fails there */
    VERDICT_TOLD_APART, /* they differ on a copy */
    VERDICT_UNPROVEN    /* no difference is possible on the copies, or there are no copies */
};
/* Compares two statements; in row order if either is ordered. Sets *copy to the distinguishing copy. */
enum verdict equivalence_compare(struct equivalence *w, struct exec_signature *a, struct exec_signature *b, int *copy);

/* Execution match: the same rows on the original, in order if the gold statement is ordered. */
bool exec_signature_gives(const struct exec_signature *t, const struct exec_signature *gold);

#endif
