#include "train/lm/lm_report.h"

#include "data/report/report.h"
#include "train/lm/lm_trainer_impl.h"

#include <stdio.h>

enum { ROWS = 6, COLUMNS = 2, CELL = 64 };

static void fill_table(const struct lm_trainer *t, char cells[ROWS][COLUMNS][CELL])
{
    const struct lm_data *d = &t->train;
    const struct {
        const char *name;
        long long value;
    } rows[ROWS] = {
        { "records", d->n },
        { "tokens", d->tokens },
        { "tokens to predict", d->targets },
        { "to validate on", t->valid.n },
        { "steps", t->run.state.step },
        { "best step", t->run.state.best_step },
    };

    for (int i = 0; i < ROWS; i++) {
        snprintf(cells[i][0], CELL, "%s", rows[i].name);
        snprintf(cells[i][1], CELL, "%lld", rows[i].value);
    }
}

static void add_table(struct report *r, const struct lm_trainer *t)
{
    static const char *const columns[COLUMNS] = { "what", "number" };
    char cells[ROWS][COLUMNS][CELL];
    const char *list[ROWS * COLUMNS];

    fill_table(t, cells);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        list[i] = cells[i / COLUMNS][i % COLUMNS];
    report_table(r, "the run", columns, COLUMNS, list, ROWS);
}

static void add_curve(struct report *r, const char *metrics, const char *title, const char *name)
{
    struct series s = { 0 };

    if (series_read(&s, metrics, "train", name, NULL) == 0 && s.n) {
        struct curve curve = { .name = name, .x = s.step, .y = s.value, .n = s.n };
        report_curves(r, title, "step", &curve, 1);
    }
    series_release(&s);
}

int lm_report(const struct lm_trainer *t, struct error *err)
{
    char path[4096], metrics[4096];
    struct report r;

    snprintf(path, sizeof path, "%s/report.html", t->run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->run.set.out);
    if (report_open(&r, path, t->request->seq2seq ? "sequence-to-sequence model" : "infilling model", err))
        return -1;
    add_table(&r, t);
    add_curve(&r, metrics, "loss", "loss");
    add_curve(&r, metrics, "validation loss", "valid_loss");
    if (lm_figures[t->set->select])
        add_curve(&r, metrics, "what it writes", lm_figures[t->set->select]);
    add_curve(&r, metrics, "norm of the gradient", "grad_norm");
    return report_close(&r, err);
}
