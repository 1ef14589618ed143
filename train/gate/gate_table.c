#include "train/gate/gate_table.h"

#include "data/console/visible.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 15, NUMBER_WIDTH = 15 };

const char *const gate_columns[GATE_COLUMNS] = { "kind", "questions",     "ambiguous",  "AP",   "AUC",
                                                 "F1",   "always-yes F1", "both named", "Brier" };

static void number(char *cell, double x)
{
    if (isfinite(x))
        snprintf(cell, GATE_CELL, "%.3f", x);
    else
        snprintf(cell, GATE_CELL, "-");
}

void gate_row_fill(struct gate_row *row, const char *name, const struct gate_measures *m)
{
    snprintf(row->cells[0], GATE_CELL, "%s", name);
    snprintf(row->cells[1], GATE_CELL, "%d", m->n);
    const double values[] = { m->prevalence, m->ap, m->auc, m->decision.f1, m->always_yes.f1, m->named, m->brier };
    for (int i = 0; i < ARRAY_LEN(values); i++)
        number(row->cells[2 + i], values[i]);
}

void gate_rows_print(const char *first, const struct gate_row *rows, int n)
{
    int width = NAME_WIDTH;

    for (int i = 0; i < n; i++)
        width = (int)strlen(rows[i].cells[0]) + 1 > width ? (int)strlen(rows[i].cells[0]) + 1 : width;
    for (int i = -1; i < n; i++) {
        visible_printf(stdout, "%-*s", width, i < 0 ? first : rows[i].cells[0]);
        for (int k = 1; k < GATE_COLUMNS; k++)
            printf("%-*s", NUMBER_WIDTH, i < 0 ? gate_columns[k] : rows[i].cells[k]);
        putchar('\n');
    }
}

/* Of questions about one database no interval can be had. */
static void bounds(char *cell, struct interval x)
{
    if (isnan(x.low))
        snprintf(cell, GATE_CELL, "[-]");
    else
        snprintf(cell, GATE_CELL, "[%.4f, %.4f]", x.low, x.high);
}

void gate_summary_print(const struct gate_measures *m)
{
    char ap[GATE_CELL], auc[GATE_CELL];

    bounds(ap, m->ap_interval);
    bounds(auc, m->auc_interval);
    printf("AP %.4f %s, AUC %.4f %s, 95 %% over databases; ECE %.4f\n", m->ap, ap, m->auc, auc,
           stats_ece(&m->reliability));
}
