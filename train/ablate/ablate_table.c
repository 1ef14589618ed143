#include "train/ablate/ablate_table.h"

#include "data/report/report.h"
#include "data/util/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELL = 48, COLUMNS = 3 + ABLATE_FIGURES, NAME_WIDTH = 24, FIGURE_WIDTH = 24 };

/* What any detector is to be compared with: the probes of test.json. */
static const char *const baselines[] = { "always_yes", "and_comma_rule", "question_only", "schema_only" };
enum { BASELINES = 4 };

static const char *const figures[ABLATE_FIGURES] = { "ap", "f1", "macro_f1", "accuracy", "precision", "recall" };
static const char *const titles[COLUMNS] = { "row",      "runs",      "AP",     "F1",       "macro-F1",
                                             "accuracy", "precision", "recall", "published" };

/* 97.5 % points of Student's t with 1 to 30 degrees of freedom. */
static const double student[] = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
                                  2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
                                  2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423 };

void ablate_table_init(struct ablate_table *t, const struct ablate_plan *plan)
{
    *t = (struct ablate_table){ .plan = plan };
    t->cells = xcalloc((size_t)(plan->n_rows + BASELINES), sizeof *t->cells);
}

void ablate_table_release(struct ablate_table *t)
{
    free(t->cells);
    *t = (struct ablate_table){ 0 };
}

static void add(struct ablate_cell *c, const json_t *value)
{
    double x = json_number_value(value);

    if (!json_is_number(value))
        return;
    c->sum += x;
    c->squares += x * x;
    c->n++;
}

int ablate_table_add(struct ablate_table *t, int row, const char *folder, struct error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/test.json", folder);
    json_t *o = json_read_file(path, err);
    const json_t *crossed = json_object_get(o, "crossed"), *probes = json_object_get(o, "probes");
    if (o && !json_is_object(crossed))
        error_set(err, EXIT_CODE_DATA, "%s: crossed: expected an object", path);
    for (int k = 0; crossed && k < ABLATE_FIGURES; k++)
        add(&t->cells[row][k], json_object_get(crossed, figures[k]));
    for (int b = 0; crossed && b < BASELINES; b++)
        for (int k = 0; k < ABLATE_FIGURES; k++)
            add(&t->cells[t->plan->n_rows + b][k], json_object_get(json_object_get(probes, baselines[b]), figures[k]));
    int rc = json_is_object(crossed) ? 0 : -1;
    json_decref(o);
    return rc;
}

static double mean_of(const struct ablate_cell *c)
{
    return c->n ? c->sum / c->n : NAN;
}

/* Half of the interval's width; NAN of one seed. */
static double margin_of(const struct ablate_cell *c)
{
    if (c->n < 2)
        return NAN;
    double mean = mean_of(c), variance = fmax((c->squares - c->n * mean * mean) / (c->n - 1), 0);
    int freedom = c->n - 1 < ARRAY_LEN(student) ? c->n - 1 : ARRAY_LEN(student);
    return student[freedom - 1] * sqrt(variance / c->n);
}

static void cell_text(char *text, const struct ablate_cell *c)
{
    double mean = mean_of(c), margin = margin_of(c);

    if (!c->n)
        snprintf(text, CELL, "-");
    else if (isnan(margin))
        snprintf(text, CELL, "%.4f", mean);
    else
        snprintf(text, CELL, "%.4f [%.4f, %.4f]", mean, mean - margin, mean + margin);
}

/* Baselines are the same for every row and seed: only their means tell something. */
static void row_texts(const struct ablate_table *t, int row, char (*texts)[CELL])
{
    bool trained = row < t->plan->n_rows;

    snprintf(texts[0], CELL, "%s", trained ? t->plan->rows[row].name : baselines[row - t->plan->n_rows]);
    snprintf(texts[1], CELL, "%d", trained ? t->cells[row][0].n : 0);
    for (int k = 0; k < ABLATE_FIGURES; k++) {
        struct ablate_cell c = t->cells[row][k];
        if (!trained && c.n)
            c = (struct ablate_cell){ .sum = mean_of(&c), .n = 1 };
        cell_text(texts[2 + k], &c);
    }
    snprintf(texts[COLUMNS - 1], CELL, "%s", trained ? t->plan->rows[row].published : "");
}

void ablate_table_print(const struct ablate_table *t)
{
    char texts[COLUMNS][CELL];

    for (int row = -1; row < t->plan->n_rows + BASELINES; row++) {
        if (row >= 0)
            row_texts(t, row, texts);
        printf("%-*s%-6s", NAME_WIDTH, row < 0 ? titles[0] : texts[0], row < 0 ? titles[1] : texts[1]);
        for (int k = 2; k < COLUMNS; k++)
            printf("%-*s", k + 1 < COLUMNS ? FIGURE_WIDTH : 0, row < 0 ? titles[k] : texts[k]);
        putchar('\n');
    }
}

static json_t *row_json(const struct ablate_table *t, int row)
{
    bool trained = row < t->plan->n_rows;
    json_t *o = json_pack("{s:s, s:i}", "row", trained ? t->plan->rows[row].name : baselines[row - t->plan->n_rows],
                          "runs", trained ? t->cells[row][0].n : 0);

    for (int k = 0; k < ABLATE_FIGURES; k++) {
        const struct ablate_cell *c = &t->cells[row][k];
        double mean = mean_of(c), margin = trained ? margin_of(c) : NAN;
        json_object_set_new(o, figures[k],
                            json_pack("{s:o, s:[o, o]}", "mean", json_finite(mean), "interval",
                                      json_finite(mean - margin), json_finite(mean + margin)));
    }
    if (trained && *t->plan->rows[row].published)
        json_object_set_new(o, "published", json_string(t->plan->rows[row].published));
    return o;
}

static int write_json(const struct ablate_table *t, const char *out, struct error *err)
{
    char path[4096];
    json_t *rows = json_array();

    for (int row = 0; row < t->plan->n_rows + BASELINES; row++)
        json_array_append_new(rows, row_json(t, row));
    json_t *o = json_pack("{s:s, s:i, s:o}", "plan", t->plan->path, "seeds", t->plan->n_seeds, "rows", rows);
    snprintf(path, sizeof path, "%s/ablate.json", out);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    return rc;
}

static int write_page(const struct ablate_table *t, const char *out, struct error *err)
{
    char path[4096];
    int n = t->plan->n_rows + BASELINES;
    char(*texts)[COLUMNS][CELL] = xcalloc((size_t)n, sizeof *texts);
    const char **cells = xcalloc((size_t)n * COLUMNS, sizeof *cells);
    struct report r;

    for (int row = 0; row < n; row++) {
        row_texts(t, row, texts[row]);
        for (int k = 0; k < COLUMNS; k++)
            cells[row * COLUMNS + k] = texts[row][k];
    }
    snprintf(path, sizeof path, "%s/report.html", out);
    int rc = report_open(&r, path, "ablation of GATekeeper", err);
    if (rc == 0) {
        report_text(&r, "Test questions, crossed slice; means over seeds, 95 % intervals of Student's t over them.");
        report_table(&r, t->plan->path, titles, COLUMNS, cells, n);
        rc = report_close(&r, err);
    }
    free(texts);
    free(cells);
    return rc;
}

int ablate_table_write(const struct ablate_table *t, const char *out, struct error *err)
{
    return write_json(t, out, err) || write_page(t, out, err) ? -1 : 0;
}
