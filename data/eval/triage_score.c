#include "data/eval/triage_score.h"

#include "data/base/records.h"
#include "data/base/risk_coverage.h"
#include "data/base/strings.h"
#include "data/corpora/triage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct triaged {
    enum triage_class gold, predicted;          /* predicted: TRIAGE_CLASSES before a prediction is read */
    enum triage_kind gold_kind, predicted_kind; /* TRIAGE_KINDS: unknown */
    double confidence;                          /* NAN without one */
    int database;
    bool wrong; /* the system's statement is known to be wrong */
};

enum { KIND_LABELS = TRIAGE_KINDS + 1 /* the last one: no kind is predicted */ };

/* Questions by class or by kind: n[gold][predicted]. */
struct label_table {
    int labels;
    int64_t n[KIND_LABELS][KIND_LABELS];
};

/* Pairs of labels for the bootstrap, and the table of their counts. */
struct label_pairs {
    struct label_table table;
    double *pair; /* [n] gold * labels + predicted */
    int *group;   /* [n] database */
    int n;
};

struct triage_run {
    struct triaged *questions;
    int n, cap;
    struct strings ids, databases;     /* ids.items[i] is question i's */
    struct label_pairs classes, kinds; /* kinds: of the records with a kind */
    bool has_kinds;                    /* a prediction has a kind */
    struct risk_decision *decisions;   /* [classes.n] */
    bool has_confidence;
    json_t *skipped;
    struct out_file lines;
};

static void skip(struct triage_run *run, const char *record, const char *why)
{
    json_array_append_new(run->skipped,
                          json_pack("{s:o, s:o}", "record", json_message(record), "reason", json_message(why)));
}

static int read_class(enum triage_class *class, const json_t *line, const char *where, struct error *err)
{
    const char *name = json_get_string(line, "class", where, err);

    if (!name)
        return -1;
    *class = triage_class_of(name);
    if (*class == TRIAGE_CLASSES)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"class\": expected answerable, ambiguous, unanswerable or improper, got \"%.60s\"",
                         where, name);
    return 0;
}

/* A record_fn. */
static int read_gold(void *user, json_t *line, const char *where, struct error *err)
{
    struct triage_run *run = user;
    const char *db_id = json_get_string(line, "db_id", where, err);
    char buffer[RECORD_ID_TEXT];
    const char *id = record_id_text(line, buffer);
    struct triaged t = { .predicted = TRIAGE_CLASSES, .predicted_kind = TRIAGE_KINDS, .confidence = NAN };

    if (!db_id || read_class(&t.gold, line, where, err) || triage_kind_read(&t.gold_kind, t.gold, line, where, err))
        return -1;
    if (strings_find(&run->ids, id) >= 0)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected each id once, got \"%.100s\" again", where,
                         id);
    t.database = strings_add(&run->databases, db_id);
    strings_add(&run->ids, id);
    GROW(run->questions, run->n, run->cap);
    run->questions[run->n++] = t;
    return 0;
}

/* Whether a list of strings has the word. */
static bool lists(const json_t *list, const char *word)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *s = json_string_value(json_array_get(list, i));
        if (s && strcmp(s, word) == 0)
            return true;
    }
    return false;
}

/* The probabilities of the classes.  Without "class" the most probable one is predicted, the first of equal ones. */
static int read_probabilities(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    const json_t *classes = json_get_object(line, "classes", where, err);
    enum triage_class best = TRIAGE_ANSWERABLE;
    double p[TRIAGE_CLASSES] = { 0 };

    if (!classes)
        return -1;
    for (int c = 0; c < TRIAGE_CLASSES; c++) {
        const char *name = triage_class_name((enum triage_class)c);
        if (json_object_get(classes, name) && json_get_real(classes, name, 0, 1, &p[c], where, err))
            return -1;
        best = p[c] > p[best] ? (enum triage_class)c : best;
    }
    t->predicted = best;
    if (json_object_get(line, "class") && read_class(&t->predicted, line, where, err))
        return -1;
    t->confidence = p[t->predicted];
    return 0;
}

/* A line of detect; its score is the probability of ambiguity. */
static int read_detected(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    bool ambiguous;
    double score;

    if (json_get_bool(line, "ambiguous", &ambiguous, where, err))
        return -1;
    t->predicted = ambiguous ? TRIAGE_AMBIGUOUS : TRIAGE_ANSWERABLE;
    if (!json_object_get(line, "score"))
        return 0;
    if (json_get_real(line, "score", 0, 1, &score, where, err))
        return -1;
    t->confidence = ambiguous ? score : 1 - score;
    return 0;
}

static int read_sure_class(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    if (json_object_get(line, "confidence") && json_get_real(line, "confidence", 0, 1, &t->confidence, where, err))
        return -1;
    return read_class(&t->predicted, line, where, err);
}

/* The fields of class and kind, of the line itself or of its object "triage".  Without "class" the kind may belong to
 * another class than the most probable one, and is ignored. */
static int read_triage(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    int rc = json_object_get(line, "classes") ? read_probabilities(t, line, where, err)
                                              : read_sure_class(t, line, where, err);

    if (rc || !json_object_get(line, "class"))
        return rc;
    return triage_kind_read(&t->predicted_kind, t->predicted, line, where, err);
}

/* Whether the system's statement is wrong, if the line says so. */
static int read_correct(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    bool correct = true;

    if (json_object_get(line, "correct") && json_get_bool(line, "correct", &correct, where, err))
        return -1;
    t->wrong = !correct;
    return 0;
}

static int read_predicted(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    const json_t *status = json_object_get(line, "status");

    if (json_object_get(line, "triage")) {
        const json_t *triage = json_get_object(line, "triage", where, err);
        return triage ? read_triage(t, triage, where, err) : -1;
    }
    if (json_object_get(line, "classes") || json_object_get(line, "class"))
        return read_triage(t, line, where, err);
    if (json_is_array(status)) {
        t->predicted = lists(status, "unanswerable") ? TRIAGE_UNANSWERABLE
                       : lists(status, "ambiguous")  ? TRIAGE_AMBIGUOUS
                                                     : TRIAGE_ANSWERABLE;
        return 0;
    }
    return read_detected(t, line, where, err);
}

/* A record_fn: bad lines are skipped. */
static int read_prediction(void *user, json_t *line, const char *where, struct error *err)
{
    struct triage_run *run = user;
    char buffer[RECORD_ID_TEXT];
    int i = strings_find(&run->ids, record_id_text(line, buffer));
    struct triaged *t = i < 0 ? NULL : &run->questions[i], read = { .predicted_kind = TRIAGE_KINDS, .confidence = NAN };
    struct error bad = { 0 };

    (void)err;
    if (!t || t->predicted != TRIAGE_CLASSES)
        skip(run, where, t ? "its id came before" : "its id is none of the gold records'");
    else if (json_object_get(line, "error"))
        skip(run, where, "it is an error");
    else if (read_predicted(&read, line, where, &bad) || read_correct(&read, line, where, &bad))
        skip(run, where, bad.text);
    else {
        t->predicted = read.predicted;
        t->predicted_kind = read.predicted_kind;
        t->confidence = read.confidence;
        t->wrong = read.wrong;
    }
    return 0;
}

static void count_pair(struct label_pairs *p, int gold, int predicted, int database)
{
    p->table.n[gold][predicted]++;
    p->pair[p->n] = (double)(gold * p->table.labels + predicted);
    p->group[p->n++] = database;
}

static const char *kind_text(enum triage_kind k)
{
    return k < TRIAGE_KINDS ? triage_kind_name(k) : NULL;
}

static int count(struct triage_run *run, int i, struct error *err)
{
    const struct triaged *t = &run->questions[i];
    bool right = t->gold == t->predicted;

    run->decisions[run->classes.n] = (struct risk_decision){ t->confidence, right };
    count_pair(&run->classes, (int)t->gold, (int)t->predicted, t->database);
    if (t->gold_kind < TRIAGE_KINDS)
        count_pair(&run->kinds, (int)t->gold_kind, (int)t->predicted_kind, t->database);
    run->has_kinds = run->has_kinds || t->predicted_kind < TRIAGE_KINDS;
    run->has_confidence = run->has_confidence && !isnan(t->confidence);
    if (!run->lines.f)
        return 0;
    json_t *o = json_pack("{s:s, s:s, s:s, s:s*, s:s, s:s*, s:b}", "id", run->ids.items[i], "db_id",
                          run->databases.items[t->database], "gold", triage_class_name(t->gold), "gold_kind",
                          kind_text(t->gold_kind), "class", triage_class_name(t->predicted), "kind",
                          kind_text(t->predicted_kind), "correct", right);
    int rc = json_write_line(&run->lines, o, err);
    json_decref(o);
    return rc;
}

static void pairs_init(struct label_pairs *p, int labels, int n)
{
    p->table.labels = labels;
    p->pair = xcalloc((size_t)n + 1, sizeof *p->pair);
    p->group = xcalloc((size_t)n + 1, sizeof *p->group);
}

static int count_all(struct triage_run *run, struct error *err)
{
    pairs_init(&run->classes, TRIAGE_CLASSES, run->n);
    pairs_init(&run->kinds, KIND_LABELS, run->n);
    run->decisions = xcalloc((size_t)run->n + 1, sizeof *run->decisions);
    run->has_confidence = true;
    for (int i = 0; i < run->n; i++) {
        if (run->questions[i].predicted == TRIAGE_CLASSES)
            skip(run, run->ids.items[i], "it has no prediction");
        else if (count(run, i, err))
            return -1;
    }
    return 0;
}

static int score_all(struct triage_run *run, const struct score_request *q, struct error *err)
{
    if ((q->per_example && out_file_open(&run->lines, q->per_example, err)) ||
        records_each(q->gold, RECORDS_AUTO, read_gold, run, err) ||
        records_each_as_is(q->pred, RECORDS_AUTO, read_prediction, run, err) || count_all(run, err))
        return -1;
    if (!run->classes.n)
        return error_set(err, EXIT_CODE_DATA, "%s: expected an id of %s, got none", q->pred, q->gold);
    return run->lines.f ? out_file_commit(&run->lines, err) : 0;
}

/* The decision between the label and all others. */
static struct confusion of_label(const struct label_table *t, int label)
{
    struct confusion c = { 0 };

    for (int g = 0; g < t->labels; g++)
        for (int p = 0; p < t->labels; p++) {
            int64_t n = t->n[g][p];
            c.tp += g == label && p == label ? n : 0;
            c.fp += g != label && p == label ? n : 0;
            c.fn += g == label && p != label ? n : 0;
            c.tn += g != label && p != label ? n : 0;
        }
    return c;
}

/* Mean F1 of the labels that occur in gold. */
static double macro_f1(const struct label_table *t)
{
    double sum = 0;
    int labels = 0;

    for (int k = 0; k < t->labels; k++) {
        struct confusion c = of_label(t, k);
        if (c.tp + c.fn == 0)
            continue;
        sum += stats_metric(c, STATS_F1);
        labels++;
    }
    return labels ? sum / labels : NAN;
}

/* A measure for the bootstrap: scores are pairs of labels.  arg: the number of labels. */
static double measure_macro_f1(struct scored s, const void *arg)
{
    struct label_table t = { .labels = *(const int *)arg };

    for (int i = 0; i < s.n; i++) {
        int pair = (int)s.score[i];
        t.n[pair / t.labels][pair % t.labels]++;
    }
    return macro_f1(&t);
}

static bool is_refused(enum triage_class c)
{
    return c == TRIAGE_UNANSWERABLE || c == TRIAGE_IMPROPER;
}

/* The share of answerable questions that are refused; NAN without answerable ones. */
static double measure_refused(struct scored s, const void *arg)
{
    int answerable = 0, refused = 0;

    (void)arg;
    for (int i = 0; i < s.n; i++) {
        int pair = (int)s.score[i];
        answerable += pair / TRIAGE_CLASSES == TRIAGE_ANSWERABLE;
        refused += pair / TRIAGE_CLASSES == TRIAGE_ANSWERABLE && is_refused((enum triage_class)(pair % TRIAGE_CLASSES));
    }
    return answerable ? (double)refused / answerable : NAN;
}

/* A measure of all pairs of labels. */
typedef double triage_measure(struct scored s, const void *arg);

static struct interval interval_of(const struct triage_run *run, const struct label_pairs *p, triage_measure *measure)
{
    const struct bootstrap how = { p->group, run->databases.n, 1000, .95, 1 };
    uint8_t *none = xcalloc((size_t)p->n + 1, 1);
    struct interval i = stats_bootstrap((struct scored){ p->pair, none, p->n }, measure, &p->table.labels, &how);

    free(none);
    return i;
}

static double refused_of(const struct triage_run *run)
{
    return measure_refused((struct scored){ run->classes.pair, NULL, run->classes.n }, NULL);
}

/* The reliability score of EHRSQL 2024 (Lee et al. 2024) for a penalty.  A right statement and a justified abstention
 * count 1, an answerable question without a statement 0, and all else -penalty. */
static double reliability(const struct triage_run *run, double penalty)
{
    double sum = 0;

    for (int i = 0; i < run->n; i++) {
        const struct triaged *t = &run->questions[i];
        bool answers = t->predicted == TRIAGE_ANSWERABLE, answerable = t->gold == TRIAGE_ANSWERABLE;
        if (t->predicted == TRIAGE_CLASSES)
            continue;
        if (answers)
            sum += answerable && !t->wrong ? 1 : -penalty;
        else
            sum += !answerable;
    }
    return sum / run->classes.n;
}

static int64_t correct_of(const struct triage_run *run)
{
    int64_t n = 0;

    for (int c = 0; c < TRIAGE_CLASSES; c++)
        n += run->classes.table.n[c][c];
    return n;
}

static int surest_first(const void *a, const void *b)
{
    double x = ((const struct risk_decision *)a)->margin, y = ((const struct risk_decision *)b)->margin;
    return (x < y) - (x > y);
}

/* Area under the risk-coverage curve; NAN if a prediction has no confidence. */
static double area(struct triage_run *run)
{
    struct risk_curve curve;
    double result;

    if (!run->has_confidence)
        return NAN;
    qsort(run->decisions, (size_t)run->classes.n, sizeof *run->decisions, surest_first);
    risk_curve_init(&curve, run->decisions, run->classes.n);
    result = curve.area;
    risk_curve_release(&curve);
    return result;
}

static json_t *metrics_json(struct confusion c)
{
    return json_pack("{s:I, s:f, s:f, s:f}", "questions", (json_int_t)(c.tp + c.fn), "precision",
                     stats_metric(c, STATS_PRECISION), "recall", stats_metric(c, STATS_RECALL), "f1",
                     stats_metric(c, STATS_F1));
}

static json_t *class_json(const struct label_table *t, int class)
{
    json_t *o = metrics_json(of_label(t, class)), *predicted = json_object();

    for (int p = 0; p < TRIAGE_CLASSES; p++)
        json_object_set_new(predicted, triage_class_name((enum triage_class)p), json_integer(t->n[class][p]));
    json_object_set_new(o, "predicted", predicted);
    return o;
}

static bool scores_kinds(const struct triage_run *run)
{
    return run->kinds.n && run->has_kinds;
}

/* {CLASS: {KIND: metrics}} of the kinds that occur in gold; NULL without kinds. */
static json_t *kinds_json(const struct triage_run *run)
{
    json_t *all = scores_kinds(run) ? json_object() : NULL;

    for (int k = 0; k < TRIAGE_KINDS && all; k++) {
        const char *class = triage_class_name(triage_kind_class((enum triage_kind)k));
        struct confusion c = of_label(&run->kinds.table, k);
        if (c.tp + c.fn == 0)
            continue;
        if (!json_object_get(all, class))
            json_object_set_new(all, class, json_object());
        json_object_set_new(json_object_get(all, class), triage_kind_name((enum triage_kind)k), metrics_json(c));
    }
    return all;
}

static json_t *kind_scores_json(const struct triage_run *run)
{
    if (!scores_kinds(run))
        return NULL;
    return json_pack("{s:i, s:f, s:o, s:o}", "records", run->kinds.n, "macro_f1", macro_f1(&run->kinds.table),
                     "macro_f1_interval", score_interval_json(interval_of(run, &run->kinds, measure_macro_f1)), "kinds",
                     kinds_json(run));
}

static json_t *run_json(struct triage_run *run)
{
    const struct label_pairs *p = &run->classes;
    json_t *classes = json_object();

    for (int c = 0; c < TRIAGE_CLASSES; c++)
        json_object_set_new(classes, triage_class_name((enum triage_class)c), class_json(&p->table, c));
    return json_pack("{s:s, s:i, s:i, s:f, s:o, s:f, s:o, s:o, s:{s:f, s:f, s:f}, s:o, s:o, s:o*, s:O}", "rule",
                     "triage", "records", p->n, "databases", run->databases.n, "macro_f1", macro_f1(&p->table),
                     "macro_f1_interval", score_interval_json(interval_of(run, p, measure_macro_f1)), "accuracy",
                     (double)correct_of(run) / p->n, "refused_answerable", json_finite(refused_of(run)),
                     "refused_answerable_interval", score_interval_json(interval_of(run, p, measure_refused)),
                     "reliability", "0", reliability(run, 0), "10", reliability(run, 10), "N", reliability(run, p->n),
                     "aurc", json_finite(area(run)), "classes", classes, "by_kind", kind_scores_json(run), "skipped",
                     run->skipped);
}

static void print_classes(const struct label_table *t)
{
    printf("%-14s %9s %9s %9s %9s   predicted:", "class", "questions", "precision", "recall", "F1");
    for (int p = 0; p < TRIAGE_CLASSES; p++)
        printf(" %12s", triage_class_name((enum triage_class)p));
    putchar('\n');
    for (int k = 0; k < TRIAGE_CLASSES; k++) {
        struct confusion c = of_label(t, k);
        printf("%-14s %9lld %9.3f %9.3f %9.3f             ", triage_class_name((enum triage_class)k),
               (long long)(c.tp + c.fn), stats_metric(c, STATS_PRECISION), stats_metric(c, STATS_RECALL),
               stats_metric(c, STATS_F1));
        for (int p = 0; p < TRIAGE_CLASSES; p++)
            printf(" %12lld", (long long)t->n[k][p]);
        putchar('\n');
    }
}

/* The kinds that occur in gold. */
static void print_kinds(const struct triage_run *run)
{
    printf("\n%-14s %-11s %9s %9s %9s %9s\n", "class", "kind", "questions", "precision", "recall", "F1");
    for (int k = 0; k < TRIAGE_KINDS; k++) {
        struct confusion c = of_label(&run->kinds.table, k);
        if (c.tp + c.fn)
            printf("%-14s %-11s %9lld %9.3f %9.3f %9.3f\n", triage_class_name(triage_kind_class((enum triage_kind)k)),
                   triage_kind_name((enum triage_kind)k), (long long)(c.tp + c.fn), stats_metric(c, STATS_PRECISION),
                   stats_metric(c, STATS_RECALL), stats_metric(c, STATS_F1));
    }
    printf("\nmacro F1 by kind %.3f  ", macro_f1(&run->kinds.table));
    score_print_interval(interval_of(run, &run->kinds, measure_macro_f1), 1, 5, 3);
    putchar('\n');
}

static void print_table(struct triage_run *run)
{
    const struct label_pairs *p = &run->classes;
    double aurc = area(run);

    printf("%d questions of %d databases\n\n", p->n, run->databases.n);
    print_classes(&p->table);
    printf("\nmacro F1 %.3f  ", macro_f1(&p->table));
    score_print_interval(interval_of(run, p, measure_macro_f1), 1, 5, 3);
    printf("\naccuracy %.3f\n", (double)correct_of(run) / p->n);
    if (!isnan(refused_of(run))) {
        printf("answerable questions refused %.3f  ", refused_of(run));
        score_print_interval(interval_of(run, p, measure_refused), 1, 5, 3);
        putchar('\n');
    }
    printf("reliability score RS(0) %.3f, RS(10) %.3f, RS(N) %.3f\n", reliability(run, 0), reliability(run, 10),
           reliability(run, p->n));
    if (!isnan(aurc))
        printf("area under the risk-coverage curve %.3f\n", aurc);
    if (scores_kinds(run))
        print_kinds(run);
    if (run->databases.n < 2)
        score_print_one_database();
    score_print_skipped(run->skipped);
}

static int print(struct triage_run *run, const struct score_request *q, struct error *err)
{
    if (!q->json) {
        print_table(run);
        return 0;
    }
    return score_print_json(run_json(run), err);
}

static void release(struct triage_run *run)
{
    out_file_abort(&run->lines);
    free(run->questions);
    strings_release(&run->ids);
    strings_release(&run->databases);
    free(run->classes.pair);
    free(run->classes.group);
    free(run->kinds.pair);
    free(run->kinds.group);
    free(run->decisions);
    json_decref(run->skipped);
}

enum exit_code score_triage(const struct score_request *q, struct error *err)
{
    struct triage_run run = { .skipped = json_array() };
    enum exit_code code = EXIT_CODE_OK;

    if (!q->gold)
        code = (error_set(err, EXIT_CODE_USAGE, "--rule triage requires --gold"), EXIT_CODE_USAGE);
    else if (score_all(&run, q, err) || print(&run, q, err))
        code = err->code;
    else if (json_array_size(run.skipped))
        code = EXIT_CODE_RECORDS;
    release(&run);
    return code;
}
