/*
 * witness.h - whether statements say the same: their results on a database and on perturbed copies of it.
 *
 * Statements that differ anywhere differ in meaning; those that agree everywhere, and not only on no rows at all, are
 * taken for the same.
 */
#ifndef DATA_EXEC_WITNESS_H
#define DATA_EXEC_WITNESS_H

#include "data/exec/sqlite_exec.h"
#include "data/schema/schema.h"

enum { WITNESS_COPIES = 6, WITNESSES = 1 + WITNESS_COPIES };

struct witness {
    struct exec_db *dbs[WITNESSES]; /* the database itself, which is borrowed, and the copies */
};

/* What to look out for is read off the statements.  -1 with EXIT_CODE_DATA when no copy can be made; witness_release
 * takes a zeroed one too. */
int witness_open(struct witness *w, struct exec_db *db, const struct schema *s, const char *const *sql, int n,
                 uint64_t seed, struct error *err);
void witness_release(struct witness *w);

/* The limits for a database that is looked at so. */
extern const struct exec_limits witness_limits;

/* Results of one statement; `ordered`: it says in what order. */
struct testimony {
    struct exec_result results[WITNESSES];
    bool ordered;
};
void witness_ask(struct testimony *t, const struct witness *w, const char *sql, bool ordered);
void testimony_release(struct testimony *t);

/* They succeed everywhere with the same rows, in the same order where either says one. */
bool testimony_same(const struct testimony *a, const struct testimony *b);
/* Execution match: the same rows on the database itself, in the gold's order if it says one. */
bool testimony_gives(const struct testimony *t, const struct testimony *gold);

#endif
