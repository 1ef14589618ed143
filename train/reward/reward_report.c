/* Part of reward_trainer.h: the report, and what training was worth. */
#include "data/report/report.h"
#include "data/score/score.h"
#include "data/util/json.h"
#include "data/util/log.h"
#include "train/reward/reward_trainer_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 5, CLASSES = 3, CELL = 64 };

/* Rewards of the test records, in their order. */
static double *read_rewards(const struct reward_trainer *t, const char *name, struct error *err)
{
    double *rewards = xcalloc((size_t)t->test.n + 1, sizeof *rewards);
    char path[4096];
    json_t *line;
    int n = 0, rc;

    snprintf(path, sizeof path, "%s/%s", t->lm.run.set.out, name);
    struct json_reader *in = json_reader_open(path, err);
    while (in && n < t->test.n && (rc = json_reader_next(in, &line, err)) > 0) {
        rc = json_get_real(line, "reward", -HUGE_VAL, HUGE_VAL, &rewards[n], json_reader_where(in), err);
        json_decref(line);
        if (rc)
            break;
        n++;
    }
    if (in && n < t->test.n && rc == 0)
        error_set(err, EXIT_CODE_DATA, "%s: expected a line for each of %d test records, got %d", path, t->test.n, n);
    json_reader_close(in);
    if (in && n == t->test.n)
        return rewards;
    free(rewards);
    return NULL;
}

/* Some of the test records. */
struct part {
    double *before, *after, *gain;
    int *database, n;
};

/* What a bootstrap draws as a whole: all altered copies of a database are one. */
static const char *database_of(const json_t *record)
{
    const char *source = json_string_value(json_object_get(record, "source_db"));
    return source ? source : json_string_value(json_object_get(record, "db_id"));
}

/* Of all, of those with something missing, of the others; databases are numbered as they come. */
static struct part part_of(const struct reward_trainer *t, int class, const double *before, const double *after,
                           struct strings *databases)
{
    size_t n = (size_t)t->test.n + 1;
    struct part p = { xmalloc(n * sizeof(double)), xmalloc(n * sizeof(double)), xmalloc(n * sizeof(double)),
                      xmalloc(n * sizeof(int)), 0 };

    for (int i = 0; i < t->test.n; i++) {
        const json_t *record = t->test.items[i].record;
        if (class && (reward_missing(record) > 0) != (class == 1))
            continue;
        p.before[p.n] = before[i];
        p.after[p.n] = after[i];
        p.gain[p.n] = after[i] - before[i];
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

static void fill_row(char cells[COLUMNS][CELL], const struct reward_trainer *t, int class, const double *before,
                     const double *after)
{
    static const char *const names[CLASSES] = { "all", "some readings missing", "none missing" };
    struct strings databases = { 0 };
    struct part p = part_of(t, class, before, after, &databases);

    snprintf(cells[0], CELL, "%s", names[class]);
    snprintf(cells[1], CELL, "%d", p.n);
    if (p.n) {
        show_mean(cells[2], p.before, &p, databases.n, "%.3f");
        show_mean(cells[3], p.after, &p, databases.n, "%.3f");
        show_mean(cells[4], p.gain, &p, databases.n, "%+.3f");
    }
    log_info("test, %s: %d records of %d databases, reward %s before, %s after, %s in pairs", cells[0], p.n,
             databases.n, cells[2], cells[3], cells[4]);
    release_part(&p);
    strings_release(&databases);
}

static int add_test(struct report *r, const struct reward_trainer *t, struct error *err)
{
    static const char *const columns[COLUMNS] = { "test records", "number", "before", "after", "difference" };
    char cells[CLASSES][COLUMNS][CELL] = { 0 };
    const char *list[CLASSES * COLUMNS];
    double *before = read_rewards(t, REWARD_BEFORE, err), *after = before ? read_rewards(t, REWARD_AFTER, err) : NULL;

    if (after) {
        for (int i = 0; i < CLASSES; i++)
            fill_row(cells[i], t, i, before, after);
        for (int i = 0; i < CLASSES * COLUMNS; i++)
            list[i] = cells[i / COLUMNS][i % COLUMNS];
        report_table(r, "reward, with 95 % intervals by a bootstrap over databases", columns, COLUMNS, list, CLASSES);
    }
    free(before);
    free(after);
    return after ? 0 : -1;
}

static void add_run(struct report *r, const struct reward_trainer *t)
{
    const struct run_state *s = &t->lm.run.state;
    char text[256];

    snprintf(text, sizeof text, "%d records, %lld answers to each; %lld steps, the best one is %lld.", t->lm.train.n,
             (long long)t->lm.set->answers, (long long)s->step, (long long)s->best_step);
    report_text(r, text);
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

int reward_report(const struct reward_trainer *t, struct error *err)
{
    static const char *const curves[][2] = { { "reward of what was drawn", "reward" },
                                             { "reward of validation", "valid_reward" },
                                             { "readings found, of those missing", "valid_recall" },
                                             { "wrong readings a record", "valid_wrong" },
                                             { "tokens of an answer", "answer_tokens" },
                                             { "share of prompts whose answers are worth the same", "no_spread" },
                                             { "norm of the gradient", "grad_norm" } };
    char path[4096], metrics[4096];
    struct report r;

    snprintf(path, sizeof path, "%s/report.html", t->lm.run.set.out);
    snprintf(metrics, sizeof metrics, "%s/metrics.jsonl", t->lm.run.set.out);
    if (report_open(&r, path, "infilling model, by reward", err))
        return -1;
    add_run(&r, t);
    if (t->test.n && add_test(&r, t, err)) {
        report_abort(&r);
        return -1;
    }
    for (int i = 0; i < ARRAY_LEN(curves); i++)
        add_curve(&r, metrics, curves[i][0], curves[i][1]);
    return report_close(&r, err);
}
