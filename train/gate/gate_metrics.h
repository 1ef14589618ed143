/*
 * gate_metrics.h - everything that is told of a detector's answers to labelled questions: measures of all and of each
 * kind, the presence slice, what question or schema alone give away.
 */
#ifndef TRAIN_GATE_GATE_METRICS_H
#define TRAIN_GATE_GATE_METRICS_H

#include "data/contrast/probe.h"
#include "data/corpora/mixture.h"
#include "data/util/json.h"
#include "train/gate/gate_eval.h"

/* How good answers are, with intervals over the databases that the questions come from. */

/* Measures of one set of questions; NAN where undefined. */
struct gate_metrics {
    int n;
    double prevalence, ap, auc, named; /* named: share of the ambiguous whose two alternatives are both right */
    struct interval ap_interval, auc_interval, f1_interval; /* over source databases */
    struct confusion confusion;
    struct decision decision, always_yes;
    double best_threshold, best_f1; /* of these very questions: what no threshold chosen elsewhere goes beyond */
    double brier;
    struct reliability reliability;
};
/* Of those about one database, without intervals. */
struct gate_metrics gate_measure_group(const struct gate_model *m, const struct gate_answers *a, int group);
json_t *gate_metrics_json(const struct gate_metrics *m);

/* Measures as rows of a table. */

enum { GATE_COLUMNS = 9, GATE_CELL = 64 };
struct gate_row {
    char cells[GATE_COLUMNS][GATE_CELL];
};

/* What stands above the rows; the first says what their names are. */
extern const char *const gate_columns[GATE_COLUMNS];

void gate_row_fill(struct gate_row *row, const char *name, const struct gate_metrics *m);
/* To standard output, under the names of the columns; first is the first one's. */
void gate_rows_print(const char *first, const struct gate_row *rows, int n);

enum { GATE_ROWS = GATE_KINDS + 1 + MIXTURE_PARTS };

struct gate_test_metrics {
    struct gate_metrics all, kinds[GATE_KINDS], presence;
    struct probe_report probes; /* n is 0 where they were not asked */
    enum probe_set probe_set;
    double relevance_ap, relevance_auc; /* NAN without SQL */
    double threshold, temperature;
    struct gate_row rows[GATE_ROWS]; /* of each kind, then of all, then of each folder of a mixture */
    struct gate_metrics parts[MIXTURE_PARTS];
    const struct mixture *mixture; /* NULL: there is none */
};

/* Of the answers, and of those of the presence slice (NULL: none); m has threshold and temperature.  mixture (NULL:
 * none) must outlive the findings. */
void gate_test_metrics_init(struct gate_test_metrics *f, const struct gate_model *m, const struct gate_answers *a,
                            const struct gate_answers *presence, const struct mixture *mixture, uint64_t seed);
void gate_test_metrics_probe(struct gate_test_metrics *f, const struct dataset *d, enum probe_set set);
/* The rows of the kinds that there are, and of all.  How many. */
int gate_test_metrics_rows(const struct gate_test_metrics *f, struct gate_row shown[GATE_ROWS]);
/* To standard output. */
void gate_test_metrics_print(const struct gate_test_metrics *f);
/* A new reference; `name` is the field of the measures of all. */
json_t *gate_test_metrics_json(const struct gate_test_metrics *f, const char *name);

#endif
