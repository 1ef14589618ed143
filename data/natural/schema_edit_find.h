/*
 * schema_edit_find.h - what the steps of schema_edit_make share: find edits, build schemas, judge questions.
 */
#ifndef DATA_NATURAL_SCHEMA_EDIT_FIND_H
#define DATA_NATURAL_SCHEMA_EDIT_FIND_H

#include "data/natural/element_style.h"
#include "data/natural/lexicon.h"
#include "data/natural/natural.h"

enum edit_type {
    EDIT_COLUMN,       /* the column becomes two */
    EDIT_RENAMED,      /* the column gets one of these two names alone: no question is ambiguous for it */
    EDIT_ROLE,         /* the foreign key becomes two */
    EDIT_TABLE,        /* the table becomes two of the same columns */
    EDIT_DETAILS,      /* a new table repeats the column */
    EDIT_BESIDE,       /* a column that says something about the column: "price currency" */
    EDIT_BESIDE_TABLE, /* a table that says something about the table: "order types" */
    EDIT_NEAR,         /* another table near the column's gets a column of the same name */
    EDIT_STORED,       /* the table stores a sum or number of rows of another one */
    EDIT_PEOPLE,       /* a new table of persons has the attributes of a table of persons */
    EDIT_TYPES
};

/* One edit of one schema.  Elements are those of the schema as it was. */
struct edit {
    enum edit_type type;
    int table, column;    /* column is -1 for tables */
    int other;            /* EDIT_NEAR: the table that gets the column; EDIT_STORED: the one whose rows are added up */
    int which;            /* EDIT_RENAMED: the member that stands */
    const char *head;     /* words by which a question names the element without telling the two apart */
    const char *names[2]; /* words of the new names; of types with one new element the first */
    const char *phrases[2]; /* words by which a question names one of the two */
};

/* How a statement uses an element. */
enum edit_use { USE_NONE, USE_COMPARED /* in WHERE alone */, USE_SHOWN };

/* A question as it was, or one that says a member of an edit. */
struct edit_question {
    const char *text, *sql;
    const enum edit_use *uses; /* tables, then columns, of the schema as it was */
    int edit, which;           /* -1: says no member */
};

struct edit_version {
    bool *on;             /* [n_edits] */
    struct schema schema; /* moves to the data set */
    const char **tables;  /* [n_tables] names of the original tables here */
    const char **columns; /* [n_columns] */
    enum element_style style;
    bool restyled; /* all names are spelled anew; else those of new elements alone */
};

/* One database while its examples are made. */
struct edit_database {
    const struct schema *schema;
    const char **table_words, **column_words; /* of the names as they were */
    struct edit *edits;
    struct edit_question *questions;
    struct edit_version *versions;
    int n_edits, edits_cap, n_questions, questions_cap, n_versions;
    struct strings text; /* owns all strings */
    struct arena *sql;
    struct rng *rng;
};

/* All edits that the schema and its questions offer. */
void edit_find(struct edit_database *d);

/* How often the words stand side by side in the text, the last one perhaps with a plural ending; *at is the first
 * place. */
int edit_mentions(const char *text, const char *words, int *at);

/* Whether the text has a word that only the names of this edit have, in this form or another. */
bool edit_says_member(const char *text, const struct edit *e);

/* The question with the member's phrase in place of the head; NULL where the head stands not exactly once. */
const char *edit_say(struct edit_database *d, const char *text, const struct edit *e, int which);

/* The statement in the new names; NULL where it is not understood by the new schema. */
const char *edit_rename_sql(struct edit_database *d, const char *sql, const char *const *tables,
                            const char *const *columns, const struct schema *to);

/* Marks what the statement uses; false where it is not understood or has joins that name no columns. */
bool edit_uses(struct edit_database *d, const char *sql, enum edit_use *uses);

#endif
