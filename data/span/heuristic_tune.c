/* Part of heuristic.h: thresholds out of records. */
#include "data/span/heuristic.h"
#include "data/span/span_count.h"
#include "data/span/tag_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of each threshold that are tried, one threshold after the other, ROUNDS times. */
enum { ROUNDS = 2, STEPS = 6 };
static const struct {
    size_t at;
    double values[STEPS];
} grid[] = {
    { offsetof(struct heuristic, name), { 0.75, 0.8, 0.85, 0.9, 0.95, 1 } },
    { offsetof(struct heuristic, unknown), { 0, 0.3, 0.4, 0.5, 0.6, 0.7 } },
    { offsetof(struct heuristic, margin), { 0, 0.02, 0.05, 0.1, 0.15, 0.2 } },
    { offsetof(struct heuristic, value), { 0.82, 0.86, 0.9, 0.95, 0.98, 1 } },
};

/* A record as a question, with the values that it says. */
struct tuned_question {
    struct tag_question ask;
    struct tag_source source;
    struct tag_matches values;
};

static double goodness(const struct heuristic *h, const struct tuned_question *q, const struct span_record *r, int n)
{
    struct span_counts c = { 0 };

    for (int i = 0; i < n; i++) {
        struct tag_answer a;
        heuristic_tag(&a, h, &q[i].ask);
        span_count(&c, &r[i], &a);
        tag_answer_release(&a);
    }
    double f1 = span_f1(c.label[COUNT_PROBLEM].exact, c.label[COUNT_PROBLEM].gold, c.label[COUNT_PROBLEM].exact,
                        c.label[COUNT_PROBLEM].tagged);
    double alarms = c.answerable ? (double)c.alarmed / (double)c.answerable : 0;
    return (isnan(f1) ? 0 : f1) - 2 * alarms;
}

static double tune(struct heuristic *h, const struct tuned_question *q, const struct span_record *records, int n)
{
    double best = goodness(h, q, records, n);

    for (int round = 0; round < ROUNDS; round++)
        for (int t = 0; t < ARRAY_LEN(grid); t++)
            for (int k = 0; k < STEPS; k++) {
                struct heuristic tried = *h;
                memcpy((char *)&tried + grid[t].at, &grid[t].values[k], sizeof(double));
                double reached = goodness(&tried, q, records, n);
                if (reached > best) {
                    best = reached;
                    *h = tried;
                }
            }
    return best;
}

double heuristic_tune(struct heuristic *h, const struct span_record *records, int n)
{
    struct tuned_question *q = xcalloc((size_t)n + 1, sizeof *q);

    for (int i = 0; i < n; i++) {
        tag_source_of(&q[i].source, records[i].columns, records[i].n_columns);
        q[i].ask = tag_source_ask(&q[i].source, records[i].question, &q[i].values);
    }
    double best = tune(h, q, records, n);
    for (int i = 0; i < n; i++) {
        tag_matches_release(&q[i].values);
        tag_source_close(&q[i].source);
    }
    free(q);
    return best;
}
