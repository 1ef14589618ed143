/*
 * alter.h - a schema in which one element is duplicated, in the four ways of AmbiQT (Bhaskar et al., EMNLP 2023).
 *
 * All names are lower-cased and all texts become lower-case words, so that spelling does not reveal the added
 * elements. New elements are inserted at random places. Both alternatives get the type and keys of the element, so
 * that structure does not reveal the gold interpretation.
 */
#ifndef DATA_SYNTH_ALTER_H
#define DATA_SYNTH_ALTER_H

#include "data/corpora/ambiqt.h"
#include "data/schema/schema.h"
#include "kernels/rng.h"

struct alteration {
    enum sia_type type;
    int table, column;              /* in the original schema; column is -1 for T */
    int key;                        /* J, P: primary key of the table, or -1 */
    const char *names[2];           /* C, T */
    const char *new_table;          /* J, P */
    const char *const *new_columns; /* P: names such as "max_c" */
    int n_new_columns;
    const bool *repeated;       /* P: by column number, whether the new table repeats that column */
    const char *const *renamed; /* NULL, or a new name for each element (tables, then columns); NULL keeps the name */
};

/* The alternatives in the altered schema. ALTER_NONE only changes the spelling. */
enum alter_form { ALTER_NONE, ALTER_FIRST, ALTER_SECOND, ALTER_BOTH };

/* Finds the element of a record in s. Returns -1 if s has no such table, column or key. a->repeated stays NULL. */
int alteration_find(struct alteration *a, const struct schema *s, const struct ambiqt_record *r);

/* Builds the altered schema; the caller releases out with schema_release. Returns -1 if a new name exists already or
 * contains a dot. */
int alter_schema(struct schema *out, const struct schema *s, const struct alteration *a, enum alter_form form,
                 const char *db_id, struct rng *rng);

/* Returns the name of alternative `which`, as in struct example. aggregate is the index of the new column in the second
 * interpretation (only P). text owns the name. */
const char *alter_name(struct strings *text, const struct schema *s, const struct alteration *a, int which,
                       int aggregate);

#endif
