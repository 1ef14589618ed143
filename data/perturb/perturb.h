/*
 * perturb.h - copies of a database with other rows in it, to see whether two statements always say the same.
 *
 * A copy has the tables and views of the original that the statements can see, and what is declared of them holds:
 * types, NOT NULL, CHECK, generated columns, primary and unique keys, references (those that the original keeps).
 * Within these bounds each copy changes one thing on purpose (perturb_copy_name): NULLs are filled or put in, ties
 * made, rows doubled or left without a partner, tables emptied, values moved to both sides of what the statements
 * compare with.  Copies of one seed and number are the same every time.
 */
#ifndef DATA_PERTURB_PERTURB_H
#define DATA_PERTURB_PERTURB_H

#include "data/exec/sqlite_exec.h"

enum { PERTURB_COPIES = 21 };

struct perturb;

/* Reads what copies are made of: definitions, a sample of the rows, what the n statements compare.  The database is
 * borrowed, the statements are not needed afterwards.  NULL with EXIT_CODE_DATA when a table cannot be read. */
struct perturb *perturb_open(struct exec_db *db, const char *const *sql, int n, uint64_t seed, struct error *err);
/* A copy as a script for exec_open_script, which the caller frees. */
char *perturb_script(struct perturb *p, int copy);
/* What was done to it: "ties", "no rows". */
const char *perturb_copy_name(int copy);
void perturb_close(struct perturb *p);

#endif
