#include "train/detector/state_cache.h"

#include "data/base/build.h"
#include "data/base/log.h"
#include "data/base/out_file.h"
#include "data/base/stop.h"
#include "models/io/cache.h"
#include "models/io/checksum.h"
#include "models/io/half.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Examples that are encoded and stored together. A state thus never depends on where an earlier run was stopped. */
enum { GROUP = 64 };

struct state_cache {
    const struct gate_split *split;
    const struct distractor_source *appender;
    int *list, n;   /* the examples, ascending */
    int *position;  /* [split->n] position of each in the list */
    int64_t *start; /* first row of each */
    struct row_cache *disk;
    const uint16_t **rows; /* half floats of each group, in disk */
    float *gathered;       /* the last result of state_cache_gather */
    int64_t cap;           /* its rows */
    int64_t width;
};

static bool is_read(const struct gate_model *m, const struct param *p)
{
    if (bert_owns(p->name))
        return true;
    return gatekeeper_says_word(&m->net.config) &&
           (strncmp(p->name, GATE_EMBEDDER, strlen(GATE_EMBEDDER)) == 0 || strcmp(p->name, "classifier.weight") == 0 ||
            strcmp(p->name, "classifier.bias") == 0);
}

/* Hash of everything but the tokens that states depend on. */
static uint64_t encoder_hash(const struct gate_scorer *scorer)
{
    const struct gate_model *m = scorer->model;
    const int32_t settings[] = { (int32_t)m->net.config.encode, (int32_t)m->dtype, scorer->max_tokens };
    struct checksum sum;

    checksum_init(&sum);
    checksum_update(&sum, build_version(), strlen(build_version()));
    checksum_update(&sum, build_commit(), strlen(build_commit()));
    checksum_update(&sum, m->device->driver->name, strlen(m->device->driver->name));
    checksum_update(&sum, settings, sizeof settings);
    checksum_update(&sum, &m->layout, sizeof m->layout);
    checksum_update(&sum, &m->net.config.bert, sizeof m->net.config.bert);
    for (int i = 0; i < m->params.n; i++) {
        const struct param *p = &m->params.list[i];
        if (!is_read(m, p))
            continue;
        size_t bytes = (size_t)tensor_size(p->t) * sizeof(float);
        float *values = xmalloc(bytes);
        param_download(p, m->device, values);
        checksum_update(&sum, values, bytes);
        free(values);
    }
    return checksum_final(&sum);
}

static void add_table(struct checksum *sum, const struct token_table *t)
{
    checksum_update(sum, t->start, (size_t)(t->n + 1) * sizeof *t->start);
    checksum_update(sum, t->ids, (size_t)t->start[t->n] * sizeof *t->ids);
}

/* Hash of all tokens of a group's questions and schemas. */
static uint64_t text_hash(const struct gate_item *items, int n)
{
    struct checksum sum;

    checksum_init(&sum);
    for (int i = 0; i < n; i++) {
        const struct schema_input *in = items[i].schema;
        const int32_t sizes[] = { items[i].n_question, in->n_nodes, in->schema->n_tables };
        checksum_update(&sum, sizes, sizeof sizes);
        checksum_update(&sum, items[i].question, (size_t)items[i].n_question * sizeof *items[i].question);
        for (int t = 0; t < in->schema->n_tables; t++)
            checksum_update(&sum, &in->schema->tables[t].n_columns, sizeof in->schema->tables[t].n_columns);
        add_table(&sum, &in->element);
        add_table(&sum, &in->name);
    }
    return checksum_final(&sum);
}

/* The item of an example. The caller frees *wider. */
static struct gate_item item_of(const struct state_cache *k, int example, struct gate_distractors **wider)
{
    const struct gate_example *e = &k->split->list[example];
    uint64_t draw;

    *wider = NULL;
    if (k->appender && gate_distractors_fixed(k->appender, e, &draw))
        *wider = gate_distractors_new(k->appender, e, &e->forms[0], draw);
    return *wider ? gate_distractors_item(e, *wider) : e->item;
}

static int find_or_encode(struct state_cache *k, struct gate_scorer *scorer, int group, const struct gate_item *items,
                          int n, float *states, float *relevance, struct error *err)
{
    const uint16_t **found = &k->rows[group];
    int64_t rows = gate_nodes(items, n);
    uint64_t hash = text_hash(items, n);

    if ((*found = row_cache_find(k->disk, hash, rows)) != NULL)
        return 0;
    if (gate_encode(scorer, items, n, states, relevance, err) || row_cache_add(k->disk, hash, states, rows, err))
        return -1;
    *found = row_cache_find(k->disk, hash, rows);
    return 0;
}

/* Finds or computes one group. The buffers have room for the largest one. */
static int fill_group(struct state_cache *k, struct gate_scorer *scorer, int first, int n, float *states,
                      float *relevance, struct error *err)
{
    struct gate_item items[GROUP];
    struct gate_distractors *wider[GROUP];

    for (int i = 0; i < n; i++)
        items[i] = item_of(k, k->list[first + i], &wider[i]);
    int rc = find_or_encode(k, scorer, first / GROUP, items, n, states, relevance, err);
    for (int i = 0; i < n; i++)
        gate_distractors_free(wider[i]);
    return rc;
}

static int64_t largest_group(const struct state_cache *k)
{
    int64_t most = 0;
    for (int i = 0; i < k->n; i += GROUP) {
        int end = i + GROUP < k->n ? i + GROUP : k->n;
        int64_t rows = k->start[end] - k->start[i];
        most = rows > most ? rows : most;
    }
    return most;
}

static int fill(struct state_cache *k, struct gate_scorer *scorer, struct error *err)
{
    int64_t most = largest_group(k);
    float *states = xmalloc((size_t)(most * k->width) * sizeof *states);
    float *relevance = xmalloc((size_t)most * sizeof *relevance);
    struct progress progress;
    int rc = 0;

    progress_start(&progress, "encoding", "questions", k->n);
    for (int i = 0; rc == 0 && i < k->n && !stop_requested(); i += GROUP) {
        int n = k->n - i < GROUP ? k->n - i : GROUP;
        rc = fill_group(k, scorer, i, n, states, relevance, err);
        progress_update(&progress, i + n, (double)(i + n), NULL);
    }
    progress_end(&progress);
    free(states);
    free(relevance);
    return rc ? rc : row_cache_flush(k->disk, err);
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Lists each example once. */
static void index_examples(struct state_cache *k, int *examples, int n)
{
    qsort(examples, (size_t)n, sizeof *examples, by_number);
    k->list = xmalloc((size_t)n * sizeof *k->list);
    k->position = xcalloc((size_t)k->split->n, sizeof *k->position);
    k->start = xcalloc((size_t)n + 1, sizeof *k->start);
    for (int i = 0; i < n; i++) {
        if (k->n && k->list[k->n - 1] == examples[i])
            continue;
        k->position[examples[i]] = k->n;
        k->list[k->n++] = examples[i];
        k->start[k->n] = k->start[k->n - 1] + gate_distractors_nodes(k->appender, &k->split->list[examples[i]]);
    }
    k->rows = xcalloc((size_t)n / GROUP + 1, sizeof *k->rows);
}

struct state_cache *state_cache_open(const char *dir, struct gate_scorer *scorer, const struct gate_split *split,
                                     const struct distractor_source *appender, int *examples, int n, struct error *err)
{
    struct state_cache *k = xcalloc(1, sizeof *k);
    uint64_t encoder = encoder_hash(scorer);
    char folder[4096];

    snprintf(folder, sizeof folder, "%s/%016" PRIx64, dir, encoder);
    k->split = split;
    k->appender = appender;
    k->width = scorer->model->net.config.bert.hidden_size;
    index_examples(k, examples, n);
    k->disk = make_dirs(dir, err) ? NULL : row_cache_open(folder, encoder, k->width, err);
    if (k->disk && fill(k, scorer, err) == 0)
        return k;
    state_cache_close(k);
    return NULL;
}

void state_cache_close(struct state_cache *k)
{
    if (!k)
        return;
    row_cache_close(k->disk);
    free(k->list);
    free(k->position);
    free(k->start);
    free(k->rows);
    free(k->gathered);
    free(k);
}

static int64_t rows_of(const struct state_cache *k, int example)
{
    int at = k->position[example];
    return k->start[at + 1] - k->start[at];
}

const float *state_cache_gather(struct state_cache *k, const int *examples, int n)
{
    int64_t rows = 0, at = 0;

    for (int i = 0; i < n; i++)
        rows += rows_of(k, examples[i]);
    if (rows > k->cap) {
        k->cap = rows;
        k->gathered = xrealloc(k->gathered, (size_t)(rows * k->width) * sizeof *k->gathered);
    }
    for (int i = 0; i < n; i++) {
        int place = k->position[examples[i]], group = place / GROUP;
        const uint16_t *from = k->rows[group] + (k->start[place] - k->start[group * GROUP]) * k->width;
        int64_t count = rows_of(k, examples[i]) * k->width;
        for (int64_t j = 0; j < count; j++)
            k->gathered[at + j] = f32_from_f16(from[j]);
        at += count;
    }
    return k->gathered;
}
