/* Part of score.h: rule ambiqt. */
#include "data/exec/db_path.h"
#include "data/score/ambiqt_score.h"
#include "data/score/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One run of the rule. */
struct score_run {
    const struct score_request *request;
    struct ambiqt_cases cases;
    struct schema_set schemas;
    struct ambiqt_found *found; /* [cases.n] */
    bool *scored;               /* false: the record was skipped */
    struct strings databases;
    struct out_file evidence;
};

static const struct ambiqt_record *record_of(const struct score_run *r, int i)
{
    return &r->cases.corpus.items[r->cases.items[i].record];
}

static int open_all(struct score_run *r, struct error *err)
{
    const struct score_request *q = r->request;

    if (!q->tables)
        return error_set(err, EXIT_CODE_USAGE, "--rule ambiqt wants --tables tables.json");
    if (db_path_check(q->db, err) || ambiqt_cases_read(&r->cases, q->gold, q->pred, q->k, err) ||
        schema_set_open(&r->schemas, q->tables, err))
        return -1;
    r->found = xcalloc((size_t)r->cases.n + 1, sizeof *r->found);
    r->scored = xcalloc((size_t)r->cases.n + 1, sizeof *r->scored);
    return q->per_example ? out_file_open(&r->evidence, q->per_example, err) : 0;
}

static void close_all(struct score_run *r)
{
    out_file_abort(&r->evidence);
    strings_release(&r->databases);
    free(r->found);
    free(r->scored);
    if (r->schemas.schemas)
        schema_set_close(&r->schemas);
    ambiqt_cases_release(&r->cases);
}

/* A schema or a database that is not there is the record's fault.  What is odd goes to the skipped records of c. */
static void score_case(struct score_run *r, struct ambiqt_runner *runner, struct ambiqt_cases *c, int i)
{
    const struct ambiqt_case *of = &c->items[i];
    const char *db_id = record_of(r, i)->db_id;
    const struct schema *schema = schema_find(&r->schemas, db_id);
    struct error err = { 0 };

    if (!schema) {
        ambiqt_cases_skip(c, of->row, "db_id: no schema \"%s\" in %s", db_id, r->request->tables);
        return;
    }
    if (runner && ambiqt_runner_use(runner, db_id, &err)) {
        ambiqt_cases_skip(c, of->row, "%s", err.text);
        return;
    }
    struct spider_schema s;
    spider_schema_init(&s, schema);
    const struct ambiqt_judge judge = { &s, runner, r->request->published };
    r->found[i] = ambiqt_score(&judge, c, of);
    r->scored[i] = true;
    spider_schema_release(&s);
}

/* Cases of one database that follow each other, for one thread. */
struct case_batch {
    int first, n;
    json_t *skipped;
};

/* The caller frees. */
static struct case_batch *cut(const struct score_run *r, int *n)
{
    struct case_batch *parts = xcalloc((size_t)r->cases.n + 1, sizeof *parts);

    *n = 0;
    for (int i = 0; i < r->cases.n; i++) {
        if (i == 0 || strcmp(record_of(r, i)->db_id, record_of(r, i - 1)->db_id) != 0)
            parts[(*n)++] = (struct case_batch){ .first = i, .skipped = json_array() };
        parts[*n - 1].n++;
    }
    return parts;
}

static void score_part(struct score_run *r, struct ambiqt_runner *runner, const struct case_batch *part)
{
    struct ambiqt_cases c = r->cases;

    c.skipped = part->skipped;
    for (int i = part->first; i < part->first + part->n; i++)
        score_case(r, runner, &c, i);
}

static int write_evidence(struct score_run *r, int i, struct error *err)
{
    static const char *const readings[] = { "orig", "alt" };
    json_t *o = json_object();

    json_object_set_new(o, "row", json_integer(r->cases.items[i].row));
    json_object_set_new(o, "db_id", json_string(record_of(r, i)->db_id));
    for (int m = 0; m < AMBIQT_MEASURES; m++)
        for (int k = 0; k < 2; k++) {
            char name[32];
            snprintf(name, sizeof name, "%s_%s", ambiqt_measure_name((enum ambiqt_measure)m), readings[k]);
            json_object_set_new(
                o, name, m == AMBIQT_EM || r->request->db ? json_boolean(r->found[i].reading[m][k]) : json_null());
        }
    int rc = json_write_line(&r->evidence, o, err);
    json_decref(o);
    return rc;
}

static int score_all(struct score_run *r, struct error *err)
{
    const struct score_request *q = r->request;
    int n;
    struct case_batch *parts = cut(r, &n);

#pragma omp parallel
    {
        struct ambiqt_runner *runner = q->db ? ambiqt_runner_new(q->db, q->published) : NULL;
#pragma omp for schedule(dynamic, 1)
        for (int p = 0; p < n; p++)
            score_part(r, runner, &parts[p]);
        ambiqt_runner_free(runner);
    }
    for (int p = 0; p < n; p++) {
        json_array_extend(r->cases.skipped, parts[p].skipped);
        json_decref(parts[p].skipped);
    }
    free(parts);
    for (int i = 0; i < r->cases.n && r->evidence.f; i++)
        if (r->scored[i] && write_evidence(r, i, err))
            return -1;
    return r->evidence.f ? out_file_commit(&r->evidence, err) : 0;
}

/* Records of a kind in which either, in which both readings were found. */
struct kind_tally {
    int rows, either, both;
    struct score_mean share[2]; /* of either, of both */
};

static struct kind_tally count(struct score_run *r, enum sia_kind kind, enum ambiqt_measure m, bool intervals)
{
    struct kind_tally t = { 0 };
    double *value[2] = { xcalloc((size_t)r->cases.n + 1, sizeof(double)),
                         xcalloc((size_t)r->cases.n + 1, sizeof(double)) };
    int *group = xcalloc((size_t)r->cases.n + 1, sizeof *group);

    for (int i = 0; i < r->cases.n; i++) {
        const bool *found = r->found[i].reading[m];
        if (!r->scored[i] || record_of(r, i)->kind != kind)
            continue;
        group[t.rows] = strings_add(&r->databases, record_of(r, i)->db_id);
        value[0][t.rows] = found[0] || found[1];
        value[1][t.rows++] = found[0] && found[1];
        t.either += found[0] || found[1];
        t.both += found[0] && found[1];
    }
    for (int k = 0; k < 2 && intervals; k++)
        t.share[k] = score_mean(value[k], t.rows, group, r->databases.n);
    free(value[0]);
    free(value[1]);
    free(group);
    return t;
}

static int n_measures(const struct score_run *r)
{
    return r->request->db ? AMBIQT_MEASURES : 1;
}

/* Of one kind: rows and, by measure, counts; and the intervals of their shares. */
static json_t *kind_json(struct score_run *r, enum sia_kind k, json_t *intervals)
{
    json_t *kind = json_object();

    json_object_set_new(kind, "rows", json_integer(count(r, k, AMBIQT_EM, false).rows));
    for (int m = 0; m < n_measures(r); m++) {
        struct kind_tally t = count(r, k, (enum ambiqt_measure)m, true);
        const char *name = ambiqt_measure_name((enum ambiqt_measure)m);
        json_object_set_new(kind, name, json_pack("{s:i, s:i}", "either", t.either, "both", t.both));
        json_object_set_new(intervals, name,
                            json_pack("{s:o, s:o}", "either", score_interval_json(t.share[0].interval), "both",
                                      score_interval_json(t.share[1].interval)));
    }
    return kind;
}

static int print_json(struct score_run *r, struct error *err)
{
    json_t *o = json_object(), *kinds = json_object(), *intervals = json_object();

    for (enum sia_kind k = 0; k < SIA_KINDS; k++) {
        if (!count(r, k, AMBIQT_EM, false).rows)
            continue;
        json_t *of_kind = json_object();
        json_object_set_new(kinds, sia_kind_letter(k), kind_json(r, k, of_kind));
        json_object_set_new(intervals, sia_kind_letter(k), of_kind);
    }
    json_object_set_new(o, "kind", kinds);
    json_object_set_new(o, "interval", intervals);
    if (json_array_size(r->cases.skipped))
        json_object_set(o, "skipped", r->cases.skipped);
    int rc = score_print_json(o, err);
    json_decref(o);
    return rc;
}

static void print_share(int count, struct score_mean share)
{
    printf("  %5d %5.1f %% ", count, 100 * share.mean);
    score_print_interval(share.interval, 100, 5, 1);
}

static void print_table(struct score_run *r)
{
    bool complete = true;

    printf("kind  measure  records  either of %-5lld                both\n", (long long)r->request->k);
    for (int k = 0; k < SIA_KINDS; k++)
        for (int m = 0; m < n_measures(r); m++) {
            struct kind_tally t = count(r, (enum sia_kind)k, (enum ambiqt_measure)m, true);
            if (!t.rows)
                continue;
            complete = complete && !isnan(t.share[0].interval.low);
            printf("%-4s  %-7s  %7d", sia_kind_letter((enum sia_kind)k), ambiqt_measure_name((enum ambiqt_measure)m),
                   t.rows);
            print_share(t.either, t.share[0]);
            print_share(t.both, t.share[1]);
            printf("\n");
        }
    printf("in brackets: 95 %% of 1000 resamples of whole databases\n");
    if (!complete)
        score_print_one_database();
    score_print_skipped(r->cases.skipped);
}

enum exit_code score_ambiqt(const struct score_request *q, struct error *err)
{
    struct score_run r = { .request = q };

    int rc = open_all(&r, err);
    if (rc == 0)
        rc = score_all(&r, err);
    if (rc == 0 && q->json)
        rc = print_json(&r, err);
    else if (rc == 0)
        print_table(&r);
    bool skipped = json_array_size(r.cases.skipped) > 0;
    close_all(&r);
    return rc ? err->code : skipped ? EXIT_CODE_RECORDS : EXIT_CODE_OK;
}
