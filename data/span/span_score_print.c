/* Part of span_score.h: measures and how they are shown. */
#include "data/span/span_score_impl.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { ROUNDS = 1000 };

static const char *const label_names[] = { "COL", "VAL", "AMB", "UNK", "AMB or UNK", "all" };

static int64_t at(const struct span_counts *c, size_t offset)
{
    return *(const int64_t *)(const void *)((const char *)c + offset);
}

/* A measure of stats.h: "scores" are numbers of groups. */
static double measure_groups(struct scored s, const void *arg)
{
    const struct span_measure *m = arg;
    int64_t sums[4] = { 0 };

    for (int i = 0; i < s.n; i++) {
        const struct span_counts *c = &m->tally->groups[(int)s.score[i]];
        sums[0] += at(c, m->hits);
        sums[1] += at(c, m->of);
        sums[2] += at(c, m->hits_tagged);
        sums[3] += at(c, m->of_tagged);
    }
    if (m->of_tagged)
        return span_f1(sums[0], sums[1], sums[2], sums[3]);
    return sums[1] ? (double)sums[0] / (double)sums[1] : NAN;
}

struct score_mean span_measure(const struct span_measure *m)
{
    int n = m->tally->n_groups;
    double *numbers = xmalloc((size_t)(n + 1) * sizeof *numbers);
    uint8_t *labels = xcalloc((size_t)n + 1, 1);
    struct bootstrap how = { .n_groups = n, .rounds = ROUNDS, .level = 0.95, .seed = 1 };

    for (int i = 0; i < n; i++)
        numbers[i] = i;
    struct scored s = { numbers, labels, n };
    struct score_mean mean = { measure_groups(s, m), stats_bootstrap(s, measure_groups, m, &how) };
    free(numbers);
    free(labels);
    return mean;
}

struct score_mean span_ranking(const struct span_tally *t, double (*measure)(struct scored s, const void *arg))
{
    struct bootstrap how = { .group = t->group, .n_groups = t->n_groups, .rounds = ROUNDS, .level = 0.95, .seed = 1 };
    struct scored s = { t->problem, t->is_problem, t->n };

    return (struct score_mean){ measure(s, NULL), stats_bootstrap(s, measure, NULL, &how) };
}

#define LABEL_AT(l, field)                                                                                             \
    (offsetof(struct span_counts, label) + (size_t)(l) * sizeof(((struct span_counts *)0)->label[0]) +                 \
     (offsetof(struct span_counts, label[0].field) - offsetof(struct span_counts, label[0])))
#define OF_LABEL(field, l) (offsetof(struct span_counts, field) + (size_t)(l) * sizeof(int64_t))

enum { LABEL_PRECISION, LABEL_RECALL, LABEL_F1, LABEL_MEASURES };
static const char *const measure_names[] = { "precision", "recall", "f1" };

static struct score_mean label_measure(const struct span_tally *t, int l, bool relaxed, int which)
{
    size_t gold = relaxed ? LABEL_AT(l, gold_met) : LABEL_AT(l, exact);
    size_t tagged = relaxed ? LABEL_AT(l, tagged_met) : LABEL_AT(l, exact);
    struct span_measure m = { t, gold, LABEL_AT(l, gold), tagged, LABEL_AT(l, tagged) };

    if (which == LABEL_PRECISION)
        m = (struct span_measure){ .tally = t, .hits = tagged, .of = LABEL_AT(l, tagged) };
    else if (which == LABEL_RECALL)
        m.hits_tagged = m.of_tagged = 0;
    return span_measure(&m);
}

static struct score_mean share(const struct span_tally *t, size_t hits, size_t of)
{
    struct span_measure m = { .tally = t, .hits = hits, .of = of };
    return span_measure(&m);
}

static int64_t total(const struct span_tally *t, size_t offset)
{
    int64_t sum = 0;

    for (int i = 0; i < t->n_groups; i++)
        sum += at(&t->groups[i], offset);
    return sum;
}

static json_t *mean_json(struct score_mean m)
{
    return json_pack("{s:o, s:o}", "value", json_finite(m.mean), "interval", score_interval_json(m.interval));
}

static json_t *measures_json(const struct span_tally *t, int l, bool relaxed)
{
    json_t *o = json_object();

    for (int k = 0; k < LABEL_MEASURES; k++)
        json_object_set_new(o, measure_names[k], mean_json(label_measure(t, l, relaxed, k)));
    return o;
}

static json_t *label_json(const struct span_tally *t, int l)
{
    json_t *o = json_pack("{s:I, s:I, s:o, s:o}", "gold", (json_int_t)total(t, LABEL_AT(l, gold)), "tagged",
                          (json_int_t)total(t, LABEL_AT(l, tagged)), "exact", measures_json(t, l, false), "relaxed",
                          measures_json(t, l, true));

    if (l < SPAN_LABELS && l != SPAN_UNK) {
        json_object_set_new(o, "linked_all", mean_json(share(t, OF_LABEL(linked_all, l), OF_LABEL(linkable, l))));
        json_object_set_new(o, "linked_any", mean_json(share(t, OF_LABEL(linked_any, l), OF_LABEL(linkable, l))));
    }
    return o;
}

static json_t *words_json(const struct span_tally *t)
{
    json_t *o = json_object();

    for (int l = 0; l <= COUNT_NONE; l++)
        json_object_set_new(o, l == COUNT_NONE ? "O" : label_names[l],
                            mean_json(share(t, OF_LABEL(words_right, l), OF_LABEL(words, l))));
    return o;
}

static struct score_mean alarms(const struct span_tally *t)
{
    struct score_mean m = share(t, offsetof(struct span_counts, alarmed), offsetof(struct span_counts, answerable));
    return (struct score_mean){ 100 * m.mean, { 100 * m.interval.low, 100 * m.interval.high } };
}

json_t *span_score_json(const struct span_tally *t)
{
    static const char *const keys[] = { "COL", "VAL", "AMB", "UNK", "problem", "all" };
    json_t *labels = json_object();

    for (int l = 0; l < COUNT_LABELS; l++)
        json_object_set_new(labels, keys[l], label_json(t, l));
    return json_pack(
        "{s:s, s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:O}", "rule", "spans", "records", t->n, "databases",
        t->n_groups, "answerable", (json_int_t)total(t, offsetof(struct span_counts, answerable)), "labels", labels,
        "false_alarms", mean_json(alarms(t)), "average_precision", mean_json(span_ranking(t, stats_measure_ap)),
        "auroc", mean_json(span_ranking(t, stats_measure_auc)), "word_recall", words_json(t), "skipped", t->skipped);
}

static void print_number(double x)
{
    if (isnan(x))
        printf("%7s", "-");
    else
        printf("%7.1f", 100 * x);
}

static void print_label(const struct span_tally *t, int l, bool relaxed)
{
    struct score_mean f1 = label_measure(t, l, relaxed, LABEL_F1);

    printf("%-10s %-7s %7lld %7lld", relaxed ? "" : label_names[l], relaxed ? "relaxed" : "exact",
           (long long)total(t, LABEL_AT(l, gold)), (long long)total(t, LABEL_AT(l, tagged)));
    print_number(label_measure(t, l, relaxed, LABEL_PRECISION).mean);
    print_number(label_measure(t, l, relaxed, LABEL_RECALL).mean);
    print_number(f1.mean);
    printf("  ");
    score_print_interval(f1.interval, 100, 5, 1);
    putchar('\n');
}

static void print_mean(const char *name, struct score_mean m, double scale)
{
    printf("%-34s", name);
    print_number(m.mean * scale / 100);
    printf("  ");
    score_print_interval(m.interval, scale, 5, 1);
    putchar('\n');
}

static void print_links(const struct span_tally *t)
{
    char name[64];

    for (int l = 0; l < SPAN_UNK; l++) {
        snprintf(name, sizeof name, "%s found and linked%s, %%", label_names[l], l == SPAN_AMB ? " to all" : "");
        print_mean(name, share(t, OF_LABEL(linked_all, l), OF_LABEL(linkable, l)), 100);
    }
    print_mean("AMB found and linked to any, %", share(t, OF_LABEL(linked_any, SPAN_AMB), OF_LABEL(linkable, SPAN_AMB)),
               100);
}

void span_score_print(const struct span_tally *t)
{
    printf("%d records of %d tables or databases, %lld answerable\n\n", t->n, t->n_groups,
           (long long)total(t, offsetof(struct span_counts, answerable)));
    printf("%-18s %7s %7s%7s%7s%7s  %s\n", "spans", "gold", "tagged", "P", "R", "F1", "95 %");
    for (int l = 0; l < COUNT_LABELS; l++) {
        print_label(t, l, false);
        print_label(t, l, true);
    }
    putchar('\n');
    print_links(t);
    print_mean("false alarms per 100 answerable", alarms(t), 1);
    print_mean("questions, average precision, %", span_ranking(t, stats_measure_ap), 100);
    print_mean("questions, AUROC, %", span_ranking(t, stats_measure_auc), 100);
    for (int l = 0; l <= COUNT_NONE; l++) {
        char name[64];
        snprintf(name, sizeof name, "words of %s found, %%", l == COUNT_NONE ? "nothing" : label_names[l]);
        print_mean(name, share(t, OF_LABEL(words_right, l), OF_LABEL(words, l)), 100);
    }
    if (t->n_groups < 2)
        score_print_one_database();
    score_print_skipped(t->skipped);
}
