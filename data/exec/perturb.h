/*
 * perturb.h - copies of a database with other rows in it, to see whether two statements always say the same.
 *
 * A copy has the tables of the original with a sample of their rows: some left out, some twice, cells changed for those
 * of other rows, for constants that the statements compare with and their neighbours, for NULL where that may stand.
 * References keep pointing at rows that are there, and a table with few rows gets invented ones.  Copies of one seed
 * and number are the same every time.
 */
#ifndef DATA_EXEC_PERTURB_H
#define DATA_EXEC_PERTURB_H

#include "data/exec/sqlite_exec.h"
#include "data/schema/schema.h"
#include "data/util/strings.h"

struct perturb_source {
    struct exec_db *db; /* borrowed */
    const struct schema *schema;
    const bool *wanted;             /* [n_tables]: the others stay empty */
    const struct strings *literals; /* SQL: numbers and quoted texts */
};

/* Copy number `copy` of `copies`, which change more and more, as a script of CREATE TABLE and INSERT statements that
 * the caller frees.  NULL with EXIT_CODE_DATA when a table cannot be read. */
char *perturb_script(const struct perturb_source *source, uint64_t seed, int copy, int copies, struct error *err);

#endif
