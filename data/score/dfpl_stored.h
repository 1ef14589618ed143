/*
 * dfpl_stored.h - ours beside what a published prediction file says of itself.
 */
#ifndef DATA_SCORE_DFPL_STORED_H
#define DATA_SCORE_DFPL_STORED_H

#include "data/score/dfpl.h"

struct dfpl_stored {
    int metrics, differ; /* sets of metrics, of examples and of single readings; those in which any field differs */
    int groups, groups_differ;   /* examples that say how many results are distinct */
    int matched, matched_differ; /* examples that say how many readings cover a gold */
};

/* Scores the example and each of its readings on a trial of all its queries, as published, and counts. */
void dfpl_stored_compare(struct dfpl_stored *s, const struct dfpl_example *e, const struct trial *t);

#endif
