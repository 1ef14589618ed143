#include "data/clarify/calibration.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/db/schema_catalog.h"
#include "data/eval/score.h"
#include "data/sql/sql_form.h"
#include "data/sql/sql_lex.h"
#include "kernels/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int calibration_read(struct calibration *c, const char *path, struct error *err)
{
    json_t *o = json_read_file(path, err);
    int rc = o ? 0 : -1;

    if (rc == 0)
        rc = json_get_real(o, "alpha", 0, 1, &c->alpha, path, err);
    if (rc == 0)
        rc =
            json_get_real(o, "temperature", 1.0 / CALIBRATION_COOLEST, CALIBRATION_COOLEST, &c->temperature, path, err);
    if (rc == 0)
        rc = json_get_real(o, "coverage", 0, 1, &c->coverage, path, err);
    c->keep = -1;
    if (rc == 0 && json_object_get(o, "keep"))
        rc = json_get_real(o, "keep", 0, 1, &c->keep, path, err);
    json_decref(o);
    return rc;
}

int calibration_length(const char *sql)
{
    int n;

    free(sql_lex(sql, &n));
    return n > 1 ? n - 1 : 1; /* the last token marks the end */
}

static double log_weight(double raw, int length, double alpha, double temperature)
{
    return raw / (alpha > 0 ? pow(length, alpha) : 1) / temperature;
}

void calibration_shares(const struct calibration *c, double *p, const double *raw, const int *length, int n,
                        double share)
{
    double *logs = xmalloc((size_t)n * sizeof *logs + 1);

    for (int i = 0; i < n; i++)
        logs[i] = log_weight(raw[i], length[i], c->alpha, c->temperature);
    shares_of_logs(p, logs, n, share);
    free(logs);
}

void calibration_apply(const struct calibration *c, struct candidate_list *l)
{
    int *length = xmalloc((size_t)l->n * sizeof *length + 1);

    for (int i = 0; i < l->n; i++)
        length[i] = calibration_length(l->sql[i]);
    calibration_shares(c, l->p, l->raw, length, l->n, c->coverage);
    l->p_none = 1 - c->coverage;
    free(length);
}

/* Negative log-likelihood of a gold; NAN if no candidate is the gold.  Weights are relative to the largest. */
static double surprise(const struct observation *o, const bool *is_gold, double alpha, double temperature)
{
    double most = -HUGE_VAL, all = 0, right = 0;
    bool covered = false;

    for (int i = 0; i < o->n; i++)
        most = fmax(most, log_weight(o->raw[i], o->length[i], alpha, temperature));
    for (int i = 0; i < o->n; i++) {
        double w = exp(log_weight(o->raw[i], o->length[i], alpha, temperature) - most);
        all += w;
        right += is_gold[i] ? w : 0;
        covered = covered || is_gold[i];
    }
    return covered ? log(all) - log(fmax(right, 1e-300)) : NAN;
}

/* A running mean; NAN without a value. */
struct running_mean {
    double sum;
    int n;
};

static void add_value(struct running_mean *m, double value)
{
    if (!isnan(value))
        *m = (struct running_mean){ m->sum + value, m->n + 1 };
}

static double value_of(const struct running_mean *m)
{
    return m->n ? m->sum / m->n : NAN;
}

double calibration_nll(const struct observation *list, int n, double alpha, double temperature)
{
    struct running_mean records = { 0 };

    for (int r = 0; r < n; r++) {
        const struct observation *o = &list[r];
        struct running_mean golds = { 0 };
        for (int g = 0; g < o->golds; g++)
            add_value(&golds, surprise(o, o->right + (size_t)g * (size_t)o->n, alpha, temperature));
        add_value(&records, value_of(&golds));
    }
    return value_of(&records);
}

/* Golden-section search over the logarithm of the temperature. */
static double fit_temperature(const struct observation *list, int n, double alpha)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = -log(CALIBRATION_COOLEST), high = log(CALIBRATION_COOLEST);
    double a = high - golden * (high - low), b = low + golden * (high - low);
    double at_a = calibration_nll(list, n, alpha, exp(a)), at_b = calibration_nll(list, n, alpha, exp(b));

    while (high - low > 1e-6) {
        if (at_a <= at_b) {
            high = b;
            b = a;
            at_b = at_a;
            at_a = calibration_nll(list, n, alpha, exp(a = high - golden * (high - low)));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            at_b = calibration_nll(list, n, alpha, exp(b = low + golden * (high - low)));
        }
    }
    return exp((low + high) / 2);
}

struct calibration calibration_fit(const struct observation *list, int n)
{
    struct calibration best = { 0, fit_temperature(list, n, 0), 1, -1 },
                       other = { 1, fit_temperature(list, n, 1), 1, -1 };

    return calibration_nll(list, n, 1, other.temperature) < calibration_nll(list, n, 0, best.temperature) ? other
                                                                                                          : best;
}

/* Probability of the least probable gold; 0 if a gold has no candidate. */
static double score_of_record(const struct calibration *c, const struct observation *o)
{
    double *p = xmalloc((size_t)o->n * sizeof *p + 1), least = 1;

    calibration_shares(c, p, o->raw, o->length, o->n, 1);
    for (int g = 0; g < o->golds; g++) {
        double best = 0;
        for (int i = 0; i < o->n; i++)
            best = o->right[(size_t)g * (size_t)o->n + (size_t)i] ? fmax(best, p[i]) : best;
        least = fmin(least, best);
    }
    free(p);
    return least;
}

static int compare_shares(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

double calibration_keep(const struct calibration *c, const struct observation *list, int n, double share)
{
    double *p = xmalloc((size_t)n * sizeof *p + 1);
    int below = n + 1 - (int)ceil((n + 1) * share - 1e-9); /* number of records that may be at or below it */

    for (int i = 0; i < n; i++)
        p[i] = score_of_record(c, &list[i]);
    qsort(p, (size_t)n, sizeof *p, compare_shares);
    double keep = below > 0 && n > 0 ? p[below - 1] * (1 - 1e-6) : 0; /* allow for rounding in files */
    free(p);
    return keep;
}

void calibration_halves_init(struct calibration_halves *h, int n, uint64_t seed)
{
    struct rng rng = { .seed = seed };

    *h = (struct calibration_halves){ .order = xmalloc((size_t)n * sizeof *h->order + 1), .n = n, .fitted = n - n / 2 };
    for (int i = 0; i < n; i++)
        h->order[i] = i;
    rng_shuffle(&rng, h->order, n, sizeof *h->order);
}

void calibration_halves_release(struct calibration_halves *h)
{
    free(h->order);
    *h = (struct calibration_halves){ 0 };
}

/* The records of a list at places [n].  The caller frees the array, not what it points to. */
static struct observation *at_places(const struct observation *list, const int *places, int n)
{
    struct observation *part = xmalloc((size_t)n * sizeof *part + 1);

    for (int i = 0; i < n; i++)
        part[i] = list[places[i]];
    return part;
}

bool calibration_fit_halves(struct calibration *c, const struct observation *list, const struct calibration_halves *h,
                            double share)
{
    struct observation *first = at_places(list, h->order, h->fitted),
                       *second = at_places(list, h->order + h->fitted, h->n - h->fitted);
    bool covered = !isnan(calibration_nll(first, h->fitted, 0, 1));

    if (covered) {
        *c = calibration_fit(first, h->fitted);
        c->keep = calibration_keep(c, second, h->n - h->fitted, share);
    }
    free(first);
    free(second);
    return covered;
}

enum { GOLDS_MAX = 1000 };       /* of a record */
enum { ARENA_BYTES = 64 << 20 }; /* for the tree of one statement; unused pages are never touched */

/* A record with golds.  rank [golds]: of the first candidate that is the gold, or -1. */
struct seen_record {
    struct observation of;
    int *rank;
};

struct calibrator {
    struct schema_catalog schemas;
    struct arena scratch;
    struct calibrate_counts *counts;
    struct seen_record *seen;
    int n, cap, longest;
    json_t *failed;
};

/* Reads the forms of a record's candidates; NULL for an unreadable one. */
static void read_forms(const struct form **forms, struct form_store *store, const struct candidate_list *l,
                       const struct schema *s, struct arena *scratch)
{
    struct error why;

    for (int i = 0; i < l->n; i++)
        forms[i] = form_of_text(store, l->sql[i], s, scratch, &why);
}

/* Adds a record; takes `right`. */
static void keep(struct calibrator *c, const struct candidate_list *l, bool *right, int golds)
{
    double *raw = xmalloc((size_t)l->n * sizeof *raw);
    int *length = xmalloc((size_t)l->n * sizeof *length), *rank = xmalloc((size_t)golds * sizeof *rank);

    for (int i = 0; i < l->n; i++) {
        raw[i] = l->raw[i];
        length[i] = calibration_length(l->sql[i]);
    }
    for (int g = 0; g < golds; g++) {
        rank[g] = 0;
        while (rank[g] < l->n && !right[g * l->n + rank[g]])
            rank[g]++;
        rank[g] = rank[g] < l->n ? rank[g] : -1;
        c->counts->covered += rank[g] >= 0;
    }
    GROW(c->seen, c->n, c->cap);
    c->seen[c->n++] = (struct seen_record){ { raw, length, right, l->n, golds }, rank };
    c->counts->golds += golds;
    c->longest = l->n > c->longest ? l->n : c->longest;
}

/* Writes which candidates are the gold to right [n]. */
static int read_gold(bool *right, struct calibrator *c, const json_t *record, size_t gold,
                     const struct candidate_list *l, const struct form *const *forms, struct form_store *store,
                     const struct schema *s, const char *where, struct error *err)
{
    const char *sql = json_string_value(json_array_get(json_object_get(record, "gold"), gold));
    struct error why = { 0 };
    const struct form *form = sql ? form_of_text(store, sql, s, &c->scratch, &why) : NULL;

    if (!form)
        return error_set(err, EXIT_CODE_DATA, "%s: gold[%zu]: %s", where, gold, sql ? why.text : "not a string");
    for (int i = 0; i < l->n; i++)
        right[i] = candidate_is_marked(record, i, gold) || (forms[i] && strcmp(forms[i]->text, form->text) == 0);
    return 0;
}

/* Reads the golds of a record.  A record without any changes nothing. */
static int read_golds(struct calibrator *c, const json_t *record, const struct candidate_list *l, const char *where,
                      struct error *err)
{
    const json_t *golds = json_get_array(record, "gold", where, err);
    size_t n = json_array_size(golds);

    if (n > GOLDS_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"gold\": expected at most %d statements, got %zu", where,
                         GOLDS_MAX, n);
    const struct schema *s = golds ? schema_catalog_of(&c->schemas, record, where, err) : NULL;
    struct form_store store = { 0 };
    const struct form **forms = xcalloc((size_t)l->n, sizeof *forms);
    bool *right = xcalloc(n * (size_t)l->n + 1, sizeof *right);
    int rc = s ? 0 : -1;

    if (s)
        read_forms(forms, &store, l, s, &c->scratch);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = read_gold(right + i * (size_t)l->n, c, record, i, l, forms, &store, s, where, err);
    free(forms);
    form_store_release(&store);
    if (rc || n == 0)
        free(right);
    else
        keep(c, l, right, (int)n);
    return rc;
}

/* Reads a record; one that cannot be used is added to `failed`. */
static void read_record(struct calibrator *c, const json_t *record, const char *where, struct error *err)
{
    struct candidate_list list = { 0 };

    if (!record || candidate_list_read(&list, record, where, err) || read_golds(c, record, &list, where, err)) {
        json_array_append_new(c->failed, json_message(err->text));
        c->counts->failed++;
        *err = (struct error){ 0 };
    }
    candidate_list_release(&list);
    c->counts->records++;
}

static int read_all(struct calibrator *c, const char *path, enum record_format format, struct error *err)
{
    struct record_reader *in = record_reader_open(path, format, err);

    int rc = in ? 0 : -1;
    while (in && rc == 0 && !stop_requested()) {
        json_t *record = NULL;
        int got = record_reader_next(in, &record, err);
        if (got == 0)
            break;
        if (got < 0 && record_reader_failed(in)) {
            rc = -1;
            break;
        }
        schema_catalog_name(&c->schemas, record);
        read_record(c, record, record_reader_where(in), err);
        json_decref(record);
    }
    record_reader_close(in);
    return rc;
}

/* Share of golds among the first n candidates, with an interval by resampling records. */
static json_t *coverage_json(const struct calibrator *c, int n)
{
    double *value = xmalloc((size_t)c->counts->golds * sizeof *value);
    int *group = xmalloc((size_t)c->counts->golds * sizeof *group), golds = 0;

    for (int r = 0; r < c->n; r++)
        for (int g = 0; g < c->seen[r].of.golds; g++) {
            value[golds] = c->seen[r].rank[g] >= 0 && c->seen[r].rank[g] < n;
            group[golds++] = r;
        }
    struct score_mean m = score_mean(value, golds, group, c->n);
    free(value);
    free(group);
    return json_pack("{s:i, s:f, s:o, s:o}", "n", n, "mean", m.mean, "low", json_finite(m.interval.low), "high",
                     json_finite(m.interval.high));
}

/* Fits the calibration.  Returns NULL with err when no gold of the first half is among its candidates. */
static json_t *calibration_json(const struct calibrator *c, const struct calibrate_request *q, struct error *err)
{
    struct observation *list = xmalloc((size_t)c->n * sizeof *list), *first;
    json_t *coverage = json_array(), *o = NULL;
    struct calibration_halves halves;
    struct calibration fit = { 0 };

    for (int i = 0; i < c->n; i++)
        list[i] = c->seen[i].of;
    for (int k = 1; k <= c->longest; k++)
        json_array_append_new(coverage, coverage_json(c, k));
    calibration_halves_init(&halves, c->n, (uint64_t)q->seed);
    first = at_places(list, halves.order, halves.fitted);
    if (calibration_fit_halves(&fit, list, &halves, q->keep))
        o = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:i, s:i, s:I, s:I, s:I, s:O, s:O}", "alpha", fit.alpha,
                      "temperature", fit.temperature, "coverage", (double)c->counts->covered / (double)c->counts->golds,
                      "nll", calibration_nll(first, halves.fitted, fit.alpha, fit.temperature), "nll_as_given",
                      calibration_nll(first, halves.fitted, 0, 1), "keep", fit.keep, "keep_share", q->keep, "seed",
                      (json_int_t)q->seed, "fit_records", halves.fitted, "keep_records", halves.n - halves.fitted,
                      "records", (json_int_t)c->counts->records, "golds", (json_int_t)c->counts->golds, "covered",
                      (json_int_t)c->counts->covered, "coverage_at", coverage, "failed", c->failed);
    else
        error_set(
            err, EXIT_CODE_DATA,
            "none of the %d records that fit the temperature has a gold statement among its candidates: give more "
            "records, or another --seed",
            halves.fitted);
    c->counts->keeps_all = fit.keep <= 0;
    json_decref(coverage);
    calibration_halves_release(&halves);
    free(first);
    free(list);
    return o;
}

static int write_calibration(const struct calibrator *c, const struct calibrate_request *q, struct error *err)
{
    struct out_file out;

    if (c->counts->covered == 0)
        return error_set(err, EXIT_CODE_DATA,
                         "no gold statement is among its candidates: %lld records, %lld failed%s%s",
                         (long long)c->counts->records, (long long)c->counts->failed, c->counts->failed ? ": " : "",
                         c->counts->failed ? json_string_value(json_array_get(c->failed, 0)) : "");
    json_t *o = calibration_json(c, q, err);
    if (!o || out_file_open(&out, q->out, err)) {
        json_decref(o);
        return -1;
    }
    int rc = json_write_line(&out, o, err) || out_file_commit(&out, err) ? -1 : 0;
    json_decref(o);
    out_file_abort(&out);
    return rc;
}

static void release(struct calibrator *c)
{
    for (int i = 0; i < c->n; i++) {
        free((void *)(uintptr_t)c->seen[i].of.raw);
        free((void *)(uintptr_t)c->seen[i].of.length);
        free((void *)(uintptr_t)c->seen[i].of.right);
        free(c->seen[i].rank);
    }
    free(c->seen);
    json_decref(c->failed);
    schema_catalog_close(&c->schemas);
    arena_release(&c->scratch);
}

int calibrate(const struct calibrate_request *q, struct calibrate_counts *counts, struct error *err)
{
    struct calibrator c = { .counts = counts, .failed = json_array() };
    int rc = -1;

    if (arena_init(&c.scratch, ARENA_BYTES, err) == 0 && schema_catalog_open(&c.schemas, q->schema, q->db, err) == 0 &&
        read_all(&c, q->candidates, q->format_in, err) == 0)
        rc = stop_requested() ? 1 : write_calibration(&c, q, err);
    release(&c);
    return rc;
}
