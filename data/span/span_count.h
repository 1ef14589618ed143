/*
 * span_count.h - counts of a tagger's hits and errors, which add up over records.
 *
 * A span is found exactly if its bounds and label are right. It is found loosely if a span of its label overlaps it.
 */
#ifndef DATA_SPAN_SPAN_COUNT_H
#define DATA_SPAN_SPAN_COUNT_H

#include "data/span/tagging.h"

/* All labels, then AMB and UNK together, which require a clarifying question. */
enum {
    COUNT_PROBLEM = SPAN_LABELS,
    COUNT_ALL,
    COUNT_LABELS,
    COUNT_NONE = SPAN_LABELS, /* the label of a word outside spans */
    COUNT_GROUNDED = SPAN_UNK /* the words of all labels that have meanings */
};

struct span_counts {
    int64_t records, answerable, alarmed; /* alarmed: answerable, but some span is AMB or UNK */
    struct {
        int64_t gold, tagged, exact;
        int64_t gold_met, tagged_met; /* loosely: of gold, of the tagged spans */
    } label[COUNT_LABELS];
    int64_t linkable[SPAN_LABELS], linked_all[SPAN_LABELS],
        linked_any[SPAN_LABELS];                                  /* of gold spans that are loosely found */
    int64_t words[SPAN_LABELS + 1], words_right[SPAN_LABELS + 1]; /* by gold label, with COUNT_NONE */
    /* Words of COL, VAL and AMB, and all of them together (COUNT_GROUNDED); those whose label and meanings are right.
     */
    int64_t groundable[COUNT_GROUNDED + 1], grounded[COUNT_GROUNDED + 1];
};

void span_count(struct span_counts *c, const struct span_record *gold, const struct tag_answer *a);
void span_counts_add(struct span_counts *to, const struct span_counts *more);

/* F1 of two ratios: their harmonic mean, 0 if both are 0, NAN if both denominators are 0. */
double span_f1(int64_t hits_gold, int64_t gold, int64_t hits_tagged, int64_t tagged);

#endif
