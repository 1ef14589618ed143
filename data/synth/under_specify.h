/*
 * under_specify.h - questions that name one of two rival columns, shortened by the words that distinguish it.
 *
 * "What is the start date of each booking?" becomes "What is the date of each booking?". The short question is
 * ambiguous on a schema with both dates and unambiguous on a schema with one. Two short questions of one database
 * about different columns form a contrast set: each schema has both rivals of one question and one column of the
 * other. The original question is unambiguous on all of them.
 */
#ifndef DATA_SYNTH_UNDER_SPECIFY_H
#define DATA_SYNTH_UNDER_SPECIFY_H

#include "data/db/sqlite_exec.h"
#include "data/synth/natural.h"
#include "data/synth/rivals.h"

/* A natural_generator. */
int under_specify_make(struct natural *n, const struct natural_corpus *c, struct error *err);

/* A question that names one of two rivals, and its short form without the distinguishing words. */
struct under_item {
    const struct schema *s;  /* the schema of its database, or a union with another one */
    int db;                  /* index in the corpus */
    int columns[2];          /* the column that the question names, and its rival */
    bool *touched;           /* [s->n_columns] used by its statement */
    bool *dropped;           /* [s->n_columns] other columns that the short question could mean */
    struct word_list left;   /* the words of the column's name in the short question */
    const char *text, *full; /* text: the short question; full: the original one */
    const char *sql[2];      /* with either column */
    const char *full_sql;    /* of the full question */
    const char *reason, *full_reason;
};

struct under_items {
    struct under_item *list;
    int n, cap;
    struct strings text;
};

/* The open database of a corpus for running statements. Set c, zero the rest. */
struct under_rows {
    const struct natural_corpus *c;
    struct exec_db *db;
    int of; /* the index of its schema plus 1 */
};

/* Opens the database of a schema. Returns NULL if there is none. */
struct exec_db *under_rows_open(struct under_rows *r, int db);
/* Returns true if both statements run and their rows differ, or if there is no database. */
bool under_rows_differ(struct under_rows *r, int db, const char *const *sql);
void under_rows_close(struct under_rows *r);

/* Marks the other columns that the short question q could mean. Returns false if one of them cannot be dropped. */
bool under_drop_further(bool *dropped, const struct cut_question *q, const struct schema *s, const bool *touched,
                        const struct rival_pair *r, const struct word_list *left);

/* Takes ownership of the item's arrays. */
void under_items_add(struct under_items *items, const struct under_item *item);
void under_items_release(struct under_items *items);

/* Writes the examples of all items of one corpus. */
void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items);

#endif
