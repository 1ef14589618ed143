/*
 * under_specify_impl.h - what those who find short questions (under_specify.c, ask_columns.c) share with the crossing
 * of them (under_specify_cross.c).
 */
#ifndef DATA_NATURAL_UNDER_SPECIFY_IMPL_H
#define DATA_NATURAL_UNDER_SPECIFY_IMPL_H

#include "data/exec/sqlite_exec.h"
#include "data/natural/rivals.h"
#include "data/natural/under_specify.h"

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

/* A schema on which only one of an item's columns fits the short question. */
struct under_one {
    const struct schema *s;
    int which;       /* the column that fits */
    int gone;        /* the other column, which is not there; -1: it is, and */
    const char *sql; /* with the column that fits, under its name there */
};

/* Draws one: the other column goes, or the one that fits goes by the whole name that the question says.  text keeps the
 * statement. */
struct under_one under_one_draw(struct natural *n, struct strings *text, const struct under_item *i,
                                const struct schema *s);

/* Writes the examples of all items of one corpus. */
void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items);

#endif
