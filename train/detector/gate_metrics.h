/*
 * gate_metrics.h - metrics of a detector's predictions, with intervals over source databases, as tables and JSON.
 *
 * Metrics cover all questions, each ambiguity type, the hard negatives and each folder of a mixture. Probes show how
 * far question or schema alone predict the label.
 */
#ifndef TRAIN_DETECTOR_GATE_METRICS_H
#define TRAIN_DETECTOR_GATE_METRICS_H

#include "data/base/json.h"
#include "data/corpora/mixture.h"
#include "data/synth/probe.h"
#include "train/detector/gate_eval.h"

/* Metrics of a set of questions; NAN where undefined. */
struct gate_metrics {
    int n;
    double prevalence, ap, auc, named; /* named: fraction of ambiguous questions with both elements identified */
    struct interval ap_interval, auc_interval, f1_interval; /* bootstrap over source databases, 95 % */
    struct confusion confusion;                             /* stats_metric computes its metrics */
    double best_threshold,
        best_f1; /* on these questions themselves: an upper bound for any threshold chosen elsewhere */
    double brier;
    struct reliability reliability;
};
/* The metrics of one database, without intervals. */
struct gate_metrics gate_measure_group(const struct gate_model *m, const struct gate_answers *a, int group);
json_t *gate_metrics_json(const struct gate_metrics *m);

/* Metrics as rows of a table. */

enum { GATE_COLUMNS = 9, GATE_CELL = 64 };
struct gate_row {
    char cells[GATE_COLUMNS][GATE_CELL];
};

/* Titles of the columns; the first one names the kind of row. */
extern const char *const gate_columns[GATE_COLUMNS];

void gate_row_fill(struct gate_row *row, const char *name, const struct gate_metrics *m);
/* Prints rows below the titles to standard output; `first` replaces the first title. */
void gate_rows_print(const char *first, const struct gate_row *rows, int n);

enum { GATE_ROWS = GATE_TYPES + 1 + MIXTURE_PARTS };

struct gate_test_metrics {
    struct gate_metrics all, types[GATE_TYPES], hard_negatives;
    struct probe_report probes; /* n is 0 without probes */
    enum probe_set probe_set;
    double relevance_ap, relevance_auc; /* NAN without SQL */
    double threshold, temperature;
    struct gate_row rows[GATE_ROWS]; /* of each type, of all, then of each folder of a mixture */
    struct gate_metrics parts[MIXTURE_PARTS];
    const struct mixture *mixture; /* NULL: none */
};

/* Fills f from predictions and from those of the hard negatives (NULL: none). m has threshold and temperature.
 * mixture (NULL: none) must outlive f. */
void gate_test_metrics_init(struct gate_test_metrics *f, const struct gate_model *m, const struct gate_answers *a,
                            const struct gate_answers *hard_negatives, const struct mixture *mixture, uint64_t seed);
void gate_test_metrics_probe(struct gate_test_metrics *f, const struct dataset *d, enum probe_set set);
/* Copies the rows of all types that occur, and of all questions. Returns their number. */
int gate_test_metrics_rows(const struct gate_test_metrics *f, struct gate_row shown[GATE_ROWS]);
/* Prints to standard output. */
void gate_test_metrics_print(const struct gate_test_metrics *f);
/* The caller owns the object. `name` is the field of the metrics of all questions. */
json_t *gate_test_metrics_json(const struct gate_test_metrics *f, const char *name);

#endif
