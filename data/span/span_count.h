/*
 * span_count.h - what a tagger found of the spans that a record has, in numbers that add up over records.
 *
 * A span is found exactly where its bounds and label are right, and loosely where a span of its label lies over it.
 */
#ifndef DATA_SPAN_SPAN_COUNT_H
#define DATA_SPAN_SPAN_COUNT_H

#include "data/span/tagging.h"

/* All labels, then AMB and UNK as one, which is what a question needs to be asked about. */
enum {
    COUNT_PROBLEM = SPAN_LABELS,
    COUNT_ALL,
    COUNT_LABELS,
    COUNT_NONE = SPAN_LABELS /* the label of a word in no span */
};

struct span_counts {
    int64_t records, answerable, alarmed; /* alarmed: answerable, and some span says it is not */
    struct {
        int64_t gold, tagged, exact;
        int64_t gold_met, tagged_met; /* loosely: of gold, of what was tagged */
    } label[COUNT_LABELS];
    int64_t linkable[SPAN_LABELS], linked_all[SPAN_LABELS], linked_any[SPAN_LABELS]; /* of gold that is loosely found */
    int64_t words[SPAN_LABELS + 1], words_right[SPAN_LABELS + 1]; /* by gold label, COUNT_NONE among them */
};

void span_count(struct span_counts *c, const struct span_record *gold, const struct tag_answer *a);
void span_counts_add(struct span_counts *to, const struct span_counts *more);

/* Harmonic mean of hits / of and hits / among; 0 where both are 0, NAN where both have none to hit. */
double span_f1(int64_t hits_gold, int64_t gold, int64_t hits_tagged, int64_t tagged);

#endif
