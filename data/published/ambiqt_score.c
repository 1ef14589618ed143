#include "data/published/ambiqt_score.h"

#include "data/base/strings.h"
#include "data/corpora/ambiqt_text.h"
#include "data/db/db_path.h"
#include "data/eval/score.h"
#include "data/published/ambiqt_map.h"
#include "data/sql/sql.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Compares exactly, where conversion of the integer would round it. */
static int compare_mixed(int64_t i, double d)
{
    if (d >= 0x1p63)
        return -1;
    if (d < -0x1p63)
        return 1;
    int64_t whole = (int64_t)d;
    double rest = d - (double)whole;
    if (i != whole)
        return i < whole ? -1 : 1;
    return (rest < 0) - (rest > 0);
}

static int compare_numbers(const struct cell *a, const struct cell *b)
{
    if (a->type == CELL_INTEGER && b->type == CELL_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->type == CELL_INTEGER)
        return compare_mixed(a->integer, b->real);
    if (b->type == CELL_INTEGER)
        return -compare_mixed(b->integer, a->real);
    return (a->real > b->real) - (a->real < b->real);
}

static int compare_cells(const struct cell *a, const struct cell *b)
{
    static const int classes[] = {
        [CELL_NULL] = 0, [CELL_INTEGER] = 1, [CELL_REAL] = 1, [CELL_TEXT] = 2, [CELL_BLOB] = 3
    };
    int x = classes[a->type], y = classes[b->type];

    if (x != y)
        return x - y;
    if (x == 0)
        return 0;
    if (x == 1)
        return compare_numbers(a, b);
    int order = memcmp(a->bytes, b->bytes, (size_t)(a->n < b->n ? a->n : b->n));
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

static int compare_rows(const void *a, const void *b, void *columns)
{
    for (int c = 0; c < *(int *)columns; c++) {
        int order = compare_cells(*(const struct cell *const *)a + c, *(const struct cell *const *)b + c);
        if (order)
            return order;
    }
    return 0;
}

/* Pointers to the *n rows; for a set, sorted and distinct. The caller frees. */
static const struct cell **gather_rows(const struct exec_result *r, bool ordered, int64_t *n)
{
    const struct cell **rows = xcalloc((size_t)r->n + 1, sizeof *rows);
    int columns = r->columns;

    *n = r->n;
    for (int64_t i = 0; i < r->n; i++)
        rows[i] = r->cells + i * columns;
    if (ordered)
        return rows;
    qsort_r(rows, (size_t)r->n, sizeof *rows, compare_rows, &columns);
    *n = 0;
    for (int64_t i = 0; i < r->n; i++)
        if (i == 0 || compare_rows(&rows[i], &rows[*n - 1], &columns))
            rows[(*n)++] = rows[i];
    return rows;
}

bool ambiqt_same_rows(const struct exec_result *a, const struct exec_result *b, bool ordered)
{
    int columns = a->columns;
    int64_t n_a, n_b;

    if (a->n == 0 || b->n == 0)
        return a->n == b->n;
    if (a->columns != b->columns)
        return false;
    const struct cell **x = gather_rows(a, ordered, &n_a), **y = gather_rows(b, ordered, &n_b);
    bool same = n_a == n_b;
    for (int64_t i = 0; same && i < n_a; i++)
        same = compare_rows(&x[i], &y[i], &columns) == 0;
    free(x);
    free(y);
    return same;
}

/* The last item of b with the key of a's item i, or -1. */
static int last_with_key(const struct spider_query *a, int i, const struct spider_query *b)
{
    int j = spider_query_items(b) - 1;
    while (j >= 0 && !spider_same_key(a, i, b, j))
        j--;
    return j;
}

static bool same_column(const struct exec_result *a, int i, const struct exec_result *b, int j)
{
    bool same = a->n == b->n;

    for (int64_t row = 0; same && row < a->n; row++)
        same = compare_cells(&a->cells[row * a->columns + i], &b->cells[row * b->columns + j]) == 0;
    return same;
}

/* Whether the select list is longer than the result is wide, so that its columns cannot be compared. */
static bool too_narrow(const struct exec_result *r, const struct spider_query *q)
{
    return r->n > 0 && spider_query_items(q) > r->columns;
}

bool ambiqt_same_columns(const struct exec_result *a, const struct spider_query *a_query, const struct exec_result *b,
                         const struct spider_query *b_query)
{
    bool same = !too_narrow(a, a_query) && !too_narrow(b, b_query);

    for (int i = 0; same && i < spider_query_items(a_query); i++) {
        int mine = last_with_key(a_query, i, a_query), theirs = last_with_key(a_query, i, b_query);
        same = theirs >= 0 && same_column(a, mine, b, theirs);
    }
    for (int j = 0; same && j < spider_query_items(b_query); j++)
        same = last_with_key(b_query, j, a_query) >= 0;
    return same;
}

enum { MAX_BYTES = 256 << 20 }; /* bound of cached results */

struct ambiqt_runner {
    const char *databases; /* as in db_path.h */
    struct exec_limits limits;
    char *db_id;
    struct exec_db *db;
    struct strings sql;
    struct exec_result **results; /* of each sql */
    int cap;
    int64_t bytes;
};

struct ambiqt_runner *ambiqt_runner_new(const char *db, bool python_text)
{
    struct ambiqt_runner *r = xcalloc(1, sizeof *r);
    r->databases = db;
    r->limits = exec_limits_default;
    r->limits.python_text = python_text;
    return r;
}

static void leave(struct ambiqt_runner *r)
{
    for (int i = 0; i < r->sql.n; i++) {
        exec_result_release(r->results[i]);
        free(r->results[i]);
    }
    r->bytes = 0;
    strings_release(&r->sql);
    exec_close(r->db);
    free(r->db_id);
    r->db = NULL;
    r->db_id = NULL;
}

void ambiqt_runner_free(struct ambiqt_runner *r)
{
    if (!r)
        return;
    leave(r);
    free(r->results);
    free(r);
}

int ambiqt_runner_use(struct ambiqt_runner *r, const char *db_id, struct error *err)
{
    if (r->db_id && strcmp(r->db_id, db_id) == 0 && r->bytes < MAX_BYTES)
        return 0;
    leave(r);
    char *path = db_path(r->databases, db_id, err);
    if (path && (r->db = exec_open(path, &r->limits, err)))
        r->db_id = xstrdup(db_id);
    free(path);
    return r->db ? 0 : -1;
}

const struct exec_result *ambiqt_run(struct ambiqt_runner *r, const char *sql)
{
    int known = strings_find(&r->sql, sql);
    if (known >= 0)
        return r->results[known];
    GROW(r->results, r->sql.n, r->cap);
    struct exec_result *result = xmalloc(sizeof *result);
    *result = exec_run(r->db, sql);
    r->bytes += result->bytes;
    return r->results[strings_add(&r->sql, sql)] = result;
}

/* "em", "exm" or "direct". */
static const char *ambiqt_measure_name(enum ambiqt_measure m)
{
    static const char *const names[AMBIQT_MEASURES] = { "em", "exm", "direct" };
    return names[m];
}

enum { MAX_LENGTH = 1 << 16 }; /* of a prediction; mapping time grows superlinearly */

struct gold {
    char *sql;
    struct spider_query *query;
    const struct exec_result *result; /* NULL without databases */
    bool ordered;                     /* the order of rows counts */
};

/* The measures that a prediction satisfies. */
struct met {
    bool by[AMBIQT_MEASURES];
};

/* Whether the gold query failed in the published evaluator too, which has no limits. */
static bool published_failure(const struct ambiqt_judge *j, const struct exec_result *gold)
{
    return j->published && (gold->status == EXEC_FAILED || gold->status == EXEC_REFUSED);
}

static void execute(const struct ambiqt_judge *j, const struct gold *gold, const struct spider_query *query,
                    const char *sql, struct met *met)
{
    const struct exec_result *result = ambiqt_run(j->runner, sql);

    if (result->status != EXEC_OK)
        return;
    if (gold->result->status != EXEC_OK) {
        met->by[AMBIQT_EXM] = met->by[AMBIQT_DIRECT] = published_failure(j, gold->result);
        return;
    }
    met->by[AMBIQT_EXM] = ambiqt_same_columns(result, query, gold->result, gold->query);
    met->by[AMBIQT_DIRECT] = ambiqt_same_rows(result, gold->result, gold->ordered);
}

static struct met compare(const struct ambiqt_judge *j, const struct gold *gold, const char *sql)
{
    struct met met = { { false } };

    if (!sql)
        return met;
    struct spider_query *query = spider_query_new(j->schema, sql);
    met.by[AMBIQT_EM] = spider_match(j->schema, query, gold->query);
    if (j->runner)
        execute(j, gold, query, sql, &met);
    if (!spider_query_parsed(gold->query))
        met.by[AMBIQT_EM] = met.by[AMBIQT_EXM] = j->published;
    spider_query_free(query);
    return met;
}

static void score_prediction(const struct ambiqt_judge *j, const struct ambiqt_record *r, const struct gold *gold,
                             const char *prediction, struct ambiqt_found *found)
{
    bool exclusive = r->type == SIA_JOIN || r->type == SIA_AGGREGATE;
    struct ambiqt_interpretations map =
        j->published ? ambiqt_map_published(r, prediction) : ambiqt_map(r, j->schema->schema, prediction);
    struct met first = compare(j, gold, map.sql[0]), second = compare(j, gold, map.sql[1]);

    for (int m = 0; m < AMBIQT_MEASURES; m++) {
        found->interpretation[m][0] |= first.by[m];
        found->interpretation[m][1] |= second.by[m] && !(exclusive && first.by[m]);
    }
    ambiqt_interpretations_release(&map);
}

/* Published, ORDER BY counts anywhere, also in a sub-query or a string. */
static bool is_ordered(const struct ambiqt_judge *j, const char *sql)
{
    return j->published ? strstr(sql, " order by ") != NULL : sql_ordered(sql, NULL) > 0;
}

static void check_gold(const struct ambiqt_judge *j, struct ambiqt_cases *c, int row, const struct gold *gold)
{
    const char *met = j->published ? "which every prediction meets" : "which no prediction meets";

    if (!spider_query_parsed(gold->query))
        ambiqt_cases_skip(c, row, "em: the gold query is not in Spider's grammar, %s: %s", met, gold->sql);
    if (gold->result && gold->result->status != EXEC_OK)
        ambiqt_cases_skip(c, row, "exm, direct: the gold query fails, %s: %s",
                          published_failure(j, gold->result) ? met : "which no prediction meets",
                          gold->result->message);
}

struct ambiqt_found ambiqt_score(const struct ambiqt_judge *judge, struct ambiqt_cases *c, const struct ambiqt_case *of)
{
    const struct ambiqt_record *r = &c->corpus.items[of->record];
    struct ambiqt_found found = { { { false } } };
    struct gold gold = { .sql = ambiqt_normalize(r->original) };

    gold.ordered = is_ordered(judge, gold.sql);
    gold.query = spider_query_new(judge->schema, gold.sql);
    gold.result = judge->runner ? ambiqt_run(judge->runner, gold.sql) : NULL;
    check_gold(judge, c, of->row, &gold);
    for (int i = 0; i < of->predictions.n; i++) {
        const char *prediction = of->predictions.items[i];
        if (strlen(prediction) <= MAX_LENGTH)
            score_prediction(judge, r, &gold, prediction, &found);
        else
            ambiqt_cases_skip(c, of->row, "prediction %d: longer than %d bytes, which counts as wrong", i, MAX_LENGTH);
    }
    spider_query_free(gold.query);
    free(gold.sql);
    return found;
}

/* Rule ambiqt. */

/* A run of the rule. */
struct score_run {
    const struct score_request *request;
    struct ambiqt_cases cases;
    struct schema_set schemas;
    struct ambiqt_found *found; /* [cases.n] */
    bool *scored;               /* false: skipped */
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
        return error_set(err, EXIT_CODE_USAGE, "--rule ambiqt requires --tables tables.json");
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

/* Scores a case. A missing schema or database skips the record; problems are appended to the skipped records of c. */
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

/* Consecutive cases of one database, for one thread. */
struct case_batch {
    int first, n;
    json_t *skipped;
};

/* Splits the cases into batches; the caller frees. */
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
    static const char *const interpretations[] = { "orig", "alt" };
    json_t *o = json_object();

    json_object_set_new(o, "row", json_integer(r->cases.items[i].row));
    json_object_set_new(o, "db_id", json_string(record_of(r, i)->db_id));
    for (int m = 0; m < AMBIQT_MEASURES; m++)
        for (int k = 0; k < 2; k++) {
            char name[32];
            snprintf(name, sizeof name, "%s_%s", ambiqt_measure_name((enum ambiqt_measure)m), interpretations[k]);
            json_object_set_new(o, name,
                                m == AMBIQT_EM || r->request->db ? json_boolean(r->found[i].interpretation[m][k])
                                                                 : json_null());
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

/* Records of a type with either, with both interpretations found. */
struct type_tally {
    int rows, either, both;
    struct score_mean share[2]; /* of either, of both */
};

static struct type_tally count(struct score_run *r, enum sia_type type, enum ambiqt_measure m, bool intervals)
{
    struct type_tally t = { 0 };
    double *value[2] = { xcalloc((size_t)r->cases.n + 1, sizeof(double)),
                         xcalloc((size_t)r->cases.n + 1, sizeof(double)) };
    int *group = xcalloc((size_t)r->cases.n + 1, sizeof *group);

    for (int i = 0; i < r->cases.n; i++) {
        const bool *found = r->found[i].interpretation[m];
        if (!r->scored[i] || record_of(r, i)->type != type)
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

/* The row of a type: counts by measure, and intervals of the shares. */
static json_t *kind_json(struct score_run *r, enum sia_type k, json_t *intervals)
{
    json_t *kind = json_object();

    json_object_set_new(kind, "rows", json_integer(count(r, k, AMBIQT_EM, false).rows));
    for (int m = 0; m < n_measures(r); m++) {
        struct type_tally t = count(r, k, (enum ambiqt_measure)m, true);
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

    for (enum sia_type k = 0; k < AMBIQT_TYPES; k++) {
        if (!count(r, k, AMBIQT_EM, false).rows)
            continue;
        json_t *of_kind = json_object();
        json_object_set_new(kinds, sia_type_letter(k), kind_json(r, k, of_kind));
        json_object_set_new(intervals, sia_type_letter(k), of_kind);
    }
    json_object_set_new(o, "type", kinds);
    json_object_set_new(o, "interval", intervals);
    if (json_array_size(r->cases.skipped))
        json_object_set(o, "skipped", r->cases.skipped);
    return score_print_json(o, err);
}

static void print_share(int count, struct score_mean share)
{
    printf("  %5d %5.1f %% ", count, 100 * share.mean);
    score_print_interval(share.interval, 100, 5, 1);
}

static void print_table(struct score_run *r)
{
    bool complete = true;

    printf("type  measure  records  either of %-5lld                both\n", (long long)r->request->k);
    for (int k = 0; k < AMBIQT_TYPES; k++)
        for (int m = 0; m < n_measures(r); m++) {
            struct type_tally t = count(r, (enum sia_type)k, (enum ambiqt_measure)m, true);
            if (!t.rows)
                continue;
            complete = complete && !isnan(t.share[0].interval.low);
            printf("%-4s  %-7s  %7d", sia_type_letter((enum sia_type)k), ambiqt_measure_name((enum ambiqt_measure)m),
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
