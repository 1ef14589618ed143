/*
 * gate_findings.h - everything that is told of a detector's answers to labelled questions: measures of all and of each
 * kind, the presence slice, what question or schema alone give away.
 */
#ifndef TRAIN_GATE_GATE_FINDINGS_H
#define TRAIN_GATE_GATE_FINDINGS_H

#include "data/contrast/probe.h"
#include "data/corpora/mixture.h"
#include "train/gate/gate_table.h"

enum { GATE_ROWS = GATE_KINDS + 1 + MIXTURE_PARTS };

struct gate_findings {
    struct gate_measures all, kinds[GATE_KINDS], presence;
    struct probe_report probes; /* n is 0 where they were not asked */
    enum probe_set probe_set;
    double relevance_ap, relevance_auc; /* NAN without SQL */
    double threshold, temperature;
    struct gate_row rows[GATE_ROWS]; /* of each kind, then of all, then of each folder of a mixture */
    struct gate_measures parts[MIXTURE_PARTS];
    const struct mixture *mixture; /* NULL: there is none */
};

/* Of the answers, and of those of the presence slice (NULL: none); m has threshold and temperature.  mixture (NULL:
 * none) must outlive the findings. */
void gate_findings_init(struct gate_findings *f, const struct gate_model *m, const struct gate_answers *a,
                        const struct gate_answers *presence, const struct mixture *mixture, uint64_t seed);
void gate_findings_probe(struct gate_findings *f, const struct dataset *d, enum probe_set set);
/* The rows of the kinds that there are, and of all.  How many. */
int gate_findings_rows(const struct gate_findings *f, struct gate_row shown[GATE_ROWS]);
/* To standard output. */
void gate_findings_print(const struct gate_findings *f);
/* A new reference; `name` is the field of the measures of all. */
json_t *gate_findings_json(const struct gate_findings *f, const char *name);

#endif
