#include "train/detector/ablate.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/out_file.h"
#include "data/base/report.h"
#include "data/base/yaml.h"
#include "train/detector/gate_settings.h"
#include "train/detector/gate_trainer.h"
#include "train/run/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Estimated time of a run of `ambit-train gatekeeper` on this machine. */

struct gate_seconds {
    double steps;    /* of all stages except the one on cached states, which is short */
    double encoding; /* of questions encoded outside of steps, with an empty cache */
};

/*
 * A sweep: the detectors to train, the seeds, and a time limit. It is a YAML file:
 *
 *   settings: {data: DIR, ...}       options of `ambit-train gatekeeper` for all rows
 *   seeds: [1, 2, 3]                 each row is trained with each seed
 *   hours: 2                         optional: limit of one training
 *   linker: {relevance-epochs: 1}    optional: options of one run for each seed that trains encoder and relevance; all
 *                                    rows with encode: element and embedder: linker share it
 *   rows:
 *     NAME: {classifier: gcn, ..., published: "F1 .733"}   options of the row; published is printed beside its metrics
 */

enum { ABLATE_SEEDS_MAX = 31 };

struct ablate_row {
    const char *name, *published; /* published: "" for none */
    const struct yaml_tree *options;
};

struct sweep {
    const char *path;
    struct yaml_tree tree;                   /* owns everything below */
    const struct yaml_tree *shared, *linker; /* options of all rows, and of the linker; NULL: each row trains its own */
    int64_t seeds[ABLATE_SEEDS_MAX];
    int n_seeds;
    double hours; /* INFINITY: no limit */
    struct ablate_row *rows;
    int n_rows;
};

/* Results of a sweep: one row each, with the mean over seeds and a 95 % interval of Student's t, mean +- t s /
 * sqrt(n). One seed has no interval. */

/* Average precision, then the metrics of enum stats_metric at the threshold chosen on validation. */
enum { METRIC_AP, ABLATE_METRICS = 1 + STATS_METRICS };

struct ablate_cell {
    double sum, squares;
    int n;
};

struct ablate_table {
    const struct sweep *sweep;
    struct ablate_cell (*cells)[ABLATE_METRICS]; /* of each row, then of each baseline */
};

/* ---- estimates ---- */

enum { WARM_STEPS = 1, TIMED_STEPS = 4, ENCODED = 32 };

/* Times steps of the current stage. */
static int time_steps(struct gate_trainer *t, double *seconds, struct error *err)
{
    struct run *r = &t->run;
    int64_t batches = run_batches(r);
    double start = now_seconds();

    for (int i = 0; i < WARM_STEPS + TIMED_STEPS; i++) {
        if (i == WARM_STEPS)
            start = now_seconds();
        r->state.batch = i % batches;
        if (run_step(r, err))
            return -1;
    }
    *seconds += (now_seconds() - start) / TIMED_STEPS * (double)run_stage_steps(r);
    return 0;
}

static int time_stages(struct gate_trainer *t, double *seconds, struct error *err)
{
    struct run *r = &t->run;

    for (r->state.stage = 0; r->state.stage < r->n_stages; r->state.stage++)
        if (!gate_in_stage(t, STAGE_FROZEN) && (r->trainer->enter_stage(t, true, err) || time_steps(t, seconds, err)))
            return -1;
    return 0;
}

static int time_encoding(struct gate_trainer *t, double *seconds, struct error *err)
{
    const struct gate_split *valid = &t->data.splits[SPLIT_VALID];
    int n = valid->n < ENCODED ? valid->n : ENCODED;
    struct gate_item items[ENCODED];

    for (int i = 0; i < n; i++)
        items[i] = valid->list[(int64_t)i * valid->n / n].item;
    size_t nodes = (size_t)gate_nodes(items, n), width = (size_t)t->model.net.config.bert.hidden_size;
    float *relevance = xmalloc(nodes * sizeof *relevance), *states = xmalloc(nodes * width * sizeof *states);
    double start = now_seconds();
    int rc = gate_encode(&t->scorer, items, n, states, relevance, err);
    *seconds = (now_seconds() - start) / n;
    free(relevance);
    free(states);
    return rc;
}

/* Ratio of elements with fixed distractors to elements without. */
static double wider(const struct gate_trainer *t)
{
    const struct gate_split *train = &t->data.splits[SPLIT_TRAIN];
    double own = 0, all = 0;

    for (int i = 0; i < train->n; i++) {
        own += train->list[i].item.schema->n_nodes;
        all += gate_distractors_nodes(&t->appender, &train->list[i]);
    }
    return own > 0 ? all / own : 1;
}

/* Number of questions encoded outside of steps: for cached states, validation and test. */
static double encoded_questions(const struct gate_trainer *t)
{
    const struct gate_split *splits = t->data.splits;
    const struct gate_settings *set = t->set;
    bool frozen = t->run.n_stages && t->kinds[t->run.n_stages - 1] == STAGE_FROZEN;
    int64_t train = set->max_train && set->max_train < splits[SPLIT_TRAIN].n ? set->max_train : splits[SPLIT_TRAIN].n;
    double epochs = (double)set->train.epochs, validations = epochs;

    if (set->train.eval_every)
        validations = epochs * (double)train / (double)(set->train.batch * set->train.eval_every);
    double valid = (double)splits[SPLIT_VALID].n * (frozen ? 1 : validations + 1);
    return (frozen ? (double)train * wider(t) : 0) + valid + (set->train.epochs ? (double)splits[SPLIT_TEST].n : 0);
}

/* Times a few steps and questions and extrapolates. Leaves no files. */
static int estimate(const struct gate_request *q, struct gate_seconds *seconds, struct error *err)
{
    struct gate_trainer t;
    double each = 0;

    *seconds = (struct gate_seconds){ 0 };
    gate_trainer_init(&t, q);
    int rc = run_open(&t.run, err);
    if (rc == 0)
        rc = time_encoding(&t, &each, err) || time_stages(&t, &seconds->steps, err) ? -1 : 0;
    seconds->encoding = each * encoded_questions(&t);
    run_close(&t.run);
    return rc;
}

/* ---- the sweep ---- */

static const char PUBLISHED[] = "published"; /* a row's key that is no option */

/* Options that the sweep, the folder or the command line sets. */
static const char *const reserved[] = { "out",    "seed", "resume", "force",    "dry-run",         "config",
                                        "device", "init", "linker", "no-graph", "shard-optimizer", "states" };

static int check_options(const struct sweep *p, const struct yaml_tree *mapping, struct error *err)
{
    if (mapping->kind != YAML_MAPPING)
        return yaml_tree_fail(p->path, mapping->at, err, "expected a mapping of options");
    for (int i = 0; i < mapping->n; i++)
        for (int k = 0; k < ARRAY_LEN(reserved); k++)
            if (strcmp(mapping->children[i].key, reserved[k]) == 0)
                return yaml_tree_fail(p->path, mapping->children[i].key_at, err, "%s: is not for a sweep to say",
                                      reserved[k]);
    return 0;
}

/* Names of rows are names of folders. */
static bool is_name(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == strlen(text) &&
           text[0] != '.' && text[0] != '-' && strlen(text) <= 64 && strcmp(text, "linker") != 0 &&
           strcmp(text, "states") != 0;
}

static int read_row(struct sweep *p, const struct yaml_tree *t, struct error *err)
{
    struct ablate_row *row = &p->rows[p->n_rows++];

    if (!is_name(t->key))
        return yaml_tree_fail(p->path, t->key_at, err,
                              "expected a row's name of letters, digits, '-', '_' and '.', got \"%s\"", t->key);
    *row = (struct ablate_row){ t->key, "", t };
    if (check_options(p, t, err))
        return -1;
    for (int i = 0; i < t->n; i++)
        if (strcmp(t->children[i].key, PUBLISHED) == 0 && t->children[i].text)
            row->published = t->children[i].text;
    return 0;
}

static int read_rows(struct sweep *p, const struct yaml_tree *t, struct error *err)
{
    if (t->kind != YAML_MAPPING || !t->n)
        return yaml_tree_fail(p->path, t->at, err, "rows: expected a mapping of at least one row");
    p->rows = xcalloc((size_t)t->n, sizeof *p->rows);
    for (int i = 0; i < t->n; i++)
        if (read_row(p, &t->children[i], err))
            return -1;
    return 0;
}

static int read_seed(struct sweep *p, const struct yaml_tree *t, struct error *err)
{
    const char *text = t->kind == YAML_SCALAR ? t->text : "";
    char *end;

    errno = 0;
    long long seed = strtoll(text, &end, 10);
    if (!*text || *end || errno || seed < 0)
        return yaml_tree_fail(p->path, t->at, err, "expected a seed of at least 0, got \"%s\"", text);
    if (p->n_seeds == ABLATE_SEEDS_MAX)
        return yaml_tree_fail(p->path, t->at, err, "expected at most %d seeds", ABLATE_SEEDS_MAX);
    for (int i = 0; i < p->n_seeds; i++)
        if (p->seeds[i] == seed)
            return yaml_tree_fail(p->path, t->at, err, "seed %lld stands here twice", seed);
    p->seeds[p->n_seeds++] = seed;
    return 0;
}

static int read_seeds(struct sweep *p, const struct yaml_tree *t, struct error *err)
{
    if (t->kind != YAML_LIST)
        return read_seed(p, t, err);
    for (int i = 0; i < t->n; i++)
        if (read_seed(p, &t->children[i], err))
            return -1;
    return 0;
}

static int read_hours(struct sweep *p, const struct yaml_tree *t, struct error *err)
{
    const char *text = t->kind == YAML_SCALAR ? t->text : "";
    char *end;

    p->hours = strtod(text, &end);
    if (!*text || *end || !isfinite(p->hours) || p->hours <= 0)
        return yaml_tree_fail(p->path, t->at, err, "expected hours of more than 0, got \"%s\"", text);
    return 0;
}

static int read_part(struct sweep *p, const struct yaml_tree *t, struct error *err)
{
    if (strcmp(t->key, "settings") == 0) {
        p->shared = t;
        return check_options(p, t, err);
    }
    if (strcmp(t->key, "linker") == 0) {
        p->linker = t;
        return check_options(p, t, err);
    }
    if (strcmp(t->key, "seeds") == 0)
        return read_seeds(p, t, err);
    if (strcmp(t->key, "hours") == 0)
        return read_hours(p, t, err);
    if (strcmp(t->key, "rows") == 0)
        return read_rows(p, t, err);
    return yaml_tree_fail(p->path, t->key_at, err, "expected settings, linker, seeds, hours or rows, got \"%s\"",
                          t->key);
}

/* -1 with EXIT_CODE_USAGE, naming file, line and key. The caller releases p either way. */
static int read_sweep(struct sweep *p, const char *path, struct error *err)
{
    *p = (struct sweep){ .path = path, .hours = INFINITY };
    if (yaml_tree_read(&p->tree, path, err))
        return -1;
    for (int i = 0; p->tree.kind == YAML_MAPPING && i < p->tree.n; i++)
        if (read_part(p, &p->tree.children[i], err))
            return -1;
    if (!p->n_rows)
        return yaml_tree_fail(path, p->tree.at, err, "rows: expected at least one");
    if (!p->n_seeds)
        p->seeds[p->n_seeds++] = gate_request_defaults.seed;
    return 0;
}

static void release_sweep(struct sweep *p)
{
    free(p->rows);
    yaml_tree_release(&p->tree);
    *p = (struct sweep){ 0 };
}

static int add_options(const struct sweep *p, const struct yaml_tree *t, const char *skip, struct gate_request *q,
                       struct texts *texts, struct error *err)
{
    return t ? yaml_tree_set(t, p->path, skip, gate_request_table, q, texts, err) : 0;
}

/* The settings of a row; row NULL: of the linker. texts own their strings. */
static int row_request(const struct sweep *p, const struct ablate_row *row, struct gate_request *q, struct texts *texts,
                       struct error *err)
{
    *q = gate_request_defaults;
    if (add_options(p, p->shared, NULL, q, texts, err))
        return -1;
    if (row ? add_options(p, row->options, PUBLISHED, q, texts, err) : add_options(p, p->linker, NULL, q, texts, err))
        return -1;
    if (!row) {
        q->settings.encode = ENCODE_ELEMENT;
        q->settings.embedder = EMBEDDER_LINKER;
        q->settings.train.epochs = 0;
    }
    if (q->data)
        return 0;
    return error_set(err, EXIT_CODE_USAGE, "%s: settings: data: expected a folder of ambit-data contrast", p->path);
}

/* ---- the table ---- */

enum { CELL = 48, COLUMNS = 3 + ABLATE_METRICS, NAME_WIDTH = 24, METRIC_WIDTH = 24 };

/* Probes of test.json that every row is compared with. */
static const char *const baselines[] = { "always_yes", "and_comma_rule", "question_only", "schema_only" };
enum { BASELINES = 4 };

static struct stats_metric_name metric_name(int k)
{
    return k != METRIC_AP ? stats_metric_names[k - 1] : (struct stats_metric_name){ "ap", "AP" };
}

/* Fills the titles of all columns. */
static void column_titles(const char *titles[COLUMNS])
{
    titles[0] = "row";
    titles[1] = "runs";
    for (int k = 0; k < ABLATE_METRICS; k++)
        titles[2 + k] = metric_name(k).title;
    titles[COLUMNS - 1] = "published";
}

/* 97.5 % quantiles of Student's t, for 1 to 30 degrees of freedom. */
static const double student[] = { 12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
                                  2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
                                  2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423 };

static void init_table(struct ablate_table *t, const struct sweep *sweep)
{
    *t = (struct ablate_table){ .sweep = sweep };
    t->cells = xcalloc((size_t)(sweep->n_rows + BASELINES), sizeof *t->cells);
}

static void release_table(struct ablate_table *t)
{
    free(t->cells);
    *t = (struct ablate_table){ 0 };
}

static void add(struct ablate_cell *c, const json_t *value)
{
    double x = json_number_value(value);

    if (!json_is_number(value))
        return;
    c->sum += x;
    c->squares += x * x;
    c->n++;
}

/* Adds a finished run from its test.json. -1 with EXIT_CODE_DATA. */
static int add_to_table(struct ablate_table *t, int row, const char *folder, struct error *err)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/test.json", folder);
    json_t *o = json_read_file(path, err);
    const json_t *contrast = json_object_get(o, "contrast"), *probes = json_object_get(o, "probes");
    if (o && !json_is_object(contrast))
        error_set(err, EXIT_CODE_DATA, "%s: contrast: expected an object", path);
    for (int k = 0; contrast && k < ABLATE_METRICS; k++)
        add(&t->cells[row][k], json_object_get(contrast, metric_name(k).field));
    for (int b = 0; contrast && b < BASELINES; b++)
        for (int k = 0; k < ABLATE_METRICS; k++)
            add(&t->cells[t->sweep->n_rows + b][k],
                json_object_get(json_object_get(probes, baselines[b]), metric_name(k).field));
    int rc = json_is_object(contrast) ? 0 : -1;
    json_decref(o);
    return rc;
}

static double mean_of(const struct ablate_cell *c)
{
    return c->n ? c->sum / c->n : NAN;
}

/* Half width of the interval; NAN for one seed. */
static double margin_of(const struct ablate_cell *c)
{
    if (c->n < 2)
        return NAN;
    double mean = mean_of(c), variance = fmax((c->squares - c->n * mean * mean) / (c->n - 1), 0);
    int freedom = c->n - 1 < ARRAY_LEN(student) ? c->n - 1 : ARRAY_LEN(student);
    return student[freedom - 1] * sqrt(variance / c->n);
}

static void cell_text(char *text, const struct ablate_cell *c)
{
    double mean = mean_of(c), margin = margin_of(c);

    if (!c->n)
        snprintf(text, CELL, "-");
    else if (isnan(margin))
        snprintf(text, CELL, "%.4f", mean);
    else
        snprintf(text, CELL, "%.4f [%.4f, %.4f]", mean, mean - margin, mean + margin);
}

/* Baselines are equal for all rows and seeds, so they have no interval. */
static void row_texts(const struct ablate_table *t, int row, char (*texts)[CELL])
{
    bool trained = row < t->sweep->n_rows;

    snprintf(texts[0], CELL, "%s", trained ? t->sweep->rows[row].name : baselines[row - t->sweep->n_rows]);
    snprintf(texts[1], CELL, "%d", trained ? t->cells[row][0].n : 0);
    for (int k = 0; k < ABLATE_METRICS; k++) {
        struct ablate_cell c = t->cells[row][k];
        if (!trained && c.n)
            c = (struct ablate_cell){ .sum = mean_of(&c), .n = 1 };
        cell_text(texts[2 + k], &c);
    }
    snprintf(texts[COLUMNS - 1], CELL, "%s", trained ? t->sweep->rows[row].published : "");
}

/* Prints to standard output. */
static void print_table(const struct ablate_table *t)
{
    char texts[COLUMNS][CELL];
    const char *titles[COLUMNS];

    column_titles(titles);
    for (int row = -1; row < t->sweep->n_rows + BASELINES; row++) {
        if (row >= 0)
            row_texts(t, row, texts);
        printf("%-*s%-6s", NAME_WIDTH, row < 0 ? titles[0] : texts[0], row < 0 ? titles[1] : texts[1]);
        for (int k = 2; k < COLUMNS; k++)
            printf("%-*s", k + 1 < COLUMNS ? METRIC_WIDTH : 0, row < 0 ? titles[k] : texts[k]);
        putchar('\n');
    }
}

static json_t *row_json(const struct ablate_table *t, int row)
{
    bool trained = row < t->sweep->n_rows;
    json_t *o = json_pack("{s:s, s:i}", "row", trained ? t->sweep->rows[row].name : baselines[row - t->sweep->n_rows],
                          "runs", trained ? t->cells[row][0].n : 0);

    for (int k = 0; k < ABLATE_METRICS; k++) {
        const struct ablate_cell *c = &t->cells[row][k];
        double mean = mean_of(c), margin = trained ? margin_of(c) : NAN;
        json_object_set_new(o, metric_name(k).field,
                            json_pack("{s:o, s:[o, o]}", "mean", json_finite(mean), "interval",
                                      json_finite(mean - margin), json_finite(mean + margin)));
    }
    if (trained && *t->sweep->rows[row].published)
        json_object_set_new(o, "published", json_string(t->sweep->rows[row].published));
    return o;
}

static int write_json(const struct ablate_table *t, const char *out, struct error *err)
{
    char path[4096];
    json_t *rows = json_array();

    for (int row = 0; row < t->sweep->n_rows + BASELINES; row++)
        json_array_append_new(rows, row_json(t, row));
    json_t *o = json_pack("{s:s, s:i, s:o}", "sweep", t->sweep->path, "seeds", t->sweep->n_seeds, "rows", rows);
    snprintf(path, sizeof path, "%s/ablate.json", out);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    return rc;
}

/* The row with the highest average precision among those trained, except one; -1: none. */
static int best_row(const struct ablate_table *t, int except)
{
    int best = -1;

    for (int row = 0; row < t->sweep->n_rows; row++)
        if (row != except && t->cells[row][METRIC_AP].n &&
            (best < 0 || mean_of(&t->cells[row][METRIC_AP]) > mean_of(&t->cells[best][METRIC_AP])))
            best = row;
    return best;
}

static void tell_verdict(const struct ablate_table *t, char *text, size_t size)
{
    int best = best_row(t, -1), other = best ? 0 : best_row(t, 0);
    char value[CELL], against[CELL];

    if (best < 0) {
        snprintf(text, size, "No row has a result yet.");
        return;
    }
    cell_text(value, &t->cells[best][METRIC_AP]);
    if (other < 0 || !t->cells[other][METRIC_AP].n) {
        snprintf(text, size, "The row %.100s has an average precision of %s, and no other row has one.",
                 t->sweep->rows[best].name, value);
        return;
    }
    cell_text(against, &t->cells[other][METRIC_AP]);
    snprintf(text, size, "The row %.100s has the highest average precision of %d rows, %s; %s, %.100s, has %s.",
             t->sweep->rows[best].name, t->sweep->n_rows, value, best ? "the first row" : "the next row",
             t->sweep->rows[other].name, against);
}

static int write_page(const struct ablate_table *t, const char *out, struct error *err)
{
    char path[4096], verdict[512];
    int n = t->sweep->n_rows + BASELINES;
    char(*texts)[COLUMNS][CELL] = xcalloc((size_t)n, sizeof *texts);
    const char **cells = xcalloc((size_t)n * COLUMNS, sizeof *cells), *titles[COLUMNS];
    struct report r;

    column_titles(titles);
    for (int row = 0; row < n; row++) {
        row_texts(t, row, texts[row]);
        for (int k = 0; k < COLUMNS; k++)
            cells[row * COLUMNS + k] = texts[row][k];
    }
    snprintf(path, sizeof path, "%s/report.html", out);
    tell_verdict(t, verdict, sizeof verdict);
    int rc = report_open(&r, path, "ablation of GATekeeper", verdict, err);
    if (rc == 0) {
        report_text(&r, "Test questions, contrast slice; means over seeds, 95 % intervals of Student's t over them.");
        report_table(&r, t->sweep->path, titles, COLUMNS, cells, n);
        rc = report_close(&r, err);
    }
    free(texts);
    free(cells);
    return rc;
}

/* Writes OUT/ablate.json and OUT/report.html. */
static int write_files(const struct ablate_table *t, const char *out, struct error *err)
{
    return write_json(t, out, err) || write_page(t, out, err) ? -1 : 0;
}

/* ---- the ablation ---- */

enum { PATH_BYTES = 4096, SECONDS_OF_HOUR = 3600 };

struct ablation {
    const struct ablate_request *q;
    struct sweep sweep;
    struct texts texts;
    bool *too_long; /* [rows] */
    char states[PATH_BYTES];
};

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && stat(path, &st) == 0;
}

/* The folder of a run; row NULL: of the linker. The caller frees it. */
static char *folder_of(const struct ablation *a, const struct ablate_row *row, int64_t seed)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s/seed-%lld", a->q->out, row ? row->name : "linker", (long long)seed);
    return xstrdup(path);
}

static bool is_linked(const struct ablation *a, const struct gate_request *q)
{
    return a->sweep.linker && q->settings.encode == ENCODE_ELEMENT && q->settings.embedder == EMBEDDER_LINKER;
}

/* Estimate of the whole sweep. */
struct forecast {
    double seconds;  /* of all rows and seeds */
    bool encoded[2]; /* states are counted: [0] of a pretrained encoder, [1] of the linker's */
    int left_out;
};

/* Estimates one row, without the linker's run, and without states that an earlier row has cached. */
static int estimate_row(struct ablation *a, const struct ablate_row *row, struct forecast *f, double *seconds,
                        struct error *err)
{
    struct gate_seconds parts;
    struct gate_request q;

    if (row_request(&a->sweep, row, &q, &a->texts, err))
        return -1;
    bool linked = row && is_linked(a, &q);
    bool own = q.settings.relevance_word ||
               q.settings.element_text == GATE_TEXT_PUBLISHED; /* the row's texts differ from those of other rows */
    bool shared =
        row && !own && q.settings.encode == ENCODE_ELEMENT && (linked || q.settings.embedder == EMBEDDER_STOCK);
    if (linked) { /* a qualified text has about the same number of tokens */
        q.settings.embedder = EMBEDDER_STOCK;
        q.settings.element_text = GATE_TEXT_QUALIFIED;
        q.settings.relevance_word = false;
    }
    q.out = a->q->out;
    q.device = a->q->device;
    q.seed = a->sweep.seeds[0];
    if (estimate(&q, &parts, err))
        return error_prefix(err, "%s", row ? row->name : "linker");
    int readings = linked && own ? 2 : 1; /* passes over the texts: relevance, then states */
    *seconds = parts.steps + (shared && f->encoded[linked] ? 0 : readings * parts.encoding);
    f->encoded[linked] |= shared;
    return 0;
}

static int tell_row(struct ablation *a, const struct ablate_row *row, struct forecast *f, bool *too_long,
                    struct error *err)
{
    double seconds;

    if (estimate_row(a, row, f, &seconds, err))
        return -1;
    *too_long = seconds > a->sweep.hours * SECONDS_OF_HOUR;
    f->seconds += *too_long ? 0 : seconds * a->sweep.n_seeds;
    f->left_out += *too_long;
    log_info("%s: about %.2f hours a seed%s", row ? row->name : "linker", seconds / SECONDS_OF_HOUR,
             *too_long ? ", longer than the sweep allows: left out" : "");
    return 0;
}

/* Called before any training. */
static int tell_times(struct ablation *a, int *left_out, struct error *err)
{
    struct forecast f = { 0 };
    bool linker = false;

    if (a->sweep.linker && tell_row(a, NULL, &f, &linker, err))
        return -1;
    if (linker)
        return error_set(err, EXIT_CODE_USAGE, "%s: linker: takes longer than hours: %g allows", a->sweep.path,
                         a->sweep.hours);
    for (int i = 0; i < a->sweep.n_rows; i++)
        if (tell_row(a, &a->sweep.rows[i], &f, &a->too_long[i], err))
            return -1;
    *left_out = f.left_out;
    log_info("in all about %.2f hours on this machine, less what is there already", f.seconds / SECONDS_OF_HOUR);
    return 0;
}

static int train_row(struct ablation *a, const struct ablate_row *row, int64_t seed, struct error *err)
{
    struct gate_request q;
    char *out = folder_of(a, row, seed), *linker = folder_of(a, NULL, seed);
    int rc = 0;

    if (is_there(out, row ? "test.json" : "ambit.h5"))
        goto done;
    if ((rc = row_request(&a->sweep, row, &q, &a->texts, err)))
        goto done;
    if (row && is_linked(a, &q)) {
        q.linker = linker;
        q.encoder = NULL;
    }
    q.out = out;
    q.device = a->q->device;
    q.seed = seed;
    q.resume = true;
    q.states = q.settings.encode == ENCODE_ELEMENT ? a->states : NULL;
    log_info("%s, seed %lld", row ? row->name : "linker", (long long)seed);
    rc = make_dirs(out, err) ? -1 : gate_train(&q, err);
    if (rc < 0)
        error_prefix(err, "%s, seed %lld", row ? row->name : "linker", (long long)seed);
done:
    free(out);
    free(linker);
    return rc;
}

static int train_all(struct ablation *a, struct error *err)
{
    int rc = 0;

    for (int s = 0; rc == 0 && s < a->sweep.n_seeds; s++) {
        if (a->sweep.linker)
            rc = train_row(a, NULL, a->sweep.seeds[s], err);
        for (int i = 0; rc == 0 && i < a->sweep.n_rows; i++)
            if (!a->too_long[i])
                rc = train_row(a, &a->sweep.rows[i], a->sweep.seeds[s], err);
    }
    return rc;
}

/* Writes the results of all finished runs. */
static int write_table(struct ablation *a, struct error *err)
{
    struct ablate_table t;
    int rc = 0;

    init_table(&t, &a->sweep);
    for (int i = 0; rc == 0 && i < a->sweep.n_rows; i++)
        for (int s = 0; rc == 0 && s < a->sweep.n_seeds; s++) {
            char *out = folder_of(a, &a->sweep.rows[i], a->sweep.seeds[s]);
            if (is_there(out, "test.json"))
                rc = add_to_table(&t, i, out, err);
            free(out);
        }
    if (rc == 0 && (rc = write_files(&t, a->q->out, err)) == 0)
        print_table(&t);
    release_table(&t);
    return rc;
}

int ablate(const struct ablate_request *q, int *left_out, struct error *err)
{
    struct ablation a = { .q = q };
    int rc = read_sweep(&a.sweep, q->sweep, err);

    *left_out = 0;
    a.too_long = xcalloc((size_t)a.sweep.n_rows + 1, sizeof *a.too_long);
    snprintf(a.states, sizeof a.states, "%s/states", q->out);
    if (rc == 0)
        rc = tell_times(&a, left_out, err);
    if (rc == 0 && !q->dry_run)
        rc = make_dirs(q->out, err) ? -1 : train_all(&a, err);
    if (rc >= 0 && !q->dry_run && write_table(&a, err))
        rc = -1;
    free(a.too_long);
    texts_release(&a.texts);
    release_sweep(&a.sweep);
    return rc;
}
