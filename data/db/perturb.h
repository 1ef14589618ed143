/*
 * perturb.h - perturbed copies of a database, on which statements of different meaning return different rows (cf. test
 * suites in Zhong et al., EMNLP 2020).
 *
 * A copy has the tables and views that the statements can see. All declared constraints hold in it: types, NOT NULL,
 * CHECK, generated columns, primary and unique keys, and references that hold in the original. Within these
 * constraints each copy applies one change (perturb_copy_name). It fills or inserts NULLs, creates ties, duplicates
 * rows, removes join partners, empties tables, or moves values to both sides of the constants in the statements.
 * Copies are deterministic for a seed and a number.
 */
#ifndef DATA_DB_PERTURB_H
#define DATA_DB_PERTURB_H

#include "data/db/sqlite_exec.h"

enum { PERTURB_COPIES = 21 };

struct perturb;

/* Reads definitions, a sample of the rows, and the comparisons in the n statements. The database is borrowed; the
 * statements are not needed afterwards. Returns NULL with EXIT_CODE_DATA if a table cannot be read. */
struct perturb *perturb_open(struct exec_db *db, const char *const *sql, int n, uint64_t seed, struct error *err);
/* Returns a copy as a script for exec_open_script; the caller frees it. */
char *perturb_script(struct perturb *p, int copy);
/* Returns the name of a copy's change, such as "ties" or "no rows". */
const char *perturb_copy_name(int copy);
void perturb_close(struct perturb *p);

#endif
