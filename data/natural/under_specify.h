/*
 * under_specify.h - questions that name one of two rival columns, without the words that tell which one.
 *
 * "What is the start date of each booking?" becomes "What is the date of each booking?".  It is ambiguous on a schema
 * with both dates and clear on a schema with one of them.  Two such questions of one database about different columns
 * are crossed: each stands on a schema that has both of its own columns and one of the other's, and on the schema where
 * it is the other way round.  The question as it was is clear beside both columns.
 */
#ifndef DATA_NATURAL_UNDER_SPECIFY_H
#define DATA_NATURAL_UNDER_SPECIFY_H

#include "data/exec/sqlite_exec.h"
#include "data/natural/natural.h"
#include "data/natural/rivals.h"

/* A natural_maker. */
int under_specify_make(struct natural *n, const struct natural_corpus *c, struct error *err);

/* A question that names one of two rivals, and the same without the words that tell which. */
struct under_item {
    const struct schema *s;  /* where it stands: its database, or that and another one */
    int db;                  /* of the corpus */
    int columns[2];          /* the one that it names, and the rival */
    bool *touched;           /* [s->n_columns] by its statement */
    bool *dropped;           /* [s->n_columns] further columns that the short question may mean */
    struct word_list left;   /* of the name of the column in the short question */
    const char *text, *full; /* the short question, and the one that names the column */
    const char *sql[2];      /* with either column */
    const char *full_sql;    /* of the full question */
    const char *reason, *full_reason;
};

struct under_items {
    struct under_item *list;
    int n, cap;
    struct strings text;
};

/* The database that statements are run on; a zeroed struct with c is ready. */
struct under_rows {
    const struct natural_corpus *c;
    struct exec_db *db;
    int of; /* one more than the number of its schema */
};

/* The database of schema number db; NULL where there is none. */
struct exec_db *under_rows_open(struct under_rows *r, int db);
/* Whether both statements run and give different rows.  Without a database nothing is known against it. */
bool under_rows_differ(struct under_rows *r, int db, const char *const *sql);
void under_rows_close(struct under_rows *r);

/* Marks the other columns that the short question q may mean.  False where one of them cannot go. */
bool under_drop_further(bool *dropped, const struct cut_question *q, const struct schema *s, const bool *touched,
                        const struct rival_pair *r, const struct word_list *left);

/* Takes the arrays of the item. */
void under_items_add(struct under_items *items, const struct under_item *item);
void under_items_release(struct under_items *items);

/* Writes the examples of all items of one corpus. */
void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items);

#endif
