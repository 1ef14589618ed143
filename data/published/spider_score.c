#include "data/published/spider_score.h"

#include "data/base/strings.h"
#include "data/db/db_path.h"
#include "data/published/ambiqt_score.h"
#include "data/published/spider_cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LENGTH = 1 << 16 }; /* bytes of a prediction */
enum { MAX_CLASSES = 4 };      /* of hardness or difficulty; the class MAX_CLASSES is all records */

enum measure { EXACT, EXACT_ANY, EXECUTION, EXECUTION_ANY, MEASURES };
static const char *const measure_names[] = { "exact", "exact_any", "execution", "execution_any" };

struct spider_rule {
    const char *classes[MAX_CLASSES];
    bool exact; /* has the exact set match */
};

static const struct spider_rule spider = { { "easy", "medium", "hard", "extra" }, true };
static const struct spider_rule bird = { { "simple", "moderate", "challenging" }, false };

struct spider_result {
    bool scored;
    int class; /* -1: none */
    bool met[MEASURES];
    struct spider_comparison first; /* of the first prediction */
    enum spider_error error;        /* with --errors: its class */
    json_t *line;                   /* of --per-example, or NULL */
    json_t *notes;                  /* reasons to skip the record or parts of it */
};

struct spider_run {
    const struct score_request *q;
    const struct spider_rule *rule;
    struct spider_cases cases;
    struct schema_set schemas;
    struct spider_result *results; /* [cases.n] */
    struct strings databases;
};

static void note(struct spider_result *r, const struct spider_case *c, const char *why, ...)
    __attribute__((format(printf, 3, 4)));

static void note(struct spider_result *r, const struct spider_case *c, const char *why, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, why);
    vsnprintf(text, sizeof text, why, ap);
    va_end(ap);
    json_array_append_new(r->notes,
                          json_pack("{s:o, s:o}", "record", json_message(c->where), "reason", json_message(text)));
}

/* The gold statement of a case, parsed and executed. */
struct spider_gold {
    struct spider_schema schema;
    struct spider_query *query;       /* rule spider */
    const struct exec_result *result; /* NULL without a database */
};

/* Measures of one prediction. */
struct spider_verdict {
    bool exact, execution;
    struct spider_comparison comparison;
};

static bool is_executed(const struct spider_rule *rule, const struct spider_gold *gold,
                        const struct spider_query *query, const struct exec_result *result)
{
    if (result->status != EXEC_OK || gold->result->status != EXEC_OK)
        return false;
    return rule->exact ? ambiqt_same_columns(result, query, gold->result, gold->query)
                       : ambiqt_same_rows(result, gold->result, false);
}

static struct spider_verdict judge(const struct spider_run *run, struct ambiqt_runner *runner,
                                   const struct spider_gold *gold, const char *sql)
{
    struct spider_query *query = run->rule->exact ? spider_query_new(&gold->schema, sql) : NULL;
    struct spider_verdict met = { 0 };

    if (query)
        spider_compare(&met.comparison, &gold->schema, query, gold->query);
    met.exact = met.comparison.exact;
    if (runner)
        met.execution = is_executed(run->rule, gold, query, ambiqt_run(runner, sql));
    spider_query_free(query);
    return met;
}

static json_t *components_json(const struct spider_comparison *c)
{
    json_t *o = json_object();

    for (int i = 0; i < SPIDER_COMPONENTS; i++)
        json_object_set_new(
            o, spider_component_name((enum spider_component)i),
            json_pack("{s:b, s:i, s:i}", "same", c->same[i], "predicted", c->predicted[i], "gold", c->gold[i]));
    return o;
}

static json_t *truth(bool known, bool value)
{
    return known ? json_boolean(value) : json_null();
}

static json_t *line_json(const struct spider_run *run, const struct spider_case *c, const struct spider_result *r,
                         json_t *predictions)
{
    bool exact = run->rule->exact, executed = run->q->db;
    json_t *o = json_pack("{s:O, s:s}", "id", c->id, "db_id", c->db_id);

    json_object_set_new(o, exact ? "hardness" : "difficulty",
                        r->class < 0 ? json_null() : json_string(run->rule->classes[r->class]));
    for (int m = 0; m < MEASURES; m++)
        json_object_set_new(o, measure_names[m], truth(m < EXECUTION ? exact : executed, r->met[m]));
    if (exact)
        json_object_set_new(o, "components", components_json(&r->first));
    if (run->q->errors)
        json_object_set_new(o, "class", json_string(spider_error_name(r->error)));
    json_object_set_new(o, "predictions", predictions);
    return o;
}

static void score_predictions(const struct spider_run *run, struct ambiqt_runner *runner, const struct spider_case *c,
                              const struct spider_gold *gold, struct spider_result *r)
{
    json_t *predictions = json_array();

    for (int i = 0; i < (c->n ? c->n : 1); i++) {
        const char *sql = c->n ? c->sql[i] : "";
        bool too_long = strlen(sql) > MAX_LENGTH;
        if (too_long)
            note(r, c, "prediction %d: longer than %d bytes, which counts as wrong", i + 1, MAX_LENGTH);
        struct spider_verdict met = judge(run, runner, gold, too_long ? "" : sql);
        if (i == 0) {
            r->first = met.comparison;
            r->met[EXACT] = met.exact;
            r->error = run->q->errors ? spider_error_of(&gold->schema, too_long ? "" : sql, c->gold) : SPIDER_CORRECT;
            r->met[EXECUTION] = met.execution;
        }
        r->met[EXACT_ANY] |= met.exact;
        r->met[EXECUTION_ANY] |= met.execution;
        if (c->n)
            json_array_append_new(predictions, json_pack("{s:o, s:o, s:o}", "sql", json_message(sql), "exact",
                                                         truth(run->rule->exact, met.exact), "execution",
                                                         truth(runner, met.execution)));
    }
    if (run->q->per_example)
        r->line = line_json(run, c, r, predictions);
    else
        json_decref(predictions);
}

/* The class of BIRD's "difficulty", or -1. */
static int difficulty_class(const struct spider_rule *rule, const json_t *record)
{
    const char *name = json_string_value(json_object_get(record, "difficulty"));

    for (int i = 0; i < MAX_CLASSES; i++)
        if (name && rule->classes[i] && strcmp(name, rule->classes[i]) == 0)
            return i;
    return -1;
}

/* Parses and executes the gold statement. False, with a note, if the record cannot be scored. */
static bool open_gold(const struct spider_run *run, struct ambiqt_runner *runner, const struct spider_case *c,
                      struct spider_gold *gold, struct spider_result *r)
{
    if (run->rule->exact) {
        gold->query = spider_query_new(&gold->schema, c->gold);
        r->class = (int)spider_hardness(gold->query);
        if (!spider_query_parsed(gold->query)) {
            note(r, c, "the gold statement is not in Spider's grammar: %s", c->gold);
            return false;
        }
    } else {
        r->class = difficulty_class(run->rule, c->record);
    }
    gold->result = runner ? ambiqt_run(runner, c->gold) : NULL;
    if (gold->result && gold->result->status != EXEC_OK)
        note(r, c, "execution: the gold statement fails, so that no prediction is right: %s", gold->result->message);
    return true;
}

static void score_case(const struct spider_run *run, struct ambiqt_runner *runner, int i)
{
    const struct spider_case *c = &run->cases.items[i];
    struct spider_result *r = &run->results[i];
    const struct schema *schema = run->rule->exact ? schema_find(&run->schemas, c->db_id) : NULL;
    struct spider_gold gold = { 0 };
    struct error err = { 0 };

    r->notes = json_array();
    if (run->rule->exact && !schema) {
        note(r, c, "db_id: no schema \"%s\" in %s", c->db_id, run->q->tables);
        return;
    }
    if (runner && ambiqt_runner_use(runner, c->db_id, &err)) {
        note(r, c, "%s", err.text);
        return;
    }
    if (schema)
        spider_schema_init(&gold.schema, schema);
    r->scored = open_gold(run, runner, c, &gold, r);
    if (r->scored)
        score_predictions(run, runner, c, &gold, r);
    spider_query_free(gold.query);
    spider_schema_release(&gold.schema);
}

/* The end of the cases of one database that begin with case `first`. */
static int end_of_batch(const struct spider_cases *c, int first)
{
    int end = first + 1;

    while (end < c->n && strcmp(c->items[end].db_id, c->items[first].db_id) == 0)
        end++;
    return end;
}

static void score_all(struct spider_run *run)
{
    int *starts = xcalloc((size_t)run->cases.n + 1, sizeof *starts), n = 0;

    for (int i = 0; i < run->cases.n; i = end_of_batch(&run->cases, i))
        starts[n++] = i;
#pragma omp parallel
    {
        struct ambiqt_runner *runner = run->q->db ? ambiqt_runner_new(run->q->db, run->q->published) : NULL;
#pragma omp for schedule(dynamic, 1)
        for (int b = 0; b < n; b++)
            for (int i = starts[b], end = end_of_batch(&run->cases, i); i < end; i++)
                score_case(run, runner, i);
        ambiqt_runner_free(runner);
    }
    free(starts);
    for (int i = 0; i < run->cases.n; i++)
        json_array_extend(run->cases.skipped, run->results[i].notes);
}

static int write_lines(const struct spider_run *run, struct error *err)
{
    struct out_file out = { 0 };
    int rc = out_file_open(&out, run->q->per_example, err);

    for (int i = 0; i < run->cases.n && rc == 0; i++)
        if (run->results[i].line)
            rc = json_write_line(&out, run->results[i].line, err);
    if (rc == 0)
        rc = out_file_commit(&out, err);
    out_file_abort(&out);
    return rc;
}

/* Totals of a class, or of all records. */
struct class_tally {
    int n, met[MEASURES];
    int predicted[SPIDER_COMPONENTS], gold[SPIDER_COMPONENTS]; /* records whose query has the component */
    int same_predicted[SPIDER_COMPONENTS], same_gold[SPIDER_COMPONENTS];
    int errors[SPIDER_ERRORS], repaired[SPIDER_ERRORS]; /* first predictions; those with a later one that matches */
};

static struct class_tally tally(const struct spider_run *run, int class)
{
    struct class_tally t = { 0 };

    for (int i = 0; i < run->cases.n; i++) {
        const struct spider_result *r = &run->results[i];
        if (!r->scored || (class < MAX_CLASSES && r->class != class))
            continue;
        t.n++;
        for (int m = 0; m < MEASURES; m++)
            t.met[m] += r->met[m];
        t.errors[r->error]++;
        t.repaired[r->error] += !r->met[EXACT] && r->met[EXACT_ANY];
        for (int c = 0; c < SPIDER_COMPONENTS; c++) {
            t.predicted[c] += r->first.predicted[c] > 0;
            t.gold[c] += r->first.gold[c] > 0;
            t.same_predicted[c] += r->first.same[c] && r->first.predicted[c] > 0;
            t.same_gold[c] += r->first.same[c] && r->first.gold[c] > 0;
        }
    }
    return t;
}

/* A component's scores: accuracy over the records whose prediction has it, recall over those whose gold has it. F1 is
 * 1 if both are 0, as the evaluator prints it. */
struct component_scores {
    double values[3];
};

static struct component_scores component_scores(const struct class_tally *t, int c)
{
    double accuracy = t->predicted[c] ? (double)t->same_predicted[c] / t->predicted[c] : 0;
    double recall = t->gold[c] ? (double)t->same_gold[c] / t->gold[c] : 0;
    double sum = accuracy + recall;

    return (struct component_scores){ { accuracy, recall, sum > 0 ? 2 * accuracy * recall / sum : 1 } };
}

static const char *const score_names[] = { "accuracy", "recall", "f1" };

static bool has_measure(const struct spider_run *run, int m)
{
    return m < EXECUTION ? run->rule->exact : run->q->db != NULL;
}

static const char *class_name(const struct spider_run *run, int class)
{
    return class == MAX_CLASSES ? "all" : run->rule->classes[class];
}

/* The interval of a measure over all records. */
static struct interval measure_interval(struct spider_run *run, int m)
{
    double *value = xcalloc((size_t)run->cases.n + 1, sizeof *value);
    int *group = xcalloc((size_t)run->cases.n + 1, sizeof *group), n = 0;

    for (int i = 0; i < run->cases.n; i++) {
        if (!run->results[i].scored)
            continue;
        value[n] = run->results[i].met[m];
        group[n++] = strings_add(&run->databases, run->cases.items[i].db_id);
    }
    struct interval interval = score_mean(value, n, group, run->databases.n).interval;
    free(value);
    free(group);
    return interval;
}

static json_t *components_of_class(const struct class_tally *t)
{
    json_t *o = json_object();

    for (int c = 0; c < SPIDER_COMPONENTS; c++) {
        struct component_scores s = component_scores(t, c);
        json_t *one = json_pack("{s:i, s:i}", "predicted", t->predicted[c], "gold", t->gold[c]);
        for (int k = 0; k < ARRAY_LEN(score_names); k++)
            json_object_set_new(one, score_names[k], json_real(s.values[k]));
        json_object_set_new(o, spider_component_name((enum spider_component)c), one);
    }
    return o;
}

static json_t *errors_of_class(const struct class_tally *t)
{
    json_t *o = json_object();

    for (int e = 0; e < SPIDER_ERRORS; e++)
        json_object_set_new(o, spider_error_name((enum spider_error)e),
                            json_pack("{s:i, s:i}", "n", t->errors[e], "repaired", t->repaired[e]));
    return o;
}

static json_t *class_json(const struct spider_run *run, int class)
{
    struct class_tally t = tally(run, class);
    json_t *o = json_pack("{s:i}", "n", t.n);

    for (int m = 0; m < MEASURES; m++)
        if (has_measure(run, m))
            json_object_set_new(o, measure_names[m], t.n ? json_real((double)t.met[m] / t.n) : json_null());
    if (run->rule->exact && t.n)
        json_object_set_new(o, "components", components_of_class(&t));
    if (run->q->errors && t.n)
        json_object_set_new(o, "classes", errors_of_class(&t));
    return o;
}

static int print_json(struct spider_run *run, struct error *err)
{
    json_t *o = json_object(), *intervals = json_object();

    for (int class = 0; class <= MAX_CLASSES; class ++)
        if (class_name(run, class))
            json_object_set_new(o, class_name(run, class), class_json(run, class));
    for (int m = 0; m < MEASURES; m++)
        if (has_measure(run, m))
            json_object_set_new(intervals, measure_names[m], score_interval_json(measure_interval(run, m)));
    json_object_set_new(o, "interval", intervals);
    json_object_set(o, "skipped", run->cases.skipped);
    return score_print_json(o, err);
}

static void print_measure(struct spider_run *run, int m, const struct class_tally *t)
{
    static const char *const texts[] = { "exact set match, top 1", "exact set match, any of", "execution, top 1",
                                         "execution, any of" };
    char text[64];

    snprintf(text, sizeof text, m % 2 ? "%s %lld" : "%s", texts[m], (long long)run->q->k);
    printf("%-26s", text);
    for (int class = 0; class <= MAX_CLASSES; class ++)
        if (class_name(run, class))
            t[class].n ? printf("%10.4f", (double)t[class].met[m] / t[class].n) : printf("%10s", "-");
    printf("  ");
    score_print_interval(measure_interval(run, m), 1, 6, 4);
    putchar('\n');
}

static void print_components(const struct class_tally *all)
{
    printf("\n%-26s%10s%10s%10s%10s%10s\n", "component, top 1", "accuracy", "of", "recall", "of", "F1");
    for (int c = 0; c < SPIDER_COMPONENTS; c++) {
        struct component_scores s = component_scores(all, c);
        printf("%-26s%10.4f%10d%10.4f%10d%10.4f\n", spider_component_name((enum spider_component)c), s.values[0],
               all->predicted[c], s.values[1], all->gold[c], s.values[2]);
    }
}

static void print_errors(const struct spider_run *run, const struct class_tally *t)
{
    const struct class_tally *all = &t[MAX_CLASSES];
    int wrong = all->n - all->errors[SPIDER_CORRECT];

    printf("\n%-26s", "class of top 1");
    for (int class = 0; class <= MAX_CLASSES; class ++)
        printf("%10s", class_name(run, class));
    printf("%14s%14s\n", "of the wrong", "right later");
    for (int e = 0; e < SPIDER_ERRORS; e++) {
        printf("%-26s", spider_error_name((enum spider_error)e));
        for (int class = 0; class <= MAX_CLASSES; class ++)
            printf("%10d", t[class].errors[e]);
        if (e == SPIDER_CORRECT || wrong == 0)
            printf("%14s%14s\n", "-", "-");
        else
            printf("%12.1f %%%14d\n", 100.0 * all->errors[e] / wrong, all->repaired[e]);
    }
}

static void print_table(struct spider_run *run)
{
    struct class_tally t[MAX_CLASSES + 1];

    printf("%-26s", "");
    for (int class = 0; class <= MAX_CLASSES; class ++) {
        t[class] = tally(run, class);
        if (class_name(run, class))
            printf("%10s", class_name(run, class));
    }
    printf("\n%-26s", "records");
    for (int class = 0; class <= MAX_CLASSES; class ++)
        if (class_name(run, class))
            printf("%10d", t[class].n);
    putchar('\n');
    for (int m = 0; m < MEASURES; m++)
        if (has_measure(run, m))
            print_measure(run, m, t);
    printf("in brackets: 95 %% of 1000 resamples of whole databases, all records\n");
    if (run->databases.n < 2)
        score_print_one_database();
    if (run->rule->exact)
        print_components(&t[MAX_CLASSES]);
    if (run->q->errors)
        print_errors(run, t);
    score_print_skipped(run->cases.skipped);
}

static int open_files(struct spider_run *run, struct error *err)
{
    const struct score_request *q = run->q;
    const char *name = run->rule->exact ? "spider" : "bird";

    if (!q->gold || (run->rule->exact ? !q->tables : !q->db))
        return error_set(err, EXIT_CODE_USAGE, "--rule %s requires --%s", name,
                         !q->gold           ? "gold"
                         : run->rule->exact ? "tables"
                                            : "db");
    if (db_path_check(q->db, err) || spider_cases_read(&run->cases, q->gold, q->pred, q->k, q->below, err) ||
        (q->tables && schema_set_open(&run->schemas, q->tables, err)))
        return -1;
    if (run->cases.n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no best candidate has a probability below %g", q->pred, q->below);
    run->results = xcalloc((size_t)run->cases.n, sizeof *run->results);
    return 0;
}

static int print_results(struct spider_run *run, struct error *err)
{
    const json_t *first = json_array_get(run->cases.skipped, 0);

    if (tally(run, MAX_CLASSES).n == 0)
        return error_set(err, EXIT_CODE_DATA, "%s: no record could be scored: %s", run->q->pred,
                         json_string_value(json_object_get(first, "reason")));
    if (run->q->per_example && write_lines(run, err))
        return -1;
    if (run->q->json)
        return print_json(run, err);
    print_table(run);
    return 0;
}

static enum exit_code run_rule(const struct spider_rule *rule, const struct score_request *q, struct error *err)
{
    struct spider_run run = { .q = q, .rule = rule };

    int rc = open_files(&run, err);
    if (rc == 0) {
        score_all(&run);
        rc = print_results(&run, err);
    }
    bool skipped = json_array_size(run.cases.skipped) > 0;
    for (int i = 0; i < run.cases.n && run.results; i++) {
        json_decref(run.results[i].line);
        json_decref(run.results[i].notes);
    }
    free(run.results);
    strings_release(&run.databases);
    if (run.schemas.schemas)
        schema_set_close(&run.schemas);
    spider_cases_release(&run.cases);
    return rc ? err->code : skipped ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}

enum exit_code score_spider(const struct score_request *q, struct error *err)
{
    return run_rule(&spider, q, err);
}

enum exit_code score_bird(const struct score_request *q, struct error *err)
{
    return run_rule(&bird, q, err);
}
