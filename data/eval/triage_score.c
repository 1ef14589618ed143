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
    enum triage_class gold, predicted; /* predicted: TRIAGE_CLASSES before a prediction is read */
    double confidence;                 /* NAN without one */
    int database;
    bool wrong; /* the system's statement is known to be wrong */
};

/* Questions by class: n[gold][predicted]. */
struct class_table {
    int64_t n[TRIAGE_CLASSES][TRIAGE_CLASSES];
};

struct triage_run {
    struct triaged *questions;
    int n, cap;
    struct strings ids, databases; /* ids.items[i] is question i's */
    struct class_table table;
    double *pair; /* [n_scored] gold * TRIAGE_CLASSES + predicted */
    int *group, n_scored;
    struct risk_decision *decisions; /* [n_scored] */
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
    struct triaged t = { .predicted = TRIAGE_CLASSES, .confidence = NAN };

    if (!db_id || read_class(&t.gold, line, where, err))
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

/* The fields of a class, of the line itself or of its object "triage". */
static int read_triage(struct triaged *t, const json_t *line, const char *where, struct error *err)
{
    if (json_object_get(line, "classes"))
        return read_probabilities(t, line, where, err);
    if (json_object_get(line, "confidence") && json_get_real(line, "confidence", 0, 1, &t->confidence, where, err))
        return -1;
    return read_class(&t->predicted, line, where, err);
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
    struct triaged *t = i < 0 ? NULL : &run->questions[i], read = { .confidence = NAN };
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
        t->confidence = read.confidence;
        t->wrong = read.wrong;
    }
    return 0;
}

static int count(struct triage_run *run, int i, struct error *err)
{
    const struct triaged *t = &run->questions[i];
    bool right = t->gold == t->predicted;

    run->table.n[t->gold][t->predicted]++;
    run->pair[run->n_scored] = (double)(t->gold * TRIAGE_CLASSES + t->predicted);
    run->decisions[run->n_scored] = (struct risk_decision){ t->confidence, right };
    run->has_confidence = run->has_confidence && !isnan(t->confidence);
    run->group[run->n_scored++] = t->database;
    if (!run->lines.f)
        return 0;
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", run->ids.items[i], "db_id", run->databases.items[t->database],
                  "gold", triage_class_name(t->gold), "class", triage_class_name(t->predicted), "correct", right);
    int rc = json_write_line(&run->lines, o, err);
    json_decref(o);
    return rc;
}

static int count_all(struct triage_run *run, struct error *err)
{
    size_t n = (size_t)run->n + 1;

    run->pair = xcalloc(n, sizeof *run->pair);
    run->group = xcalloc(n, sizeof *run->group);
    run->decisions = xcalloc(n, sizeof *run->decisions);
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
    if (!run->n_scored)
        return error_set(err, EXIT_CODE_DATA, "%s: expected an id of %s, got none", q->pred, q->gold);
    return run->lines.f ? out_file_commit(&run->lines, err) : 0;
}

/* The decision between the class and all others. */
static struct confusion of_class(const struct class_table *t, int class)
{
    struct confusion c = { 0 };

    for (int g = 0; g < TRIAGE_CLASSES; g++)
        for (int p = 0; p < TRIAGE_CLASSES; p++) {
            int64_t n = t->n[g][p];
            c.tp += g == class && p == class ? n : 0;
            c.fp += g != class && p == class ? n : 0;
            c.fn += g == class && p != class ? n : 0;
            c.tn += g != class && p != class ? n : 0;
        }
    return c;
}

/* Mean F1 of the classes that occur in gold. */
static double macro_f1(const struct class_table *t)
{
    double sum = 0;
    int classes = 0;

    for (int k = 0; k < TRIAGE_CLASSES; k++) {
        struct confusion c = of_class(t, k);
        if (c.tp + c.fn == 0)
            continue;
        sum += stats_metric(c, STATS_F1);
        classes++;
    }
    return classes ? sum / classes : NAN;
}

/* A measure for the bootstrap: scores are pairs of classes. */
static double measure_macro_f1(struct scored s, const void *arg)
{
    struct class_table t = { 0 };

    (void)arg;
    for (int i = 0; i < s.n; i++) {
        int pair = (int)s.score[i];
        t.n[pair / TRIAGE_CLASSES][pair % TRIAGE_CLASSES]++;
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

/* A measure of all pairs of classes. */
typedef double triage_measure(struct scored s, const void *arg);

static struct interval interval_of(const struct triage_run *run, triage_measure *measure)
{
    const struct bootstrap how = { run->group, run->databases.n, 1000, .95, 1 };
    uint8_t *none = xcalloc((size_t)run->n_scored + 1, 1);
    struct interval i = stats_bootstrap((struct scored){ run->pair, none, run->n_scored }, measure, NULL, &how);

    free(none);
    return i;
}

static double refused_of(const struct triage_run *run)
{
    return measure_refused((struct scored){ run->pair, NULL, run->n_scored }, NULL);
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
    return sum / run->n_scored;
}

static int64_t correct_of(const struct triage_run *run)
{
    int64_t n = 0;

    for (int c = 0; c < TRIAGE_CLASSES; c++)
        n += run->table.n[c][c];
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
    qsort(run->decisions, (size_t)run->n_scored, sizeof *run->decisions, surest_first);
    risk_curve_init(&curve, run->decisions, run->n_scored);
    result = curve.area;
    risk_curve_release(&curve);
    return result;
}

static json_t *class_json(const struct triage_run *run, int class)
{
    struct confusion c = of_class(&run->table, class);
    json_t *predicted = json_object();

    for (int p = 0; p < TRIAGE_CLASSES; p++)
        json_object_set_new(predicted, triage_class_name((enum triage_class)p), json_integer(run->table.n[class][p]));
    return json_pack("{s:I, s:f, s:f, s:f, s:o}", "questions", (json_int_t)(c.tp + c.fn), "precision",
                     stats_metric(c, STATS_PRECISION), "recall", stats_metric(c, STATS_RECALL), "f1",
                     stats_metric(c, STATS_F1), "predicted", predicted);
}

static json_t *run_json(struct triage_run *run)
{
    json_t *classes = json_object();

    for (int c = 0; c < TRIAGE_CLASSES; c++)
        json_object_set_new(classes, triage_class_name((enum triage_class)c), class_json(run, c));
    return json_pack("{s:s, s:i, s:i, s:f, s:o, s:f, s:o, s:o, s:{s:f, s:f, s:f}, s:o, s:o, s:O}", "rule", "triage",
                     "records", run->n_scored, "databases", run->databases.n, "macro_f1", macro_f1(&run->table),
                     "macro_f1_interval", score_interval_json(interval_of(run, measure_macro_f1)), "accuracy",
                     (double)correct_of(run) / run->n_scored, "refused_answerable", json_finite(refused_of(run)),
                     "refused_answerable_interval", score_interval_json(interval_of(run, measure_refused)),
                     "reliability", "0", reliability(run, 0), "10", reliability(run, 10), "N",
                     reliability(run, run->n_scored), "aurc", json_finite(area(run)), "classes", classes, "skipped",
                     run->skipped);
}

static void print_classes(const struct triage_run *run)
{
    printf("%-14s %9s %9s %9s %9s   predicted:", "class", "questions", "precision", "recall", "F1");
    for (int p = 0; p < TRIAGE_CLASSES; p++)
        printf(" %12s", triage_class_name((enum triage_class)p));
    putchar('\n');
    for (int k = 0; k < TRIAGE_CLASSES; k++) {
        struct confusion c = of_class(&run->table, k);
        printf("%-14s %9lld %9.3f %9.3f %9.3f             ", triage_class_name((enum triage_class)k),
               (long long)(c.tp + c.fn), stats_metric(c, STATS_PRECISION), stats_metric(c, STATS_RECALL),
               stats_metric(c, STATS_F1));
        for (int p = 0; p < TRIAGE_CLASSES; p++)
            printf(" %12lld", (long long)run->table.n[k][p]);
        putchar('\n');
    }
}

static void print_table(struct triage_run *run)
{
    double aurc = area(run);

    printf("%d questions of %d databases\n\n", run->n_scored, run->databases.n);
    print_classes(run);
    printf("\nmacro F1 %.3f  ", macro_f1(&run->table));
    score_print_interval(interval_of(run, measure_macro_f1), 1, 5, 3);
    printf("\naccuracy %.3f\n", (double)correct_of(run) / run->n_scored);
    if (!isnan(refused_of(run))) {
        printf("answerable questions refused %.3f  ", refused_of(run));
        score_print_interval(interval_of(run, measure_refused), 1, 5, 3);
        putchar('\n');
    }
    printf("reliability score RS(0) %.3f, RS(10) %.3f, RS(N) %.3f\n", reliability(run, 0), reliability(run, 10),
           reliability(run, run->n_scored));
    if (!isnan(aurc))
        printf("area under the risk-coverage curve %.3f\n", aurc);
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
    free(run->pair);
    free(run->group);
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
