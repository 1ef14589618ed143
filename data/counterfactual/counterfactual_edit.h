/*
 * counterfactual_edit.h - tables on their way to records: columns replaced or deleted, values copied or deleted, and
 * what that makes of a question.
 */
#ifndef DATA_COUNTERFACTUAL_COUNTERFACTUAL_EDIT_H
#define DATA_COUNTERFACTUAL_COUNTERFACTUAL_EDIT_H

#include "data/counterfactual/counterfactual_impl.h"

struct edited_column {
    const char *name, *table; /* table: NULL where there is one */
    int origin;               /* column that it was or stands for; -1: none */
    enum column_type type;
    const char *values[EDITED_VALUES];
    int n_values;
};
struct edited_table {
    struct edited_column columns[ASKED_COLUMNS + 2];
    int n;
    enum edit_kind kind;
    json_t *deleted, *added; /* names, or for values [column, value] */
};
/* With a few values of every column, among them those that both questions say. */
void edited_table_init(struct edited_table *e, struct counterfactual *c, const struct asked_question *const q[2]);
void edited_table_copy(struct edited_table *e, const struct edited_table *from);
void edited_table_release(struct edited_table *e);
/* Deletes the column and puts n others, 0 to 2, into its place. */
void edited_table_replace(struct edited_table *e, struct counterfactual *c, const struct asked_table *t, int column,
                          const char *const *names, int n);
void edited_table_add_value(struct edited_table *e, int column, const char *value);
void edited_table_remove_value(struct edited_table *e, int column, const char *value);
/* Whether no other fold has a table of these columns and values. */
bool counterfactual_is_apart(struct counterfactual *c, const struct edited_table *e, int fold);
/* "plain", "doubled" ... */
const char *counterfactual_kind(enum edit_kind kind);
/* The record of a question on a table; its labels are what the table makes of them. */
void counterfactual_emit(struct counterfactual *c, const struct edited_table *e, const struct asked_question *q);

#endif
