/*
 * slot_align.h - which term of one statement stands where which term of another one does.
 *
 * Statements enter one after the other.  The terms of each are matched to the places that those before it made, at the
 * least cost in all: 0 for equal terms, 0.3 for one subject, 0.5 for columns of one type and like names or conditions
 * that differ in their column alone, 1 for anything else, 0.8 for a term or a place that stays without.
 */
#ifndef DATA_CLARIFY_SLOT_ALIGN_H
#define DATA_CLARIFY_SLOT_ALIGN_H

#include "data/sql_form/sql_form.h"

struct alignment {
    const struct form_term **terms; /* [n_places * n]: of statement i at place k at k * n + i; NULL when it has none */
    int n_places, n, cap;
};

/* lists[i] may be NULL.  alignment_release frees. */
void align_terms(struct alignment *a, const struct form_list *const *lists, int n, const struct schema *schema);
void alignment_release(struct alignment *a);

/* cost is [n * n], row after row: the column of each row such that the sum is least. */
void assign_least_cost(int *column_of, const double *cost, int n);

#endif
