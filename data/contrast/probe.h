/*
 * probe.h - what gives the label away: scorers that see too little to know, measured on the test fold.
 *
 * On crossed examples the question alone and the schema alone are at chance by construction; a data set where they are
 * not is refused, because a detector trained on it may learn nothing but that leak.
 */
#ifndef DATA_CONTRAST_PROBE_H
#define DATA_CONTRAST_PROBE_H

#include "data/corpora/dataset.h"
#include "data/schema/schema.h"

enum probe { PROBE_QUESTION, PROBE_SCHEMA, PROBE_ALWAYS, PROBE_RULE, PROBE_NAMES, PROBES };

/* Which examples: the crossed slice, the presence slice together with the ambiguous ones, the thesis' records, or those
 * that people labelled. */
enum probe_set { PROBE_CROSSED, PROBE_PRESENCE, PROBE_THESIS, PROBE_OWN, PROBE_SETS };

struct probe_report {
    int n, ambiguous; /* of the test fold; n is 0 where there are none, and nothing else is then set */
    double ap[PROBES], auc[PROBES], f1[PROBES];
};

/* Learned probes are fitted on the train fold; of people's labels, which have none, the test fold is cut by its
 * questions in five, and each part is scored by probes that learnt from the others.  Deterministic. */
void probe_run(struct probe_report *r, const struct dataset *d, enum probe_set set);
void probe_print(const struct probe_report *r, enum probe_set set, FILE *out);

/* -1 with EXIT_CODE_DATA when question or schema alone rank the crossed examples better or worse than chance. */
int probe_check(const struct probe_report *crossed, struct error *err);

/* How alike the names are of the two likeliest look-alikes among the elements that the question seems to mention. */
double probe_name_similarity(const char *question, const struct schema *s);
/* Whether the question has the word "and" or a comma. */
bool probe_and_comma(const char *question);

#endif
