/*
 * witness.h - whether statements say the same: their results on a database and on perturbed copies of it.
 *
 * Statements that differ anywhere differ in meaning.  Those that agree everywhere are taken for the same when that
 * could have come out otherwise: their results vary from copy to copy.  A copy on which both fail tells nothing.
 * Copies are made, and statements run on them, when a comparison first needs them: statements that differ on the
 * database itself never do.
 */
#ifndef DATA_PERTURB_WITNESS_H
#define DATA_PERTURB_WITNESS_H

#include "data/perturb/perturb.h"

struct witness {
    struct exec_db *db; /* borrowed */
    const char **sql;   /* [n]: what the copies are to tell apart */
    int n;
    uint64_t seed;
    struct perturb *perturb;
    struct exec_db *copies[PERTURB_COPIES];
    char *broken; /* why copies cannot be made: nothing is the same then; NULL else */
};

/* What to look out for is read off the n statements, which are borrowed. */
void witness_open(struct witness *w, struct exec_db *db, const char *const *sql, int n, uint64_t seed);
/* Takes a zeroed one too. */
void witness_release(struct witness *w);

/* Results of one statement; `ordered`: it says in what order. */
struct testimony {
    const char *sql; /* borrowed */
    bool ordered;
    struct exec_result result; /* on the database itself */
    struct exec_result copies[PERTURB_COPIES];
    int asked; /* of the copies */
};
void witness_ask(struct testimony *t, const struct witness *w, const char *sql, bool ordered);
void testimony_release(struct testimony *t);

/* How two statements compare. */
enum verdict {
    VERDICT_SAME,
    VERDICT_DIFFERENT,  /* on the database itself, or one fails there */
    VERDICT_TOLD_APART, /* by a copy alone */
    VERDICT_UNPROVEN    /* nothing was seen that they could have differed in, or there are no copies */
};
/* In the same order where either says one.  *copy: which told them apart. */
enum verdict witness_compare(struct witness *w, struct testimony *a, struct testimony *b, int *copy);

/* Execution match: the same rows on the database itself, in the gold's order if it says one. */
bool testimony_gives(const struct testimony *t, const struct testimony *gold);

#endif
