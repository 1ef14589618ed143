/*
 * under_specify_impl.h - what finding (under_specify.c) and crossing (under_specify_cross.c) of shortened questions
 * share.
 */
#ifndef DATA_NATURAL_UNDER_SPECIFY_IMPL_H
#define DATA_NATURAL_UNDER_SPECIFY_IMPL_H

#include "data/natural/question_words.h"
#include "data/natural/under_specify.h"

/* A question that can be shortened. */
struct under_item {
    const struct schema *s; /* where it stands: its database, or that and another one */
    int db, question;
    int columns[2];        /* the one that it names, and the rival */
    bool *touched;         /* [n_columns] by either statement */
    bool *dropped;         /* [n_columns] further columns that the short question may mean */
    struct word_list left; /* of its mention of the column */
    const char *text;      /* the short question */
    const char *sql[2];    /* with either column */
};

struct under_items {
    struct under_item *list;
    int n, cap;
    struct strings text;
};

/* Writes the examples of all items of one corpus. */
void under_specify_cross(struct natural *n, const struct natural_corpus *c, const struct under_items *items);

#endif
