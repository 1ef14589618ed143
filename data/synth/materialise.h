/*
 * materialise.h - altered copies of databases in which both interpretations of a record run.
 *
 * AmbiQT has schemas only. Here each record gets a copy of its database that holds the element twice.
 *
 *   C  The second column holds values of other rows of the first column (from half of its rows). The other way is
 *      changed values: a number plus 1, a text plus "_".
 *   T  The second table holds two thirds of the rows, with non-key values of other rows. The other way is all rows with
 *      every value changed.
 *   J  The new table is filled from its parent.
 *   P  The new table is computed: one row for each value of the columns that the query groups or filters by.
 *   D  The column is dropped, and the query must fail.
 *   R  As C.
 *
 * C, T and R try the second way if the first one gives equal or empty results. Both interpretations are executed.
 */
#ifndef DATA_SYNTH_MATERIALISE_H
#define DATA_SYNTH_MATERIALISE_H

#include "data/base/json.h"
#include "data/synth/ambiguate.h"

struct materialise_options {
    const char *db;  /* see db_path.h */
    const char *out; /* output folder, one file for each altered database; records share files */
    uint64_t seed;
    /* Make the databases of "Disambiguate First, Parse Later" (DFPL) instead: five rows of each table, every value of
     * the second alternative changed, and empty new tables for J and P. */
    bool published;
    bool force; /* replace existing files with other contents */
};

enum materialised_state { MATERIALISED_DIFFER, MATERIALISED_COINCIDE, MATERIALISED_FAILED };

struct materialised {
    enum materialised_state state;
    const char *file;   /* file name below options.out; the materialiser owns it */
    char message[512];  /* if FAILED: the interpretation that failed and SQLite's message */
    bool empty[2];      /* the interpretation returned no rows */
    bool same_in_order; /* both interpretations return the same rows in the same order */
    /* The first interpretation (for J also the second) returns other rows than the query on the original database. The
     * published form does not check this. */
    bool other_rows;
};

struct materialiser;
struct materialiser *materialiser_open(const struct materialise_options *o, struct error *err);
/* Builds the record's database and runs both interpretations. s has the names of the database, in any case. schema_text
 * is the record's schema_without_content: the published form of J and P reads the new table's columns from it. Returns
 * -1 if the original database is missing or the file cannot be written. An SQL error gives MATERIALISED_FAILED. */
int materialise(struct materialiser *m, struct materialised *out, const struct ambiguity *a, const struct schema *s,
                const char *schema_text, struct error *err);
/* Marks the file as used by a written record. */
void materialiser_keep(struct materialiser *m, const char *file);
/* Removes the files of this run that no written record uses. Files of the published form stay. */
void materialiser_prune(struct materialiser *m);
void materialiser_close(struct materialiser *m);

/* An element that becomes two; the first one keeps the values. */
struct doubled_element {
    enum sia_type type;
    const char *table, *column; /* in the source; no column for SIA_TABLE */
    const char *names[2];       /* of both columns or tables; SIA_JOIN: names[0] is the table that repeats the column */
};
/* Copies the database `source`, which has the schema `original`, to the new file `path` and doubles n elements. A
 * second column holds values of other rows, also one in a new table, and a second table two thirds of the rows, as
 * types C and T. `edited` has the columns of new tables; those that the first table lacks are empty. No table is
 * doubled of which a column is doubled too. Returns -1 with the message of the file or of SQLite; the file may then
 * exist. */
int materialise_elements(const char *path, const char *source, const struct doubled_element *list, int n,
                         const struct schema *original, const struct schema *edited, uint64_t seed, struct error *err);

/* Applies DFPL's filter to a record. Returns NULL if the record is kept, else the reason. */
const char *materialise_published_filter(const struct ambiguity *a, const struct materialised *m);

#endif
