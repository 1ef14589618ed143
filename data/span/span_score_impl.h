/*
 * span_score_impl.h - what the files behind span_score.h share: the counts of a file, and measures of them.
 */
#ifndef DATA_SPAN_SPAN_SCORE_IMPL_H
#define DATA_SPAN_SPAN_SCORE_IMPL_H

#include "data/score/score.h"
#include "data/span/span_count.h"

struct span_tally {
    struct span_counts *groups; /* of each table or database */
    int n_groups;
    double *problem; /* [n] of each record that is scored: how sure the tagger is that it is no clear question */
    uint8_t *is_problem;
    int *group;
    int n;
    json_t *skipped; /* {"record", "why"} */
};

/* A share, or the F1 of two shares, of what is counted. */
struct span_measure {
    const struct span_tally *tally;
    size_t hits, of;               /* offsets in struct span_counts */
    size_t hits_tagged, of_tagged; /* of F1, of the second share; else 0 */
};
struct score_mean span_measure(const struct span_measure *m);
/* How well `problem` ranks questions: stats_measure_ap or stats_measure_auc. */
struct score_mean span_ranking(const struct span_tally *t, double (*measure)(struct scored s, const void *arg));

json_t *span_score_json(const struct span_tally *t);
void span_score_print(const struct span_tally *t);

#endif
