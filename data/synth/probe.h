/*
 * probe.h - probes for label leaks: scorers that see too little to know the label, measured on the test split.
 *
 * On contrast sets, the question alone and the schema alone are at chance by construction. A data set that violates
 * this is rejected, because a detector could learn nothing but the leak.
 */
#ifndef DATA_SYNTH_PROBE_H
#define DATA_SYNTH_PROBE_H

#include "data/corpora/dataset.h"
#include "data/schema/schema.h"

enum probe { PROBE_QUESTION, PROBE_SCHEMA, PROBE_ALWAYS, PROBE_RULE, PROBE_NAMES, PROBES };

/* The examples to probe: contrast sets, hard negatives with the ambiguous examples, records with the labels of Skadborg
 * and Mortensen, or examples labelled by people. */
enum probe_set { PROBE_CONTRAST, PROBE_PRESENCE, PROBE_GATEKEEPER, PROBE_OWN, PROBE_SETS };

struct probe_report {
    int n, ambiguous; /* examples of the test split; if n is 0, nothing else is set */
    double ap[PROBES], auc[PROBES], f1[PROBES];
};

/* Runs all probes. Learned probes are fitted on the train split. Examples labelled by people have no train split: their
 * test split is cut into five parts by question, and probes fitted on the others score each part. Deterministic. */
void probe_run(struct probe_report *r, const struct dataset *d, enum probe_set set);
void probe_print(const struct probe_report *r, enum probe_set set, FILE *out);

/* Returns -1 with EXIT_CODE_DATA if the question or the schema alone ranks the contrast sets better or worse than
 * chance. */
int probe_check(const struct probe_report *contrast, struct error *err);

/* Returns the similarity of the two most similar names among the elements that the question seems to mention. */
double probe_name_similarity(const char *question, const struct schema *s);
/* Returns true if the question has the word "and" or a comma. */
bool probe_and_comma(const char *question);

#endif
