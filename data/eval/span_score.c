#include "data/eval/span_score.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/span/span_count.h"
#include "data/span/tagging.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct span_tally {
    struct span_counts *groups; /* of each table or database */
    int n_groups;
    double *problem; /* [n] score of each record: probability of a problem */
    uint8_t *is_problem;
    int *group;
    int n;
    json_t *skipped; /* {"record", "reason"} */
};

/* A ratio of counts, or the F1 of two ratios. */
struct span_measure {
    const struct span_tally *tally;
    size_t hits, of;               /* offsets in struct span_counts */
    size_t hits_tagged, of_tagged; /* second ratio of F1; else 0 */
};

static int read_label(enum span_label *label, const json_t *span, const char *where, struct error *err)
{
    const char *name = json_get_string(span, "label", where, err);

    for (int l = 0; name && l < SPAN_LABELS; l++)
        if (strcmp(name, span_label_name((enum span_label)l)) == 0) {
            *label = (enum span_label)l;
            return 0;
        }
    return name ? error_set(err, EXIT_CODE_DATA, "%s: field \"label\": expected COL, VAL, AMB or UNK, got \"%.100s\"",
                            where, name)
                : -1;
}

static int read_kind(struct tag_concept *c, const json_t *concept, const char *where, struct error *err)
{
    static const char *const names[] = { [TAG_TABLE] = "table", [TAG_COLUMN] = "column", [TAG_VALUE] = "value" };
    const char *name = json_get_string(concept, "type", where, err);

    for (int k = 0; name && k < ARRAY_LEN(names); k++)
        if (strcmp(name, names[k]) == 0) {
            c->kind = (enum tag_kind)k;
            return 0;
        }
    return name ? error_set(err, EXIT_CODE_DATA, "%s: field \"type\": expected table, column or value, got \"%.100s\"",
                            where, name)
                : -1;
}

static int find_column(const struct span_record *r, const struct tag_concept *c, const char *name)
{
    struct tag_question q = { .columns = r->columns, .n_columns = r->n_columns };
    struct tag_concept tried = { .kind = c->kind };

    for (; tried.column < r->n_columns; tried.column++) {
        char *has = tag_concept_name(&q, &tried);
        bool same = strcmp(has, name) == 0;
        free(has);
        if (same)
            return tried.column;
    }
    return -1;
}

static int read_concept(struct tag_concept *c, const json_t *concept, const struct span_record *r, const char *where,
                        struct error *err)
{
    const char *name = json_get_string(concept, "concept", where, err);

    if (!name || read_kind(c, concept, where, err) || json_get_real(concept, "score", 0, 1, &c->score, where, err))
        return -1;
    c->column = find_column(r, c, name);
    if (c->kind != TAG_VALUE)
        return 0;
    json_t *values = json_get_array(concept, "values", where, err);
    c->value = json_string_value(json_array_get(values, 0));
    if (values && !c->value)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"values\": expected the value, got none", where);
    return values ? 0 : -1;
}

static int read_span(struct tag_span *s, const json_t *span, const struct span_record *r, int after, const char *where,
                     struct error *err)
{
    json_t *list = json_get_array(span, "alternatives", where, err), *concept;
    int64_t start, end;
    size_t i;

    if (!list || json_get_int(span, "start", after, r->n_letters - 1, &start, where, err) ||
        json_get_int(span, "end", start + 1, r->n_letters, &end, where, err) ||
        read_label(&s->label, span, where, err) ||
        json_get_real(span, "probability", 0, 1, &s->probability, where, err))
        return -1;
    s->start = (int)start;
    s->end = (int)end;
    s->alternatives = xcalloc(json_array_size(list) + 1, sizeof *s->alternatives);
    json_array_foreach(list, i, concept)
    {
        if (read_concept(&s->alternatives[s->n_alternatives++], concept, r, where, err))
            return -1;
    }
    return 0;
}

/* Reads a line of a tagger's output for a record. Names are looked up as tagging.h writes them; an unknown concept
 * gets column -1. Values are borrowed from the line, and the caller releases the answer either way. -1 with
 * EXIT_CODE_DATA naming the field, its value and the expectation. */
static int tag_read(struct tag_answer *a, const json_t *line, const struct span_record *r, const char *where,
                    struct error *err)
{
    json_t *list = json_get_array(line, "spans", where, err), *span;
    size_t i;

    *a = (struct tag_answer){ 0 };
    if (!list || json_get_real(line, "problem", 0, 1, &a->problem, where, err))
        return -1;
    a->spans = xcalloc(json_array_size(list) + 1, sizeof *a->spans);
    json_array_foreach(list, i, span)
    {
        char at[512];
        snprintf(at, sizeof at, "%.400s: span %zu", where, i);
        int after = a->n_spans ? a->spans[a->n_spans - 1].end : 0;
        if (read_span(&a->spans[a->n_spans++], span, r, after, at, err))
            return -1;
    }
    return 0;
}

struct span_run {
    struct span_record_list gold;
    struct strings ids, tables; /* of gold: ids[i] is record i's */
    bool *answered;
    struct span_tally tally;
    struct out_file evidence;
};

static void skip(struct span_run *run, const char *record, const char *why)
{
    json_array_append_new(run->tally.skipped,
                          json_pack("{s:o, s:o}", "record", json_message(record), "reason", json_message(why)));
}

static int read_gold(struct span_run *run, const char *path, struct error *err)
{
    if (span_records_read(&run->gold, path, err))
        return -1;
    for (int i = 0; i < run->gold.n; i++) {
        if (strings_add(&run->ids, run->gold.items[i].id) != i)
            return error_set(err, EXIT_CODE_DATA, "%s: id \"%s\": expected one record of each id, got two", path,
                             run->gold.items[i].id);
        strings_add(&run->tables, run->gold.items[i].db_id);
    }
    size_t n = (size_t)run->gold.n + 1;
    run->answered = xcalloc(n, sizeof *run->answered);
    run->tally.groups = xcalloc(n, sizeof *run->tally.groups);
    run->tally.problem = xcalloc(n, sizeof *run->tally.problem);
    run->tally.is_problem = xcalloc(n, sizeof *run->tally.is_problem);
    run->tally.group = xcalloc(n, sizeof *run->tally.group);
    run->tally.n_groups = run->tables.n;
    return 0;
}

/* The counts of a record by label: spans, and words. */
static json_t *label_counts(const struct span_counts *c)
{
    json_t *o = json_object();

    for (int l = 0; l < SPAN_LABELS; l++)
        json_object_set_new(o, span_label_name((enum span_label)l),
                            json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "gold", (json_int_t)c->label[l].gold, "tagged",
                                      (json_int_t)c->label[l].tagged, "exact", (json_int_t)c->label[l].exact, "words",
                                      (json_int_t)c->words[l], "words_found", (json_int_t)c->words_right[l],
                                      "words_grounded", (json_int_t)(l == SPAN_UNK ? 0 : c->grounded[l])));
    return o;
}

static int write_evidence(struct span_run *run, const struct span_record *r, const struct span_counts *c,
                          double problem, struct error *err)
{
    if (!run->evidence.f)
        return 0;
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:b, s:f, s:o}", "id", r->id, "db_id", r->db_id, "type", r->kind,
                  "gold", (json_int_t)c->label[COUNT_ALL].gold, "tagged", (json_int_t)c->label[COUNT_ALL].tagged,
                  "exact", (json_int_t)c->label[COUNT_ALL].exact, "relaxed", (json_int_t)c->label[COUNT_ALL].gold_met,
                  "flagged", c->alarmed > 0, "problem", problem, "labels", label_counts(c));
    int rc = json_write_line(&run->evidence, o, err);
    json_decref(o);
    return rc;
}

static int count_answer(struct span_run *run, const struct span_record *r, const struct tag_answer *a,
                        struct error *err)
{
    struct span_tally *t = &run->tally;
    struct span_counts c = { 0 };

    span_count(&c, r, a);
    t->group[t->n] = strings_find(&run->tables, r->db_id);
    t->is_problem[t->n] = span_record_is_problem(r);
    t->problem[t->n] = a->problem;
    span_counts_add(&t->groups[t->group[t->n]], &c);
    t->n++;
    return write_evidence(run, r, &c, a->problem, err);
}

/* A record_fn; only write errors end the run. */
static int score_line(void *user, json_t *line, const char *where, struct error *err)
{
    struct span_run *run = user;
    struct error bad = { 0 };
    struct tag_answer a = { 0 };
    char text[RECORD_ID_TEXT];
    int i = strings_find(&run->ids, record_id_text(line, text)), rc = 0;

    if (i < 0 || run->answered[i]) {
        skip(run, where, i < 0 ? "its id is none of the gold records'" : "its id came before");
        return 0;
    }
    run->answered[i] = true;
    if (json_object_get(line, "error"))
        skip(run, where, "it is an error");
    else if (tag_read(&a, line, &run->gold.items[i], where, &bad))
        skip(run, where, bad.text);
    else
        rc = count_answer(run, &run->gold.items[i], &a, err);
    tag_answer_release(&a);
    return rc;
}

static int score_all(struct span_run *run, const struct score_request *q, struct error *err)
{
    if (read_gold(run, q->gold, err) || (q->per_example && out_file_open(&run->evidence, q->per_example, err)) ||
        records_each_as_is(q->pred, RECORDS_AUTO, score_line, run, err))
        return -1;
    for (int i = 0; i < run->gold.n; i++)
        if (!run->answered[i])
            skip(run, run->gold.items[i].id, "it has no answer");
    if (!run->tally.n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected predictions of records in %s, got none", q->pred, q->gold);
    return run->evidence.f ? out_file_commit(&run->evidence, err) : 0;
}

static json_t *span_score_json(const struct span_tally *t);

static void span_score_print(const struct span_tally *t);

static int print(const struct span_run *run, const struct score_request *q, struct error *err)
{
    if (!q->json) {
        span_score_print(&run->tally);
        return 0;
    }
    return score_print_json(span_score_json(&run->tally), err);
}

static void release(struct span_run *run)
{
    out_file_abort(&run->evidence);
    span_records_release(&run->gold);
    strings_release(&run->ids);
    strings_release(&run->tables);
    free(run->answered);
    free(run->tally.groups);
    free(run->tally.problem);
    free(run->tally.is_problem);
    free(run->tally.group);
    json_decref(run->tally.skipped);
}

enum exit_code score_spans(const struct score_request *q, struct error *err)
{
    struct span_run run = { .tally.skipped = json_array() };
    enum exit_code code = EXIT_CODE_OK;

    if (!q->gold)
        code = (error_set(err, EXIT_CODE_USAGE, "--rule spans requires --gold"), EXIT_CODE_USAGE);
    else if (score_all(&run, q, err) || print(&run, q, err))
        code = err->code;
    else if (json_array_size(run.tally.skipped))
        code = EXIT_CODE_RECORDS;
    release(&run);
    return code;
}

/* Measures and their output. */

enum { ROUNDS = 1000 };

static const char *const label_names[] = { "COL", "VAL", "AMB", "UNK", "AMB or UNK", "all" };

static int64_t at(const struct span_counts *c, size_t offset)
{
    return *(const int64_t *)(const void *)((const char *)c + offset);
}

static struct score_mean span_measure(const struct span_measure *m);

/* A measure of stats.h, whose scores are indices of groups. */
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

static struct score_mean span_measure(const struct span_measure *m)
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

/* The ranking of questions by `problem`, with stats_measure_ap or stats_measure_auc. */
static struct score_mean span_ranking(const struct span_tally *t, double (*measure)(struct scored s, const void *arg))
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

static const char *const grounded_names[COUNT_GROUNDED + 1] = { "COL", "VAL", "AMB", "all" };

/* The share of the words whose label and meanings are right. */
static struct score_mean grounding(const struct span_tally *t, int l)
{
    return share(t, OF_LABEL(grounded, l), OF_LABEL(groundable, l));
}

static json_t *grounding_json(const struct span_tally *t)
{
    json_t *o = json_object();

    for (int l = 0; l <= COUNT_GROUNDED; l++)
        json_object_set_new(o, grounded_names[l], mean_json(grounding(t, l)));
    return o;
}

static struct score_mean alarms(const struct span_tally *t)
{
    struct score_mean m = share(t, offsetof(struct span_counts, alarmed), offsetof(struct span_counts, answerable));
    return (struct score_mean){ 100 * m.mean, { 100 * m.interval.low, 100 * m.interval.high } };
}

static json_t *span_score_json(const struct span_tally *t)
{
    static const char *const keys[] = { "COL", "VAL", "AMB", "UNK", "problem", "all" };
    json_t *labels = json_object();

    for (int l = 0; l < COUNT_LABELS; l++)
        json_object_set_new(labels, keys[l], label_json(t, l));
    return json_pack("{s:s, s:i, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:O}", "rule", "spans", "records", t->n,
                     "databases", t->n_groups, "answerable",
                     (json_int_t)total(t, offsetof(struct span_counts, answerable)), "labels", labels, "false_alarms",
                     mean_json(alarms(t)), "average_precision", mean_json(span_ranking(t, stats_measure_ap)), "auroc",
                     mean_json(span_ranking(t, stats_measure_auc)), "word_recall", words_json(t), "grounding",
                     grounding_json(t), "skipped", t->skipped);
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

static void span_score_print(const struct span_tally *t)
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
    for (int l = 0; l <= COUNT_GROUNDED; l++) {
        char name[64];
        snprintf(name, sizeof name, "words of %s grounded, %%", l == COUNT_GROUNDED ? "these" : grounded_names[l]);
        print_mean(name, grounding(t, l), 100);
    }
    if (t->n_groups < 2)
        score_print_one_database();
    score_print_skipped(t->skipped);
}
