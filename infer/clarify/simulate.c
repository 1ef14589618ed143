#include "infer/clarify/simulate.h"

#include "data/base/report.h"
#include "data/eval/candidate_list.h"
#include "infer/clarify/recall.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A gold statement: its candidates and its value of each attribute.  A candidate is the gold by one of three criteria.
 * It has the same form; or the record marks it ("gold": [0] beside its "sql"); or both give the same results on the
 * database and its copies. */
struct truth {
    int candidate; /* candidate that is the gold, by the first criterion that finds one; -1: none */
    bool *same;    /* [n] candidates that are the gold */
    bool *gives;   /* [n] candidates with the gold's rows on the database itself; all false without one */
    int *values;   /* [n_attributes]; -1: no candidate has this value */
};

static const struct slot *slot_named(const struct slots *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->list[i].name, name) == 0)
            return &s->list[i];
    return NULL;
}

static bool same_value(const struct slot *s, int a, int b)
{
    const char *x = s->values[a], *y = s->values[b];
    return x == y || (x && y && strcmp(x, y) == 0);
}

/* Value of a candidate that equals the gold statement, number n, at the attribute's slots; -1: none. */
static int value_like_gold(const struct slots *with_gold, const struct attribute *v, const struct split *split, int n)
{
    const struct slot *slot = v->slot ? slot_named(with_gold, v->slot->name) : NULL;
    const struct slot *second = v->second ? slot_named(with_gold, v->second->name) : slot;

    if (!slot || !second)
        return -1;
    for (int i = 0; i < n; i++)
        if (same_value(slot, i, n) && same_value(second, i, n))
            return split->value[i];
    return -1;
}

static int first_of(const bool *is, int n)
{
    for (int i = 0; i < n; i++)
        if (is[i])
            return i;
    return -1;
}

/* Finds candidates of the gold's form and those that the record marks.  All of them are the gold. */
static void find_by_text(struct truth *t, const struct clarify_case *c, const json_t *record, size_t gold,
                         const struct form *form)
{
    for (int i = 0; i < c->n_candidates; i++)
        if (strcmp(c->candidates[i].form->text, form->text) == 0)
            t->same[c->candidates[i].owner] = true;
    t->candidate = first_of(t->same, c->prior.n);
    for (int i = 0; i < c->n_candidates; i++)
        if (candidate_is_marked(record, c->candidates[i].number, gold))
            t->same[c->candidates[i].owner] = true;
    if (t->candidate < 0)
        t->candidate = first_of(t->same, c->prior.n);
}

static int find_by_results(struct truth *t, struct clarify_case *c, const char *sql, const struct form *form,
                           struct error *err)
{
    struct exec_signature gold;
    int rc = 0, copy;

    equivalence_run(&gold, &c->equivalence, sql, clarify_is_ordered(form));
    if (gold.result.status != EXEC_OK)
        rc = error_set(err, EXIT_CODE_DATA, "does not run: %s", gold.result.message);
    for (int i = 0; i < c->prior.n && rc == 0; i++)
        if (c->signatures[i]) {
            t->same[i] =
                t->same[i] || equivalence_compare(&c->equivalence, c->signatures[i], &gold, &copy) == VERDICT_SAME;
            t->gives[i] = exec_signature_gives(c->signatures[i], &gold);
        }
    if (t->candidate < 0)
        t->candidate = first_of(t->same, c->prior.n);
    if (t->candidate < 0 && c->auto_choice)
        t->candidate = first_of(t->gives, c->prior.n);
    exec_signature_release(&gold);
    return rc;
}

/* Sets the values of a gold that is not a candidate, by candidates that equal it at an attribute. */
static void compare_values(struct truth *t, const struct clarify_case *c, const struct form *form)
{
    const struct form *forms[POSTERIOR_MAX + 1];
    struct slots with_gold;
    int n = c->prior.n;

    memcpy(forms, c->forms, (size_t)n * sizeof *forms);
    forms[n] = form;
    slots_extract(&with_gold, forms, n + 1, c->schema);
    for (int v = 0; v < c->attributes.n; v++)
        t->values[v] = value_like_gold(&with_gold, &c->attributes.list[v], &c->attributes.splits[v], n);
    slots_release(&with_gold);
}

/* Reads the record's gold statement `gold`.  Returns -1 with EXIT_CODE_DATA when it cannot be read or does not run on
 * the database.  The caller calls truth_release(). */
static int truth_read(struct truth *t, struct clarify_case *c, const json_t *record, size_t gold, struct arena *scratch,
                      struct error *err)
{
    const char *sql = json_string_value(json_array_get(json_object_get(record, "gold"), gold));

    *t = (struct truth){ .candidate = -1 };
    if (!sql)
        return error_set(err, EXIT_CODE_DATA, "not a string");
    const struct form *form = form_of_text(&c->store, sql, c->schema, scratch, err);
    if (!form)
        return -1;
    t->same = xcalloc((size_t)c->prior.n, sizeof *t->same);
    t->gives = xcalloc((size_t)c->prior.n, sizeof *t->gives);
    t->values = xcalloc((size_t)c->attributes.n, sizeof *t->values);
    find_by_text(t, c, record, gold, form);
    if (c->equivalence.db && find_by_results(t, c, sql, form, err))
        return -1;
    for (int v = 0; v < c->attributes.n && t->candidate >= 0; v++)
        t->values[v] = c->attributes.splits[v].value[t->candidate];
    if (t->candidate < 0)
        compare_values(t, c, form);
    return 0;
}

static void truth_release(struct truth *t)
{
    free(t->same);
    free(t->gives);
    free(t->values);
    *t = (struct truth){ 0 };
}

/* Option of a user without errors; -1: none of these. */
static int honest_option(const struct question_view *view, const struct truth *t, const struct dialogue *d)
{
    int value = t->values[view->attribute], option = value < 0 ? -1 : question_view_option(view, value);
    double mass[POSTERIOR_MAX];

    if (value < 0 || option >= 0 || !view->other)
        return option;
    posterior_masses(mass, &d->now, &d->attributes[view->attribute]);
    return mass[value] > 0 ? view->n_shown : -1;
}

struct answer simulated_answer(const struct simulated_user *u, struct rng *rng, const struct question_view *view,
                               int honest)
{
    int n = view->split.n_values;

    if ((double)rng_uniform(rng) < u->unknown)
        return (struct answer){ .kind = ANSWER_UNKNOWN };
    if ((double)rng_uniform(rng) >= u->noise)
        return (struct answer){ honest < 0 ? ANSWER_NONE : ANSWER_VALUE, honest };
    int slip = (int)rng_below(rng, (uint32_t)(honest < 0 ? n : n - 1));
    return (struct answer){ ANSWER_VALUE, honest >= 0 && slip >= honest ? slip + 1 : slip };
}

static json_t *turn_json(struct clarify_case *c, const struct question_view *view, struct answer a)
{
    json_t *o = clarify_question_json(c, view);
    json_t *chosen = json_array_get(json_object_get(o, "options"), a.kind == ANSWER_VALUE ? (size_t)a.value : SIZE_MAX);

    json_object_set_new(o, "answer", json_string(answer_kind_name(a.kind)));
    if (chosen)
        json_object_set(o, "chosen", json_object_get(chosen, "text"));
    json_object_set_new(o, "eig", json_real(view->gain));
    return o;
}

/* Gives an answer.  Returns false when it contradicts the earlier ones. */
static bool take_turn(struct outcome *o, struct clarify_case *c, const struct truth *t,
                      const struct question_view *view, struct answer a)
{
    struct dialogue *d = &c->dialogue;
    int before = posterior_best(&d->now);

    if (dialogue_answer(d, view, a)) {
        o->contradicted = true;
        return false;
    }
    int best = posterior_best(&d->now);
    o->turns++;
    o->useless += best == before;
    o->right[o->turns] = t->same[best] && d->now.p_none <= d->now.p[best];
    o->gives[o->turns] = t->gives[best] && d->now.p_none <= d->now.p[best];
    return true;
}

/* Answers questions from memory.  The user takes a wrong answer back, so that its question is asked. */
static void recall(struct outcome *o, struct clarify_case *c, const struct truth *t)
{
    json_t *wrong = json_array(), *item;
    struct question_view view;
    int option;

    for (int v = 0; v < c->attributes.n; v++) {
        if (!(item = recall_at(c, v, &view, &option)))
            continue;
        if (honest_option(&view, t, &c->dialogue) != option)
            recall_append(wrong, item);
        else if (dialogue_recall(&c->dialogue, &view, option, recall_probability(item)))
            o->recalled++;
    }
    o->taken_back = (int)json_array_size(wrong);
    json_decref(wrong);
}

/* The choice behind an answer, for the memory; or NULL. */
static json_t *choice_of(struct clarify_case *c, const struct question_view *view, struct answer a)
{
    struct question q;

    if (a.kind != ANSWER_VALUE)
        return NULL;
    clarify_question_write(&q, c, view);
    return recall_choice_json(c, view, &q, a.value);
}

/* Runs one dialogue of c about `truth`.  Appends its turns to the array `turns` and its choices to `choices`, each of
 * which may be NULL. */
static void simulate(struct outcome *o, struct clarify_case *c, const struct truth *t, const struct simulated_user *u,
                     json_t *turns, json_t *choices)
{
    struct rng rng = { .seed = u->seed };
    struct dialogue *d = &c->dialogue;
    struct question_view view;
    enum stop_reason why;

    *o = (struct outcome){ .covered = t->candidate >= 0, .executed = c->equivalence.db };
    o->reachable = first_of(t->gives, c->prior.n) >= 0;
    recall(o, c, t);
    o->right[0] = t->same[posterior_best(&d->now)];
    o->gives[0] = t->gives[posterior_best(&d->now)];
    while ((why = dialogue_next(d, &view)) == STOP_NOT) {
        struct answer a = simulated_answer(u, &rng, &view, honest_option(&view, t, d));
        if (turns)
            json_array_append_new(turns, turn_json(c, &view, a));
        if (choices)
            json_array_append_new(choices, choice_of(c, &view, a));
        if (!take_turn(o, c, t, &view, a))
            break;
    }
    o->escalated = why == STOP_ESCALATE;
    o->confidence = d->now.p[posterior_best(&d->now)];
    for (int k = o->turns + 1; k <= DIALOGUE_MAX_TURNS; k++) {
        o->right[k] = o->right[o->turns];
        o->gives[k] = o->gives[o->turns];
    }
}

enum { ROUNDS = 1000 };

static double mean(struct scored s, const void *arg)
{
    double sum = 0;

    (void)arg;
    for (int i = 0; i < s.n; i++)
        sum += s.score[i];
    return s.n ? sum / s.n : NAN;
}

typedef double measure_fn(const struct outcome *o, int turns);

static double is_right(const struct outcome *o, int turns)
{
    return o->right[turns];
}

static double area(const struct outcome *o, int turns)
{
    double sum = 0;
    for (int k = 0; k <= turns; k++)
        sum += o->right[k];
    return sum / (turns + 1);
}

static double gives(const struct outcome *o, int turns)
{
    return o->executed ? o->gives[turns] : (double)NAN;
}

static double gives_area(const struct outcome *o, int turns)
{
    double sum = 0;
    for (int k = 0; k <= turns; k++)
        sum += gives(o, k);
    return sum / (turns + 1);
}

static double is_reachable(const struct outcome *o, int turns)
{
    (void)turns;
    return o->executed ? o->reachable : (double)NAN;
}

static double questions(const struct outcome *o, int turns)
{
    (void)turns;
    return o->turns;
}

static double is_covered(const struct outcome *o, int turns)
{
    (void)turns;
    return o->covered;
}

static double is_escalated(const struct outcome *o, int turns)
{
    (void)turns;
    return o->escalated;
}

static double is_contradicted(const struct outcome *o, int turns)
{
    (void)turns;
    return o->contradicted;
}

static double overhead(const struct outcome *o, int turns)
{
    (void)turns;
    return o->unambiguous ? (double)o->turns : (double)NAN;
}

static json_t *number(double x)
{
    return isnan(x) ? json_null() : json_real(round(x * 1e6) / 1e6);
}

/* A measure of a dialogue, minus that of the other strategy if there is one; NAN: unknown. */
static double measured(measure_fn *measure, int turns, const struct outcome *o, const struct outcome *other)
{
    return measure(o, turns) - (other ? measure(other, turns) : 0);
}

/* Mean over the dialogues with this measure.  The interval resamples records. */
static json_t *mean_json(const struct simulation *s, const struct simulation *other, measure_fn *measure, int turns)
{
    double *values = xmalloc((size_t)s->n * sizeof *values + 1);
    uint8_t *labels = xcalloc((size_t)s->n + 1, 1);
    int *group = xmalloc((size_t)s->n * sizeof *group + 1), n = 0, groups = 0, record = -1;

    for (int i = 0; i < s->n; i++) {
        values[n] = measured(measure, turns, &s->list[i], other ? &other->list[i] : NULL);
        if (isnan(values[n]))
            continue;
        groups += s->list[i].record != record;
        record = s->list[i].record;
        group[n++] = groups - 1;
    }
    struct scored all = { values, labels, n };
    struct bootstrap how = { group, groups, ROUNDS, 0.95, 1 };
    struct interval between = n ? stats_bootstrap(all, mean, NULL, &how) : (struct interval){ NAN, NAN };
    json_t *o = json_pack("{s:o, s:o, s:o, s:i}", "mean", number(mean(all, NULL)), "low", number(between.low), "high",
                          number(between.high), "n", n);
    free(values);
    free(labels);
    free(group);
    return o;
}

static json_t *curve_json(const struct simulation *s, const struct simulation *other, measure_fn *measure,
                          int max_turns)
{
    json_t *curve = json_array();

    for (int k = 0; k <= max_turns; k++)
        json_array_append_new(curve, mean_json(s, other, measure, k));
    return curve;
}

static int compare_numbers(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static json_t *percentile_95(const struct simulation *s)
{
    int *turns = xmalloc((size_t)s->n * sizeof *turns + 1), n = 0;

    for (int i = 0; i < s->n; i++)
        turns[n++] = s->list[i].turns;
    if (n)
        qsort(turns, (size_t)n, sizeof *turns, compare_numbers);
    json_t *o = n ? json_integer(turns[(n * 95 + 99) / 100 - 1]) : json_null();
    free(turns);
    return o;
}

/* Share of questions that did not change the output. */
static json_t *useless_share(const struct simulation *s)
{
    double asked = 0, useless = 0;

    for (int i = 0; i < s->n; i++) {
        asked += s->list[i].turns;
        useless += s->list[i].useless;
    }
    return number(asked > 0 ? useless / asked : NAN);
}

/* The caller frees both arrays. */
static struct scored confidences(const struct simulation *s)
{
    double *confidence = xmalloc((size_t)s->n * sizeof *confidence + 1);
    uint8_t *right = xmalloc((size_t)s->n + 1);
    int n = 0;

    for (int i = 0; i < s->n; i++) {
        confidence[n] = fmin(1, s->list[i].confidence);
        right[n++] = s->list[i].right[s->list[i].turns];
    }
    return (struct scored){ confidence, right, n };
}

static void release_scored(struct scored *s)
{
    free((void *)(uintptr_t)s->score);
    free((void *)(uintptr_t)s->label);
}

/* Reliability of the final confidence. */
static struct reliability simulation_reliability(const struct simulation *s)
{
    struct scored all = confidences(s);
    struct reliability bins = stats_reliability(all);

    release_scored(&all);
    return bins;
}

static json_t *calibration(const struct simulation *s)
{
    struct scored all = confidences(s);
    struct reliability bins = stats_reliability(all);
    json_t *list = json_array();

    for (int b = 0; b < STATS_BINS; b++)
        if (bins.n[b])
            json_array_append_new(list, json_pack("{s:i, s:o, s:o}", "n", bins.n[b], "confidence",
                                                  number(bins.confidence[b]), "accuracy", number(bins.accuracy[b])));
    json_t *o = json_pack("{s:o, s:o, s:o}", "ece", number(all.n ? stats_ece(&bins) : NAN), "brier",
                          number(all.n ? stats_brier(all) : NAN), "bins", list);
    release_scored(&all);
    return o;
}

/* Metrics of all dialogues, with 95 % intervals over records. */
static json_t *simulation_metrics(const struct simulation *s, int max_turns)
{
    bool executed = s->n && s->list[0].executed;
    json_t *o = json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "dialogues", s->n,
                          "gold_errors", s->gold_errors, "accuracy", curve_json(s, NULL, is_right, max_turns), "area",
                          mean_json(s, NULL, area, max_turns), "questions", mean_json(s, NULL, questions, 0),
                          "questions_95", percentile_95(s), "coverage", mean_json(s, NULL, is_covered, 0), "escalated",
                          mean_json(s, NULL, is_escalated, 0), "contradicted", mean_json(s, NULL, is_contradicted, 0),
                          "useless", useless_share(s), "overhead", mean_json(s, NULL, overhead, 0), "calibration",
                          calibration(s));
    if (executed) {
        json_object_set_new(o, "execution_accuracy", curve_json(s, NULL, gives, max_turns));
        json_object_set_new(o, "execution_area", mean_json(s, NULL, gives_area, max_turns));
        json_object_set_new(o, "execution_coverage", mean_json(s, NULL, is_reachable, 0));
    }
    return o;
}

/* Differences of s to `other`, on the same golds: accuracy after each question, area, number of questions. */
static json_t *simulation_difference(const struct simulation *s, const struct simulation *other, int max_turns)
{
    CHECK(s->n == other->n, "%d and %d dialogues", s->n, other->n);
    json_t *o = json_pack("{s:o, s:o, s:o}", "accuracy", curve_json(s, other, is_right, max_turns), "area",
                          mean_json(s, other, area, max_turns), "questions", mean_json(s, other, questions, 0));
    if (s->n && s->list[0].executed)
        json_object_set_new(o, "execution_area", mean_json(s, other, gives_area, max_turns));
    return o;
}

static void simulation_release(struct simulation *s)
{
    free(s->list);
    *s = (struct simulation){ 0 };
}

/* A field of an interval {"mean", "low", "high", "n"}; NAN for null. */
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

/* Cells of a table; `text` owns them. */
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

/* Draws accuracy by questions with intervals, in one panel a strategy, since the curves are often close. */
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
                                           "escalated",
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
        add_interval(&c, metric(line, "escalated"));
        add_number(&c, part(metric(line, "calibration"), "ece"));
    }
    write_table(r, "What it takes", &c, columns, ARRAY_LEN(columns));
}

/* Differences of the chosen strategy to the others, on the same dialogues. */
static void write_differences(struct report *r, const json_t *lines)
{
    static const char *const columns[] = { "strategy", "area", "accuracy after 1 question", "questions" };
    struct report_cells c = { 0 };
    char title[128];
    json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
    {
        const json_t *by = json_object_get(json_object_get(line, "difference"), "by");
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
                                  json_is_true(json_object_get(dialogue, "correct"))     ? ""
                                  : json_is_true(json_object_get(dialogue, "escalated")) ? " nothing, escalated"
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

/* The strategy whose accuracy by questions has the largest area. */
static const json_t *best_line(const json_t *lines)
{
    const json_t *best = json_array_get(lines, 0), *line;
    size_t i;

    json_array_foreach((json_t *)(uintptr_t)lines, i, line)
    {
        if (part(metric(line, "area"), "mean") > part(metric(best, "area"), "mean"))
            best = line;
    }
    return best;
}

static void tell_verdict(const json_t *lines, char *text, size_t size)
{
    const json_t *own = json_array_get(lines, 0), *best = best_line(lines), *curve = metric(own, "accuracy");
    size_t last = json_array_size(curve) ? json_array_size(curve) - 1 : 0;
    double from = part(json_array_get(curve, 0), "mean"), to = part(json_array_get(curve, last), "mean");
    char change[REPORT_CHANGE];

    if (isnan(from) || isnan(to)) {
        snprintf(text, size, "No dialogue was held: there is no result.");
        return;
    }
    int n =
        snprintf(text, size, "With at most %zu questions by the strategy %s, accuracy %s; %.2f are asked on average.",
                 last, strategy_of(own), report_change(change, from, to), part(metric(own, "questions"), "mean"));
    if (json_array_size(lines) > 1)
        n += snprintf(text + n, size - (size_t)n,
                      " Of %zu strategies, %s has the largest area under accuracy by questions, %.3f",
                      json_array_size(lines), strategy_of(best), part(metric(best, "area"), "mean"));
    if (best != own)
        n += snprintf(text + n, size - (size_t)n, "; %s has %.3f", strategy_of(own), part(metric(own, "area"), "mean"));
    snprintf(text + n, size - (size_t)n, json_array_size(lines) > 1 ? "." : "");
}

static int simulator_report(const struct simulator *s, const json_t *lines, struct error *err)
{
    char verdict[512];
    struct report r;

    tell_verdict(lines, verdict, sizeof verdict);
    if (report_open(&r, s->request->report, "ambit clarify: simulated dialogues", verdict, err))
        return -1;
    write_parts(&r, s, lines);
    int rc = report_close(&r, err);
    report_abort(&r);
    return rc;
}

struct simulated_user simulated_user_of(const struct clarify_request *q, int64_t record, size_t gold)
{
    const uint64_t key[] = { (uint64_t)q->seed, (uint64_t)record, gold };
    return (struct simulated_user){ q->user_noise, q->user_unknown, hash_bytes(HASH_START, key, sizeof key) };
}

/* Runs one dialogue; appends its turns to `turns`, which may be NULL. */
static struct outcome talk(struct simulator *s, struct clarify_case *k, enum strategy strategy, const struct truth *t,
                           const struct simulated_user *user, json_t *turns, json_t *choices)
{
    struct dialogue_rules rules = s->settings->rules;
    struct outcome o;

    rules.strategy = strategy;
    dialogue_release(&k->dialogue);
    dialogue_init(&k->dialogue, &rules, k->attributes.splits, k->attributes.n, &k->prior);
    simulate(&o, k, t, user, turns, choices);
    return o;
}

static void keep(struct simulator *s, enum strategy strategy, struct outcome o, int64_t record, bool unambiguous)
{
    struct simulation *list = &s->by[strategy];

    o.record = (int)record;
    o.unambiguous = unambiguous;
    GROW(list->list, list->n, list->cap);
    list->list[list->n++] = o;
}

/* Keeps a uniform sample of the dialogues with questions. */
static void remember(struct simulator *s, const json_t *record, size_t gold, json_t *dialogue)
{
    if (json_array_size(json_object_get(dialogue, "turns")) == 0)
        return;
    uint32_t place = rng_below(&s->rng, (uint32_t)++s->heard);
    if (json_array_size(s->transcripts) >= TRANSCRIPTS && place >= TRANSCRIPTS)
        return;
    json_t *o = json_pack("{s:O?, s:O?, s:O, s:O}", "id", json_object_get(record, "id"), "question",
                          json_object_get(record, "question"), "gold",
                          json_array_get(json_object_get(record, "gold"), gold), "dialogue", dialogue);
    if (json_array_size(s->transcripts) < TRANSCRIPTS)
        json_array_append_new(s->transcripts, o);
    else
        json_array_set_new(s->transcripts, place, o);
}

/* Indices of the candidates that give the gold's rows, or are the gold. */
static json_t *right_groups(const struct truth *t, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        if (t->gives[i] || t->same[i])
            json_array_append_new(list, json_integer(i));
    return list;
}

/* Runs the request's strategy last, so that the case holds its dialogue. */
static json_t *talk_all(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number, size_t gold,
                        const struct truth *t, json_t *choices)
{
    const struct simulated_user user = simulated_user_of(s->request, number, gold);
    bool unambiguous = json_is_false(json_object_get(record, "ambiguous"));
    enum strategy own = s->settings->rules.strategy;
    json_t *turns = json_array();

    for (int i = 0; i < STRATEGIES && s->request->report; i++)
        if (i != (int)own)
            keep(s, (enum strategy)i, talk(s, k, (enum strategy)i, t, &user, NULL, NULL), number, unambiguous);
    struct outcome o = talk(s, k, own, t, &user, turns, choices);
    keep(s, own, o, number, unambiguous);
    json_t *dialogue = json_pack("{s:I, s:b, s:b, s:b, s:f, s:s, s:o}", "gold", (json_int_t)gold, "covered", o.covered,
                                 "correct", o.right[o.turns], "escalated", o.escalated, "confidence", o.confidence,
                                 "best", k->sql[posterior_best(&k->dialogue.now)], "turns", turns);
    if (choices) {
        json_object_set_new(dialogue, "recalled", json_integer(o.recalled));
        json_object_set_new(dialogue, "taken_back", json_integer(o.taken_back));
    }
    if (o.executed)
        json_object_set_new(dialogue, "execution_match", json_boolean(o.gives[o.turns]));
    if (k->auto_choice)
        json_object_set_new(dialogue, "right_groups", right_groups(t, k->prior.n));
    if (s->request->report)
        remember(s, record, gold, dialogue);
    return dialogue;
}

/* Runs the dialogues about a gold statement, and teaches the memory the answers. */
static int record_gold(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number, size_t gold,
                       const struct truth *t, json_t *list, struct error *err)
{
    struct choice_memory *m = s->settings->memory;
    json_t *choices = m ? json_array() : NULL;
    int rc = 0;

    json_array_append_new(list, talk_all(s, k, record, number, gold, t, choices));
    for (size_t i = 0; i < json_array_size(choices) && rc == 0; i++)
        rc = recall_learn(m, k, json_array_get(choices, i), err);
    json_decref(choices);
    return rc;
}

int simulator_record(struct simulator *s, struct clarify_case *k, const json_t *record, int64_t number,
                     struct arena *scratch, json_t *out, const char *where, struct error *err)
{
    const json_t *golds = json_get_array(record, "gold", where, err);
    json_t *list = json_array();
    int rc = golds ? 0 : -1;

    json_object_set_new(out, "dialogues", list);
    if (k->auto_choice)
        json_object_set(out, "auto", k->auto_choice);
    for (size_t i = 0; i < json_array_size(golds) && rc == 0; i++) {
        struct error bad = { 0 };
        struct truth t;
        if (truth_read(&t, k, record, i, scratch, &bad) == 0) {
            rc = record_gold(s, k, record, number, i, &t, list, err);
        } else {
            s->by[s->settings->rules.strategy].gold_errors++;
            json_array_append_new(list,
                                  json_pack("{s:I, s:o}", "gold", (json_int_t)i, "error", json_message(bad.text)));
        }
        truth_release(&t);
    }
    return rc;
}

static json_t *metrics_json(const struct simulator *s, enum strategy strategy)
{
    const struct clarify_request *q = s->request;
    enum strategy own = s->settings->rules.strategy;
    int turns = s->settings->rules.max_turns;
    json_t *o = json_pack("{s:s, s:f, s:f, s:f, s:i, s:o}", "strategy", strategy_name(strategy), "noise",
                          s->settings->noise, "user_noise", q->user_noise, "user_unknown", q->user_unknown, "max_turns",
                          turns, "metrics", simulation_metrics(&s->by[strategy], turns));

    if (strategy != own)
        json_object_set_new(o, "difference",
                            json_pack("{s:s, s:o}", "strategy", strategy_name(own), "by",
                                      simulation_difference(&s->by[own], &s->by[strategy], turns)));
    return o;
}

int simulator_finish(struct simulator *s, struct out_file *out, struct error *err)
{
    enum strategy own = s->settings->rules.strategy;
    json_t *lines = json_pack("[o]", metrics_json(s, own)), *line;
    int rc = 0;
    size_t i;

    for (int k = 0; k < STRATEGIES && s->request->report; k++)
        if (k != (int)own)
            json_array_append_new(lines, metrics_json(s, (enum strategy)k));
    json_array_foreach(lines, i, line)
    {
        if (rc == 0)
            rc = json_write_line(out, line, err);
    }
    if (rc == 0 && s->request->report)
        rc = simulator_report(s, lines, err);
    json_decref(lines);
    return rc;
}

void simulator_release(struct simulator *s)
{
    for (int i = 0; i < STRATEGIES; i++)
        simulation_release(&s->by[i]);
    json_decref(s->transcripts);
    s->transcripts = NULL;
}
