#include "train/lm/reward_report.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/metrics_log.h"
#include "data/base/report.h"
#include "data/eval/score.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- test records ---- */

/* A field of the lines of the test records, and the records that it is compared on. */
static const struct comparison {
    const char *field, *title;
    enum { ALL, BY_RECALL, BY_PRECISION } records;
} rows[] = { { "reward", "reward, all records", ALL },
             { "reward", "reward, by recall", BY_RECALL },
             { "reward", "reward, by precision", BY_PRECISION },
             { "recall", "recall, by recall", BY_RECALL },
             { "recall", "recall, by precision", BY_PRECISION },
             { "precision", "precision, by recall", BY_RECALL },
             { "wrong", "wrong interpretations, all records", ALL } };

enum { COLUMNS = 5, ROWS = sizeof rows / sizeof *rows, CELL = 64 };

/* Lines of the test records, in order. */
struct lines {
    json_t **items;
    int n;
};

static void release_lines(struct lines *l)
{
    for (int i = 0; i < l->n; i++)
        json_decref(l->items[i]);
    free(l->items);
    *l = (struct lines){ 0 };
}

static int read_lines(struct lines *l, const struct reward_trainer *t, const char *name, struct error *err)
{
    char path[4096];
    json_t *line;
    int rc = 0;

    *l = (struct lines){ xcalloc((size_t)t->test.n + 1, sizeof *l->items), 0 };
    snprintf(path, sizeof path, "%s/%s", t->lm.run.set.out, name);
    struct json_reader *in = json_reader_open(path, err);
    while (in && l->n < t->test.n && (rc = json_reader_next(in, &line, err)) > 0)
        l->items[l->n++] = line;
    json_reader_close(in);
    if (!in || rc < 0)
        return -1;
    if (l->n < t->test.n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected a line for each of %d test records, got %d", path,
                         t->test.n, l->n);
    return 0;
}

/* The compared numbers of a row. */
struct part {
    double *before, *after, *gain;
    int *database, n;
};

/* Unit of the bootstrap: a database with all its altered copies. */
static const char *database_of(const json_t *record)
{
    const char *source = json_string_value(json_object_get(record, "source_db"));
    const char *own = json_string_value(json_object_get(record, "db_id"));

    return source ? source : own ? own : "";
}

/* Takes the records of the row whose lines have a number. Databases are numbered in order of appearance. */
static struct part part_of(const struct reward_trainer *t, const struct comparison *row, const struct lines *before,
                           const struct lines *after, struct strings *databases)
{
    size_t n = (size_t)t->test.n + 1;
    struct part p = { xmalloc(n * sizeof(double)), xmalloc(n * sizeof(double)), xmalloc(n * sizeof(double)),
                      xmalloc(n * sizeof(int)), 0 };

    for (int i = 0; i < t->test.n; i++) {
        const json_t *record = t->test.items[i].record;
        const json_t *a = json_object_get(before->items[i], row->field),
                     *b = json_object_get(after->items[i], row->field);
        bool ratios = json_object_get(after->items[i], "recall"); /* else a program's reward */
        if (!json_is_number(a) || !json_is_number(b) ||
            (row->records != ALL && (!ratios || reward_by_recall(record) != (row->records == BY_RECALL))))
            continue;
        p.before[p.n] = json_number_value(a);
        p.after[p.n] = json_number_value(b);
        p.gain[p.n] = p.after[p.n] - p.before[p.n];
        p.database[p.n++] = strings_add(databases, database_of(record));
    }
    return p;
}

static void release_part(struct part *p)
{
    free(p->before);
    free(p->after);
    free(p->gain);
    free(p->database);
}

static void show_mean(char cell[CELL], const double *value, const struct part *p, int databases, const char *form)
{
    struct score_mean m = score_mean(value, p->n, p->database, databases);
    int n = snprintf(cell, CELL, form, m.mean);

    if (!isnan(m.interval.low))
        snprintf(cell + n, CELL - (size_t)n, " [%.3f, %.3f]", m.interval.low, m.interval.high);
}

/* False if no record of the row has the number. */
static bool fill_row(char cells[COLUMNS][CELL], const struct reward_trainer *t, const struct comparison *row,
                     const struct lines *before, const struct lines *after)
{
    struct strings databases = { 0 };
    struct part p = part_of(t, row, before, after, &databases);

    if (p.n) {
        snprintf(cells[0], CELL, "%s", row->title);
        snprintf(cells[1], CELL, "%d", p.n);
        show_mean(cells[2], p.before, &p, databases.n, "%.3f");
        show_mean(cells[3], p.after, &p, databases.n, "%.3f");
        show_mean(cells[4], p.gain, &p, databases.n, "%+.3f");
        log_info("test, %s: %d records of %d databases, %s before, %s after, difference %s", cells[0], p.n, databases.n,
                 cells[2], cells[3], cells[4]);
    }
    release_part(&p);
    strings_release(&databases);
    return cells[0][0] != '\0';
}

static void add_table(struct report *r, const struct reward_trainer *t, const struct lines *before,
                      const struct lines *after)
{
    static const char *const columns[COLUMNS] = { "test records", "number", "before", "after", "difference" };
    char cells[ROWS][COLUMNS][CELL] = { 0 };
    const char *list[ROWS * COLUMNS];
    int n = 0;

    for (int i = 0; i < ROWS; i++)
        n += fill_row(cells[n], t, &rows[i], before, after);
    for (int i = 0; i < n * COLUMNS; i++)
        list[i] = cells[i / COLUMNS][i % COLUMNS];
    report_table(r, "means, with 95 % intervals by a bootstrap over databases", columns, COLUMNS, list, n);
}

/* Lines of the test records before and after training; none without test records. */
struct test_lines {
    struct lines before, after;
};

static void release_test(struct test_lines *w)
{
    release_lines(&w->before);
    release_lines(&w->after);
}

static int read_test(struct test_lines *w, const struct reward_trainer *t, struct error *err)
{
    *w = (struct test_lines){ 0 };
    if (!t->test.n)
        return 0;
    if (read_lines(&w->before, t, REWARD_BEFORE, err) == 0 && read_lines(&w->after, t, REWARD_AFTER, err) == 0)
        return 0;
    release_test(w);
    return -1;
}

static double mean_reward(const struct lines *l)
{
    double sum = 0;

    for (int i = 0; i < l->n; i++)
        sum += json_number_value(json_object_get(l->items[i], "reward"));
    return sum / l->n;
}

/* The rewards of the test records, or of validation without test records. */
static void tell_verdict(const struct reward_trainer *t, const struct test_lines *w, const char *metrics, char *text,
                         size_t size)
{
    const struct run_state *s = &t->lm.run.state;
    bool valid = t->lm.valid.n > 0;
    char change[REPORT_CHANGE];

    if (!w->after.n)
        lm_verdict(text, size, metrics, valid ? "valid_reward" : "reward",
                   valid ? "reward of validation" : "reward of sampled completions", valid ? s->best_step : s->step);
    else
        snprintf(text, size, "By training, the mean reward of %d test records %s.", w->after.n,
                 report_change(change, mean_reward(&w->before), mean_reward(&w->after)));
}

/* ---- the page ---- */

static void add_run(struct report *r, const struct reward_trainer *t)
{
    const struct run_state *s = &t->lm.run.state;
    char text[256];

    snprintf(text, sizeof text, "%d records, %lld completions of each; %lld steps, the best one is %lld.",
             t->lm.train.n, (long long)t->lm.set->answers, (long long)s->step, (long long)s->best_step);
    report_text(r, text);
}

static void add_curve(struct report *r, const char *metrics, const char *title, const char *name)
{
    struct series s = { 0 };

    if (series_read(&s, metrics, "train", name, NULL) == 0 && s.n) {
        struct curve curve = { .name = name, .x = s.step, .y = s.value, .n = s.n };
        report_curves(r, title, "step", title, &curve, 1);
    }
    series_release(&s);
}

static int write_page(const struct reward_trainer *t, const struct test_lines *w, struct error *err)
{
    static const char *const curves[][2] = { { "reward of samples", "reward" },
                                             { "reward of validation", "valid_reward" },
                                             { "recall of validation", "valid_recall" },
                                             { "precision of validation", "valid_precision" },
                                             { "wrong interpretations of a record", "valid_wrong" },
                                             { "tokens of a sample", "completion_tokens" },
                                             { "share of prompts with equal rewards", "equal_rewards" },
                                             { "norm of the gradient", "grad_norm" } };
    char path[4096], metrics[4096], verdict[256];
    struct report r;

    snprintf(path, sizeof path, "%s/report.html", t->lm.run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->lm.run.set.out);
    tell_verdict(t, w, metrics, verdict, sizeof verdict);
    if (report_open(&r, path, "language model trained by reward", verdict, err))
        return -1;
    add_run(&r, t);
    if (w->after.n)
        add_table(&r, t, &w->before, &w->after);
    for (int i = 0; i < ARRAY_LEN(curves); i++)
        add_curve(&r, metrics, curves[i][0], curves[i][1]);
    return report_close(&r, err);
}

int reward_report(const struct reward_trainer *t, struct error *err)
{
    struct test_lines w;
    int rc = read_test(&w, t, err);

    if (rc == 0)
        rc = write_page(t, &w, err);
    release_test(&w);
    return rc;
}
