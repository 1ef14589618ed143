#include "train/detector/adapt.h"

#include "data/base/log.h"
#include "data/base/out_file.h"
#include "data/base/stop.h"
#include "data/corpora/labels.h"
#include "data/corpora/split.h"
#include "kernels/rng.h"
#include "train/detector/adapt_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Estimates the gain of adaptation. A trial samples k labels of one database, fits each method to them and scores
 * other questions of that database. Databases take turns. A sample has the fraction of ambiguous questions of its
 * pool, and at least one question of each label. Pools and queries are two files, or two halves of one file, split
 * by the texts of its questions. */

struct adapt_draws_request {
    struct gate_scorer *scorer;
    struct adapt_fit *fits; /* [n_fits], one for each method */
    int n_fits;
    const struct adapt_questions *support, *queries; /* queries NULL: half of the support */
    int64_t repeats, seed;
    bool json;
};

/* ---- metrics ---- */

static struct stats_metric_name metric_name(int k)
{
    if (k >= ADAPT_DECISION && k < ADAPT_BRIER)
        return stats_metric_names[k - ADAPT_DECISION];
    return k == ADAPT_AP      ? (struct stats_metric_name){ "ap", "AP" }
           : k == ADAPT_BRIER ? (struct stats_metric_name){ "brier", "Brier" }
                              : (struct stats_metric_name){ "seconds", "seconds" };
}

/* Metrics of n logits with the model's threshold, temperature and shift; not the seconds. */
static void adapt_measure(const struct gate_model *m, const double *logit, const uint8_t *label, int n,
                          double metrics[ADAPT_METRICS])
{
    double *p = xmalloc((size_t)n * sizeof *p + 1);

    for (int i = 0; i < n; i++)
        p[i] = gate_probability(m, logit[i]);
    struct scored s = { p, label, n };
    struct confusion c = stats_confusion(s, m->threshold);
    metrics[ADAPT_AP] = stats_average_precision(s);
    for (int k = 0; k < STATS_METRICS; k++)
        metrics[ADAPT_DECISION + k] = stats_metric(c, (enum stats_metric)k);
    metrics[ADAPT_BRIER] = stats_brier(s);
    free(p);
}

void adapt_cell_add(struct adapt_cell *c, const double metrics[ADAPT_METRICS])
{
    if (c->n == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 64;
        for (int k = 0; k < ADAPT_METRICS; k++)
            c->of[k] = xrealloc(c->of[k], (size_t)c->cap * sizeof *c->of[k]);
    }
    for (int k = 0; k < ADAPT_METRICS; k++)
        c->of[k][c->n] = metrics[k];
    c->n++;
}

void adapt_cell_release(struct adapt_cell *c)
{
    for (int k = 0; k < ADAPT_METRICS; k++)
        free(c->of[k]);
    *c = (struct adapt_cell){ 0 };
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int n, double share)
{
    double at = share * (n - 1);
    int below = (int)floor(at), above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

struct adapt_spread adapt_cell_spread(const struct adapt_cell *c, enum adapt_metric metric)
{
    double *sorted = xmalloc((size_t)c->n * sizeof *sorted + 1), sum = 0;
    int n = 0;

    for (int i = 0; i < c->n; i++)
        if (isfinite(c->of[metric][i]))
            sum += sorted[n++] = c->of[metric][i];
    struct adapt_spread s = { NAN, NAN, NAN };
    if (n) {
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
        s = (struct adapt_spread){ sum / n, quantile(sorted, n, 0.05), quantile(sorted, n, 0.95) };
    }
    free(sorted);
    return s;
}

/* ---- trials ---- */

static const int sizes[] = { 4, 12, 24, 48 };
static const char *const names[ADAPT_METHODS] = { "threshold", "linear", "layer", "lora" };
enum { SIZES = ARRAY_LEN(sizes) };

/* Numbers of the questions of one database. */
struct draw_pool {
    const char *name;
    int *support, *queries;
    int n_support, n_queries, labels[2], asked[2]; /* labels and asked: of each label */
};

struct draw_run {
    const struct adapt_draws_request *q;
    const struct adapt_questions *queries;
    struct draw_pool *pools;
    int n_pools;
    struct adapt_cell base, cells[SIZES][ADAPT_METHODS];
    struct progress progress;
    int64_t done;            /* finished trials */
    char fitting[48];        /* the current fit, for the progress line */
    double positives, asked; /* over all trials */
};

static int by_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Splits each database's texts: half[i] is true for queries. */
static void halve(const struct adapt_questions *q, int64_t seed, bool *half)
{
    struct strings texts = { 0 };
    uint64_t *order = xmalloc((size_t)q->n * sizeof *order + 1), *sorted = xmalloc((size_t)q->n * sizeof *sorted + 1);

    for (int i = 0; i < q->n; i++) {
        int t = labels_text_number(&texts, q->list[i].record->question);
        order[i] = split_order(texts.items[t], seed);
    }
    for (int i = 0; i < q->n; i++) {
        const char *own = q->list[i].record->source_db;
        int n = 0, place = 0;
        for (int k = 0; k < q->n; k++)
            if (strcmp(q->list[k].record->source_db, own) == 0)
                sorted[n++] = order[k];
        qsort(sorted, (size_t)n, sizeof *sorted, by_order);
        for (int k = 0; k < n && sorted[k] != order[i]; k++)
            place += k == 0 || sorted[k] != sorted[k - 1];
        half[i] = place % 2;
    }
    free(order);
    free(sorted);
    strings_release(&texts);
}

static struct draw_pool *pool_of(struct draw_run *d, const char *name)
{
    for (int i = 0; i < d->n_pools; i++)
        if (strcmp(d->pools[i].name, name) == 0)
            return &d->pools[i];
    d->pools = xrealloc(d->pools, (size_t)(d->n_pools + 1) * sizeof *d->pools);
    struct draw_pool *p = &d->pools[d->n_pools++];
    *p = (struct draw_pool){ .name = name };
    p->support = xmalloc((size_t)d->q->support->n * sizeof *p->support + 1);
    p->queries = xmalloc((size_t)d->queries->n * sizeof *p->queries + 1);
    return p;
}

static void fill_pools(struct draw_run *d)
{
    const struct adapt_questions *s = d->q->support, *a = d->queries;
    bool *half = xcalloc((size_t)s->n + 1, sizeof *half);

    if (!d->q->queries)
        halve(s, d->q->seed, half);
    for (int i = 0; i < s->n; i++) {
        struct draw_pool *p = half[i] ? NULL : pool_of(d, s->list[i].record->source_db);
        if (!p)
            continue;
        p->labels[s->list[i].record->ambiguous]++;
        p->support[p->n_support++] = i;
    }
    for (int i = 0; i < a->n; i++) {
        struct draw_pool *p = a == s && !half[i] ? NULL : pool_of(d, a->list[i].record->source_db);
        if (!p)
            continue;
        p->asked[a->list[i].record->ambiguous]++;
        p->queries[p->n_queries++] = i;
    }
    free(half);
}

static void release_pool(struct draw_pool *p)
{
    free(p->support);
    free(p->queries);
}

/* Removes databases that lack a label in the support or in the queries. */
static int keep_pools(struct draw_run *d, struct error *err)
{
    int kept = 0, all = d->n_pools;

    for (int i = 0; i < all; i++) {
        struct draw_pool *p = &d->pools[i];
        if (p->labels[0] && p->labels[1] && p->asked[0] && p->asked[1] && p->n_support >= sizes[0])
            d->pools[kept++] = *p;
        else
            release_pool(p);
    }
    d->n_pools = kept;
    if (!kept)
        return error_set(
            err, EXIT_CODE_DATA,
            "of %d databases none has both labels among at least %d questions to draw from and among those "
            "to ask",
            all, sizes[0]);
    log_info("%d of %d databases have both labels among the questions to draw from and to ask", kept, all);
    return 0;
}

/* Number of ambiguous questions among k; 0 if the pool cannot supply k. */
static int positives_of(const struct draw_pool *p, int k)
{
    int yes = (int)lround((double)k * p->labels[1] / p->n_support);

    yes = yes < 1 ? 1 : yes > k - 1 ? k - 1 : yes;
    return yes <= p->labels[1] && k - yes <= p->labels[0] ? yes : 0;
}

static void draw(const struct draw_run *d, struct draw_pool *p, int64_t number, int k, int *which)
{
    const struct gate_example *list = d->q->support->list;
    const uint64_t key[] = { (uint64_t)d->q->seed, (uint64_t)number, (uint64_t)k };
    struct rng rng = { .seed = hash_bytes(HASH_START, key, sizeof key) };
    int wanted[2], n = 0;

    wanted[1] = positives_of(p, k);
    wanted[0] = k - wanted[1];
    int *shuffled = xmalloc((size_t)p->n_support * sizeof *shuffled);
    memcpy(shuffled, p->support, (size_t)p->n_support * sizeof *shuffled);
    rng_shuffle(&rng, shuffled, p->n_support, sizeof *shuffled);
    for (int i = 0; i < p->n_support; i++)
        if (wanted[list[shuffled[i]].record->ambiguous]-- > 0)
            which[n++] = shuffled[i];
    free(shuffled);
    CHECK(n == k, "%d drawn of %d", n, k);
}

static int measure(struct draw_run *d, const struct draw_pool *p, bool again, double *metrics, struct error *err)
{
    double *logit = xmalloc((size_t)p->n_queries * sizeof *logit);
    uint8_t *label = xmalloc((size_t)p->n_queries);
    int rc = adapt_questions_score(d->queries, d->q->scorer, p->queries, p->n_queries, again, logit, err);

    for (int i = 0; i < p->n_queries; i++)
        label[i] = d->queries->list[p->queries[i]].record->ambiguous;
    if (rc == 0)
        adapt_measure(d->q->scorer->model, logit, label, p->n_queries, metrics);
    free(logit);
    free(label);
    return rc;
}

static void tell_draw_steps(void *arg, int taken, int most)
{
    struct draw_run *d = arg;
    char note[96];

    snprintf(note, sizeof note, "%s, step %d of %d", d->fitting, taken, most);
    progress_update(&d->progress, d->done, (double)d->done, note);
}

static int run_fit(struct draw_run *d, struct adapt_fit *f, const struct draw_pool *p, const int *which, int size,
                   struct error *err)
{
    double metrics[ADAPT_METRICS], start = now_seconds();
    struct adapt_outcome out;

    snprintf(d->fitting, sizeof d->fitting, "%d labels, %s", sizes[size], names[f->set.method]);
    f->told = tell_draw_steps;
    f->told_arg = d;
    if (adapt_fit_run(f, d->q->support, which, sizes[size], &out, err))
        return -1;
    metrics[ADAPT_SECONDS] = now_seconds() - start;
    int rc = measure(d, p, f->set.method == ADAPT_LORA, metrics, err);
    adapt_fit_reset(f);
    if (rc == 0)
        adapt_cell_add(&d->cells[size][f->set.method], metrics);
    return rc;
}

static int run_draw(struct draw_run *d, int64_t number, struct error *err)
{
    struct draw_pool *p = &d->pools[number % d->n_pools];
    double metrics[ADAPT_METRICS] = { 0 };
    int which[48];

    if (measure(d, p, false, metrics, err))
        return -1;
    metrics[ADAPT_SECONDS] = NAN;
    adapt_cell_add(&d->base, metrics);
    d->positives += p->asked[1];
    d->asked += p->n_queries;
    for (int k = 0; k < SIZES; k++) {
        if (!positives_of(p, sizes[k]))
            continue;
        draw(d, p, number, sizes[k], which);
        for (int i = 0; i < d->q->n_fits; i++)
            if (run_fit(d, &d->q->fits[i], p, which, k, err))
                return -1;
    }
    d->done = number + 1;
    progress_update(&d->progress, d->done, (double)d->done, NULL);
    return 0;
}

static void print_row(const char *k, const char *name, const struct adapt_cell *c)
{
    char cell[64];

    printf("%-8s %-10s %7d", k, name, c->n);
    for (int f = 0; f < ADAPT_METRICS; f++) {
        struct adapt_spread s = adapt_cell_spread(c, (enum adapt_metric)f);
        snprintf(cell, sizeof cell, isfinite(s.mean) ? "%.3f [%.3f, %.3f]" : "-", s.mean, s.low, s.high);
        printf("  %-21s", cell);
    }
    putchar('\n');
}

static void print(const struct draw_run *d)
{
    char text[16];

    printf("%lld repeats over %d databases, %.3f of the questions asked are ambiguous, always-yes F1 %.3f\n"
           "mean [5 %%, 95 %%] over repeats\n%-8s %-10s %7s",
           (long long)d->q->repeats, d->n_pools, d->positives / d->asked, 2 * d->positives / (d->positives + d->asked),
           "labels", "method", "repeats");
    for (int f = 0; f < ADAPT_METRICS; f++)
        printf("  %-21s", metric_name(f).title);
    putchar('\n');
    print_row("0", "base", &d->base);
    for (int k = 0; k < SIZES; k++)
        for (int m = 0; m < ADAPT_METHODS; m++) {
            snprintf(text, sizeof text, "%d", sizes[k]);
            if (d->cells[k][m].n)
                print_row(text, names[m], &d->cells[k][m]);
        }
}

static json_t *row_json(int k, const char *name, const struct adapt_cell *c)
{
    json_t *o = json_pack("{s:i, s:s, s:i}", "labels", k, "method", name, "repeats", c->n);

    for (int f = 0; f < ADAPT_METRICS; f++) {
        struct adapt_spread s = adapt_cell_spread(c, (enum adapt_metric)f);
        json_object_set_new(o, metric_name(f).field,
                            json_pack("[o, o, o]", json_finite(s.mean), json_finite(s.low), json_finite(s.high)));
    }
    return o;
}

static int print_json(const struct draw_run *d, struct error *err)
{
    json_t *rows = json_array();

    json_array_append_new(rows, row_json(0, "base", &d->base));
    for (int k = 0; k < SIZES; k++)
        for (int m = 0; m < ADAPT_METHODS; m++)
            if (d->cells[k][m].n)
                json_array_append_new(rows, row_json(sizes[k], names[m], &d->cells[k][m]));
    json_t *o = json_pack("{s:I, s:i, s:f, s:o}", "repeats", (json_int_t)d->q->repeats, "databases", d->n_pools,
                          "prevalence", d->positives / d->asked, "rows", rows);
    int rc = json_write_file("-", o, err);
    json_decref(o);
    return rc;
}

static void release(struct draw_run *d)
{
    for (int i = 0; i < d->n_pools; i++)
        release_pool(&d->pools[i]);
    free(d->pools);
    adapt_cell_release(&d->base);
    for (int k = 0; k < SIZES; k++)
        for (int m = 0; m < ADAPT_METHODS; m++)
            adapt_cell_release(&d->cells[k][m]);
}

/* Prints mean, 5 % and 95 % quantiles over trials, one row for each k and method. */
static int run_draws(const struct adapt_draws_request *q, struct error *err)
{
    struct draw_run d = { .q = q, .queries = q->queries ? q->queries : q->support };

    fill_pools(&d);
    int rc = keep_pools(&d, err);
    progress_start(&d.progress, "adapting", "repeats", q->repeats);
    for (int64_t i = 0; rc == 0 && i < q->repeats; i++)
        rc = run_draw(&d, i, err);
    progress_end(&d.progress);
    if (rc == 0 && q->json)
        rc = print_json(&d, err);
    else if (rc == 0)
        print(&d);
    release(&d);
    return rc;
}

/* ---- one adaptation ---- */

enum { HOST_BYTES = 64 << 20 };

struct adaptation {
    const struct adapt_request *q;
    struct device device;
    struct workspace work;
    struct gate_model model;
    struct gate_scorer scorer;
    struct sentence_encoder retriever; /* zeroed: none */
    struct adapt_questions support, queries;
    struct adapt_fit fits[ADAPT_METHODS]; /* with trials: the chosen method and those before it; else the chosen one */
    int n_fits;
    uint64_t base;
};

/* The folder may hold an adapter, but no model. */
static int check_out(const char *out, struct error *err)
{
    struct hdf5_reader r;
    struct stat st;
    char path[4096];

    snprintf(path, sizeof path, "%s/" CHECKPOINT_FILE, out);
    if (stat(path, &st) != 0)
        return 0;
    json_t *meta = NULL;
    if (hdf5_open(&r, path, err) == 0) {
        meta = checkpoint_meta(&r, err);
        hdf5_close(&r);
    }
    bool adapter = json_is_object(json_object_get(meta, "adapter"));
    json_decref(meta);
    if (adapter)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "--out %s: holds a model or something else; expected a folder for the adapter", out);
}

static int open_model(struct adaptation *a, struct error *err)
{
    const struct adapt_request *q = a->q;

    if (device_open(&a->device, q->device, err) || workspace_init(&a->work, &a->device, HOST_BYTES, err) ||
        gate_model_open(&a->model, &a->device, q->run, err))
        return -1;
    a->work.eager = q->no_graph;
    if (q->set.method == ADAPT_LORA && gatekeeper_says_word(&a->model.net.config))
        return error_set(
            err, EXIT_CODE_USAGE,
            "--method lora: %s reads each text after its relevance, which an encoder that is adapted would "
            "change: expected threshold, linear or layer",
            q->run);
    a->base = gate_model_hash(&a->model);
    gate_scorer_init(&a->scorer, &a->model, &a->work, (int)q->tokens);
    if (q->retriever && sentence_encoder_open(&a->retriever, &a->work, q->retriever, (int)q->tokens, err))
        return -1;
    if (q->set.method == ADAPT_LORA && gate_adapter_declare(&a->model, ADAPT_LAYERS, (uint64_t)q->seed, err))
        return -1;
    struct adapt_settings set = q->set;
    for (int m = q->repeats ? 0 : (int)q->set.method; m <= (int)q->set.method; m++) {
        set.method = (enum gate_adapt)m;
        if (adapt_fit_init(&a->fits[a->n_fits++], &a->model, &a->scorer, &set, err))
            return -1;
    }
    return 0;
}

static int read_questions(struct adaptation *a, struct error *err)
{
    const struct adapt_request *q = a->q;
    struct labels_request labels = { .path = q->support,
                                     .db = q->db,
                                     .schema = q->schema,
                                     .format_in = q->format_in,
                                     .label_field = q->label_field,
                                     .whole = true };
    struct sentence_encoder *retriever = q->retriever ? &a->retriever : NULL;

    if (adapt_questions_read(&a->support, &a->scorer, &labels, (int)q->elements, retriever, err))
        return -1;
    labels.path = q->queries;
    if (!q->queries)
        return 0;
    return adapt_questions_read(&a->queries, &a->scorer, &labels, (int)q->elements, retriever, err) ||
                   adapt_questions_apart(&a->support, &a->queries, err)
               ? -1
               : 0;
}

static int check_support(const struct adaptation *a, struct error *err)
{
    int n = a->support.n, yes = 0;

    for (int i = 0; i < n; i++)
        yes += a->support.list[i].record->ambiguous;
    if (n < ADAPT_MIN || n > ADAPT_MAX)
        return error_set(err, EXIT_CODE_DATA, "%s: expected %d to %d questions to adapt to, got %d", a->q->support,
                         ADAPT_MIN, ADAPT_MAX, n);
    if (!yes || yes == n)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected questions that are ambiguous and questions that are not, got %d and %d",
                         a->q->support, yes, n - yes);
    return 0;
}

static int print_queries(struct adaptation *a, const char *name, struct error *err)
{
    const struct adapt_questions *q = &a->queries;
    size_t n = (size_t)q->n;
    int *which = xmalloc(n * sizeof *which + 1);
    double *logit = xmalloc(n * sizeof *logit + 1), metrics[ADAPT_METRICS];
    uint8_t *label = xmalloc(n + 1);

    for (int i = 0; i < q->n; i++) {
        which[i] = i;
        label[i] = q->list[i].record->ambiguous;
    }
    int rc = adapt_questions_score(q, &a->scorer, which, q->n, a->q->set.method == ADAPT_LORA, logit, err);
    if (rc == 0) {
        adapt_measure(&a->model, logit, label, q->n, metrics);
        printf("%-8s %d queries:", name, q->n);
        for (int f = 0; f < ADAPT_SECONDS; f++)
            printf(" %s %.3f", metric_name(f).title, metrics[f]);
        putchar('\n');
    }
    free(which);
    free(logit);
    free(label);
    return rc;
}

static int write_adapter(struct adaptation *a, const struct adapt_outcome *o, struct error *err)
{
    const struct gate_adapter adapter = { a->q->set.method, a->base, a->support.n, o->steps };

    return make_dirs(a->q->out, err) || gate_adapter_save(&a->model, &adapter, a->q->out, err) ? -1 : 0;
}

static void tell_steps(void *arg, int taken, int most)
{
    struct progress *p = arg;

    p->total = most;
    progress_update(p, taken, taken, NULL);
}

/* Fits to the whole support. */
static int fit(struct adaptation *a, const int *which, struct adapt_outcome *o, struct error *err)
{
    struct adapt_fit *f = &a->fits[0];
    struct progress progress;

    if (!f->n) /* threshold trains no parameter */
        return adapt_fit_run(f, &a->support, which, a->support.n, o, err);
    f->told = tell_steps;
    f->told_arg = &progress;
    progress_start(&progress, "adapting", "steps", 0);
    int rc = adapt_fit_run(f, &a->support, which, a->support.n, o, err);
    progress_end(&progress);
    f->told = NULL;
    return rc;
}

static int fit_once(struct adaptation *a, struct error *err)
{
    int *which = xmalloc((size_t)a->support.n * sizeof *which + 1);
    double start = now_seconds();
    struct adapt_outcome o;

    if (a->q->queries && print_queries(a, "base", err)) {
        free(which);
        return -1;
    }
    for (int i = 0; i < a->support.n; i++)
        which[i] = i;
    int rc = fit(a, which, &o, err);
    free(which);
    if (rc)
        return -1;
    printf("%d questions, %d steps, %.2f seconds; mean loss of what is left out: %.3f before, %.3f after, %.3f "
           "calibrated; temperature %.3f, shift %.3f\n",
           a->support.n, o.steps, now_seconds() - start, o.base_loss, o.left_out_loss, o.final_loss,
           a->model.temperature, a->model.shift);
    return (a->q->queries && print_queries(a, "adapted", err)) || write_adapter(a, &o, err) ? -1 : 0;
}

static int run(struct adaptation *a, struct error *err)
{
    const struct adapt_request *q = a->q;

    if ((q->out && check_out(q->out, err)) || open_model(a, err) || read_questions(a, err))
        return -1;
    if (!q->repeats)
        return check_support(a, err) || fit_once(a, err) ? -1 : 0;
    const struct adapt_draws_request draws = { .scorer = &a->scorer,
                                               .fits = a->fits,
                                               .n_fits = a->n_fits,
                                               .support = &a->support,
                                               .queries = q->queries ? &a->queries : NULL,
                                               .repeats = q->repeats,
                                               .seed = q->seed,
                                               .json = q->json };
    return run_draws(&draws, err);
}

static void close_all(struct adaptation *a)
{
    for (int i = 0; i < a->n_fits; i++)
        adapt_fit_release(&a->fits[i]);
    adapt_questions_release(&a->support);
    adapt_questions_release(&a->queries);
    gate_scorer_release(&a->scorer);
    sentence_encoder_close(&a->retriever);
    gate_model_release(&a->model);
    if (a->work.device)
        workspace_release(&a->work);
    if (a->device.driver)
        device_close(&a->device);
}

int adapt(const struct adapt_request *q, struct error *err)
{
    struct adaptation *a = xcalloc(1, sizeof *a);

    stop_install();
    a->q = q;
    int rc = run(a, err);
    if (rc && stop_requested())
        error_set(err, stop_exit_code(), "interrupted");
    close_all(a);
    free(a);
    return rc;
}
