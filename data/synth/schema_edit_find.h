/*
 * schema_edit_find.h - finds the edits that a schema and its questions allow, and rewrites questions and SQL for them.
 */
#ifndef DATA_SYNTH_SCHEMA_EDIT_FIND_H
#define DATA_SYNTH_SCHEMA_EDIT_FIND_H

#include "data/synth/element_style.h"
#include "data/synth/lexicon.h"
#include "data/synth/natural.h"

enum edit_type {
    EDIT_COLUMN,       /* the column becomes two */
    EDIT_RENAMED,      /* the column gets one of the two names; no question becomes ambiguous */
    EDIT_ROLE,         /* the foreign key becomes two */
    EDIT_TABLE,        /* the table becomes two tables with the same columns */
    EDIT_DETAILS,      /* a new table repeats the column */
    EDIT_BESIDE,       /* a new column describes the column: "price currency" */
    EDIT_BESIDE_TABLE, /* a new table describes the table: "order types" */
    EDIT_NEAR,         /* a table near the column's table gets a column of the same name */
    EDIT_STORED,       /* the table stores a sum or a number of another table's rows */
    EDIT_PEOPLE,       /* a new table of persons has the attributes of a table of persons */
    EDIT_TYPES
};

/* One edit of one schema. Indices refer to the original schema. */
struct edit {
    enum edit_type type;
    int table, column; /* column is -1 for tables */
    int other;         /* EDIT_NEAR: the table that gets the column; EDIT_STORED: the table whose rows are added up */
    int which;         /* EDIT_RENAMED: the chosen name */
    const char *head;  /* the element's words in a question, without a modifier */
    const char *names[2];   /* words of the new names; only the first if the type adds one element */
    const char *phrases[2]; /* words of a question for one of the two */
};

/* The use of an element by a statement. */
enum edit_use { USE_NONE, USE_COMPARED /* in WHERE only */, USE_SHOWN };

/* An original question, or one that names a member of an edit. */
struct edit_question {
    const char *text, *sql;
    const enum edit_use *uses; /* [tables, then columns of the original schema] */
    int edit, which;           /* -1: names no member */
};

struct edit_version {
    bool *on;             /* [n_edits] */
    struct schema schema; /* moves to the data set */
    const char **tables;  /* [n_tables] the names of the original tables in this version */
    const char **columns; /* [n_columns] */
    enum element_style style;
    bool restyled; /* all names get the style; otherwise only new ones */
};

/* The state of making one database's examples. */
struct edit_database {
    const struct schema *schema;
    const char **table_words, **column_words; /* of the original names */
    struct edit *edits;
    struct edit_question *questions;
    struct edit_version *versions;
    int n_edits, edits_cap, n_questions, questions_cap, n_versions;
    struct strings text; /* owns all strings */
    struct arena *sql;
    struct rng *rng;
};

/* Finds all edits that the schema and its questions allow. */
void edit_find(struct edit_database *d);

/* Returns the bytes that the words, with an optional plural ending, take at the start of the text; 0: they do not stand
 * there. */
int edit_stands_at(const char *text, const char *words);
/* Counts the places where the words stand side by side, with an optional plural ending. *at is the first one. */
int edit_mentions(const char *text, const char *words, int *at);

/* Returns true if the text has a word, or a form of it, that only the names of this edit have. */
bool edit_says_member(const char *text, const struct edit *e);

/* Returns the question with the member's phrase in place of the head. NULL unless the head occurs exactly once. */
const char *edit_say(struct edit_database *d, const char *text, const struct edit *e, int which);

/* Returns the statement with the new names. NULL if it does not resolve on the new schema. */
const char *edit_rename_sql(struct edit_database *d, const char *sql, const char *const *tables,
                            const char *const *columns, const struct schema *to);

/* Marks the used elements. Returns false if the statement does not resolve or has a NATURAL join. */
bool edit_uses(struct edit_database *d, const char *sql, enum edit_use *uses);

#endif
