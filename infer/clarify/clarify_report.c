/* Part of clarify_simulate.h: report.html, which draws what the last lines say and shows some transcripts. */
#include "data/report/report.h"
#include "infer/clarify/clarify_simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A field of an interval, {"mean", "low", "high", "n"}; NAN where it says null. */
static double part(const json_t *interval, const char *field)
{
    const json_t *x = json_object_get(interval, field);
    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static const json_t *metric(const json_t *line, const char *name)
{
    return json_object_get(json_object_get(line, "metrics"), name);
}

static const char *strategy_of(const json_t *line)
{
    return json_string_value(json_object_get(line, "strategy"));
}

/* Cells of a table, which strings keeps. */
struct report_cells {
    struct strings text;
    const char **list;
    int n, cap;
};

static void add_text(struct report_cells *c, const char *text)
{
    GROW(c->list, c->n, c->cap);
    c->list[c->n++] = strings_keep(&c->text, text);
}

static void add_number(struct report_cells *c, double x)
{
    char text[64] = "-";

    if (!isnan(x))
        snprintf(text, sizeof text, "%.4f", x);
    add_text(c, text);
}

static void add_count(struct report_cells *c, const json_t *count)
{
    add_text(c, json_is_integer(count) ? strings_printf(&c->text, "%lld", (long long)json_integer_value(count)) : "-");
}

/* "0.7500 [0.7100, 0.7900]" */
static void add_interval(struct report_cells *c, const json_t *interval)
{
    char text[128] = "-";

    if (!isnan(part(interval, "mean")) && isnan(part(interval, "low")))
        snprintf(text, sizeof text, "%.4f [-]", part(interval, "mean"));
    else if (!isnan(part(interval, "mean")))
        snprintf(text, sizeof text, "%.4f [%.4f, %.4f]", part(interval, "mean"), part(interval, "low"),
                 part(interval, "high"));
    add_text(c, text);
}

static void write_table(struct report *r, const char *title, struct report_cells *c, const char *const *columns,
                        int n_columns)
{
    report_table(r, title, columns, n_columns, c->list, c->n / n_columns);
    strings_release(&c->text);
    free(c->list);
}

/* Accuracy after each question, with intervals; strategies are often so close that one chart could not tell them apart.
 */
static void draw_accuracy(struct report *r, const json_t *lines, const char *measure, const char *title)
{
    int n = (int)json_array_size(lines), points = (int)json_array_size(metric(json_array_get(lines, 0), measure));
    struct curve *curves = xcalloc((size_t)n, sizeof *curves);
    double *values = xmalloc((size_t)(4 * n * points) * sizeof *values + 1), *at = values;

    for (int i = 0; i < n; i++) {
        const json_t *line = json_array_get(lines, (size_t)i);
        double *asked = at, *y = asked + points, *low = y + points, *high = low + points;
        for (int k = 0; k < points; k++) {
            const json_t *interval = json_array_get(metric(line, measure), (size_t)k);
            asked[k] = k;
            y[k] = part(interval, "mean");
            low[k] = part(interval, "low");
            high[k] = part(interval, "high");
        }
        curves[i] = (struct curve){ strategy_of(line), asked, y, points, low, high };
        at = high + points;
    }
    if (points)
        report_panels(r, title, "questions asked", curves, n);
    free(values);
    free(curves);
}

static void draw_area(struct report *r, const json_t *lines)
{
    const char *names[STRATEGIES];
    double mean[STRATEGIES], low[STRATEGIES], high[STRATEGIES];
    int n = (int)json_array_size(lines);

    for (int i = 0; i < n; i++) {
        const json_t *line = json_array_get(lines, (size_t)i), *area = metric(line, "area");
        names[i] = strategy_of(line);
        mean[i] = part(area, "mean");
        low[i] = part(area, "low");
        high[i] = part(area, "high");
    }
    report_bars(r, "Area under accuracy by questions", names, mean, low, high, n);
}

/* One row for each strategy: accuracy after 0, 1, ... questions. */
static void write_accuracy(struct report *r, const json_t *lines, const char *measure, const char *title)
{
    enum { SHOWN = 8 };
    static const char *const columns[SHOWN + 1] = { "strategy", "0 questions", "1", "2", "3", "4", "5", "6", "7" };
    size_t points = json_array_size(metric(json_array_get(lines, 0), measure)), i;
    struct report_cells c = { 0 };
    json_t *line;

    points = points < SHOWN ? points : SHOWN;
    json_array_foreach(lines, i, line)
    {
        add_text(&c, strategy_of(line));
        for (size_t k = 0; k < points; k++)
            add_interval(&c, json_array_get(metric(line, measure), k));
    }
    write_table(r, title, &c, columns, (int)points + 1);
}

static void write_measures(struct report *r, const json_t *lines)
{
    static const char *const columns[] = { "strategy",
                                           "dialogues",
                                           "area",
                                           "questions",
                                           "95 % ask at most",
                                           "changed nothing, share",
                                           "asked when unambiguous",
                                           "handed over",
                                           "ECE" };
    struct report_cells c = { 0 };
    json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        add_text(&c, strategy_of(line));
        add_count(&c, metric(line, "dialogues"));
        add_interval(&c, metric(line, "area"));
        add_interval(&c, metric(line, "questions"));
        add_count(&c, metric(line, "questions_95"));
        add_number(&c, part(json_object_get(line, "metrics"), "useless"));
        add_interval(&c, metric(line, "overhead"));
        add_interval(&c, metric(line, "handed_over"));
        add_number(&c, part(metric(line, "calibration"), "ece"));
    }
    write_table(r, "What it takes", &c, columns, ARRAY_LEN(columns));
}

/* What the chosen strategy is ahead of every other one by, on the same dialogues. */
static void write_differences(struct report *r, const json_t *lines)
{
    static const char *const columns[] = { "strategy", "area", "accuracy after 1 question", "questions" };
    struct report_cells c = { 0 };
    char title[128];
    json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        const json_t *by = json_object_get(json_object_get(line, "behind"), "by");
        if (!by)
            continue;
        add_text(&c, strategy_of(line));
        add_interval(&c, json_object_get(by, "area"));
        add_interval(&c, json_array_get(json_object_get(by, "accuracy"), 1));
        add_interval(&c, json_object_get(by, "questions"));
    }
    snprintf(title, sizeof title, "%s, less the strategy", strategy_of(json_array_get(lines, 0)));
    write_table(r, title, &c, columns, ARRAY_LEN(columns));
}

static void write_transcript(struct report *r, const json_t *t)
{
    static const char *const columns[] = { "question", "options", "answer", "bits" };
    const json_t *dialogue = json_object_get(t, "dialogue"), *turns = json_object_get(dialogue, "turns"), *turn;
    struct report_cells c = { 0 };
    size_t i, k;
    json_t *option;
    char title[640];

    json_array_foreach(turns, i, turn)
    {
        struct report_cells words = { 0 };
        const char *chosen = json_string_value(json_object_get(turn, "chosen"));
        add_text(&c, json_string_value(json_object_get(turn, "text")));
        add_text(&words, "");
        json_array_foreach(json_object_get(turn, "options"), k, option)
        {
            words.list[0] = strings_printf(&words.text, "%s%s%s", words.list[0], k ? "; " : "",
                                           json_string_value(json_object_get(option, "text")));
        }
        add_text(&c, words.list[0]);
        add_text(&c, chosen ? chosen : json_string_value(json_object_get(turn, "answer")));
        add_number(&c, json_number_value(json_object_get(turn, "eig")));
        strings_release(&words.text);
        free(words.list);
    }
    snprintf(title, sizeof title, "\"%.500s\"", json_string_value(json_object_get(t, "question")));
    write_table(r, title, &c, columns, ARRAY_LEN(columns));
    struct strings text = { 0 };
    report_text(r, strings_printf(&text, "Meant: %s", json_string_value(json_object_get(t, "gold"))));
    report_text(r, strings_printf(&text, "Found%s: %s",
                                  json_is_true(json_object_get(dialogue, "right"))         ? ""
                                  : json_is_true(json_object_get(dialogue, "handed_over")) ? " nothing, handed over"
                                                                                           : ", wrongly",
                                  json_string_value(json_object_get(dialogue, "best"))));
    strings_release(&text);
}

static void write_parts(struct report *r, const struct simulator *s, const json_t *lines)
{
    const json_t *own = json_array_get(lines, 0), *t;
    struct reliability bins = simulation_reliability(&s->by[s->settings->rules.strategy]);
    struct strings text = { 0 };
    size_t i;

    report_text(
        r, strings_printf(&text,
                          "Candidates: %s.  Users slip with %g and do not know with %g; %g slips are expected.  "
                          "The gold is among the candidates in %.4f of %d dialogues, which bounds every "
                          "strategy; %d gold statements could not be read or run.  In brackets: 95 %% over "
                          "records.",
                          s->request->candidates, s->request->user_noise, s->request->user_unknown, s->settings->noise,
                          part(metric(own, "coverage"), "mean"), (int)json_integer_value(metric(own, "dialogues")),
                          (int)json_integer_value(metric(own, "gold_errors"))));
    draw_accuracy(r, lines, "accuracy", "Accuracy by questions");
    write_accuracy(r, lines, "accuracy", "Accuracy");
    if (metric(own, "execution_accuracy"))
        write_accuracy(r, lines, "execution_accuracy", "Execution accuracy");
    draw_area(r, lines);
    write_measures(r, lines);
    write_differences(r, lines);
    report_reliability(
        r, strings_printf(&text, "Confidence at the end and share of right outputs, %s", strategy_of(own)), &bins);
    report_heading(r, "Transcripts");
    json_array_foreach(s->transcripts, i, t)
    {
        write_transcript(r, t);
    }
    strings_release(&text);
}

int simulator_report(const struct simulator *s, const json_t *lines, struct error *err)
{
    struct report r;

    if (report_open(&r, s->request->report, "ambit clarify: simulated dialogues", err))
        return -1;
    write_parts(&r, s, lines);
    int rc = report_close(&r, err);
    report_abort(&r);
    return rc;
}
