/*
 * span_probe.h - what gives away that a record of span_record.h has a problem: scorers that see the question alone, the
 * table alone, or that it was edited.
 *
 * All are at chance by construction, since a question and a table stand in as many records with a problem as without;
 * records where they are not are refused, because a tagger trained on them may learn nothing but that leak.
 */
#ifndef DATA_SPAN_SPAN_PROBE_H
#define DATA_SPAN_SPAN_PROBE_H

#include "data/span/span_record.h"

enum span_probe { SPAN_PROBE_QUESTION, SPAN_PROBE_TABLE, SPAN_PROBE_EDITED, SPAN_PROBE_WIDTH, SPAN_PROBES };

/* Records of edited tables whose problem, where they have one, has that label: AMB or UNK. */
struct span_probe_report {
    int n, problems; /* of the test records; n is 0 where there are none, and nothing else is then set */
    double auc[SPAN_PROBES];
};

/* Learned probes are fitted on the train records.  Deterministic. */
void span_probe_run(struct span_probe_report *r, const struct span_record_list *train,
                    const struct span_record_list *test, enum span_label label);
void span_probe_print(const struct span_probe_report *r, enum span_label label, FILE *out);
/* -1 with EXIT_CODE_DATA when a probe ranks the records better or worse than chance. */
int span_probe_check(const struct span_probe_report *r, enum span_label label, struct error *err);

/* All of it for DIR/train.jsonl and DIR/test.jsonl. */
int span_probe_folder(const char *dir, FILE *out, struct error *err);

#endif
