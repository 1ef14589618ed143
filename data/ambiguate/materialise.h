/*
 * materialise.h - real databases for ambiguous records, in which both readings run.
 *
 * AmbiQT has schemas only.  Here each record gets a copy of its database in which the element stands twice:
 *   C  the second column has values that the first has in other rows, half of them, or changed ones (a number plus 1, a
 *      text plus "_")
 *   T  the second table has the rows of the first but a third of them, its values outside the keys those of other rows;
 *      or all rows with every value changed
 *   J  the new table is filled from its parent
 *   P  the new table is computed: one row for each value of the columns that the query groups or filters by
 *   D  the column is dropped, and the query must not run any more
 *   R  as C
 * Where there is a choice, what makes the readings give different results that are not empty is taken.  Both readings
 * are run to see.
 */
#ifndef DATA_AMBIGUATE_MATERIALISE_H
#define DATA_AMBIGUATE_MATERIALISE_H

#include "data/ambiguate/ambiguate.h"
#include "data/util/json.h"

struct materialise_options {
    const char *db;  /* as in db_path.h */
    const char *out; /* folder to write, one file for each altered database: records share them */
    uint64_t seed;
    /* The databases of the infilling paper instead: five rows of each table, the second alternative's values all
     * changed, the new tables of J and P empty. */
    bool published;
    bool force; /* replace files that hold something else */
};

enum materialised_state { MATERIALISED_DIFFER, MATERIALISED_COINCIDE, MATERIALISED_FAILED };

struct materialised {
    enum materialised_state state;
    const char *file;   /* its name below out; belongs to the materialiser */
    char message[512];  /* FAILED: which reading, and SQLite's words */
    bool empty[2];      /* a reading gave no rows */
    bool same_in_order; /* the same rows in the same order */
    /* The first reading, of J the second one too, gives other rows than the query on the record's own database.  Not
     * looked at in the published form. */
    bool other_rows;
};

struct materialiser;
struct materialiser *materialiser_open(const struct materialise_options *o, struct error *err);
/* The record's database; s has the names as the database has them or in lower case, schema_text is the record's
 * schema_without_content, which the published form of J and P takes the new table's columns from.  -1 when the record's
 * own database is missing or the file cannot be written; what SQL does wrong is MATERIALISED_FAILED. */
int materialise(struct materialiser *m, struct materialised *out, const struct ambiguity *a, const struct schema *s,
                const char *schema_text, struct error *err);
/* The file belongs to a record that is written. */
void materialiser_keep(struct materialiser *m, const char *file);
/* Removes the files of this run that no record has; but those of the published form stay. */
void materialiser_prune(struct materialiser *m);
void materialiser_close(struct materialiser *m);

/* What the infilling paper's filter says of a record: NULL when it is kept, else why not. */
const char *materialise_published_filter(const struct ambiguity *a, const struct materialised *m);

#endif
