#include "train/state_cache.h"

#include "data/log.h"
#include "models/checkpoint/half.h"

#include <stdlib.h>

enum { GROUP = 64 };

struct state_cache {
    const struct gate_fold *fold;
    int64_t *start;  /* first row of each example */
    uint16_t *rows;  /* [rows, C] half floats */
    float *gathered; /* what state_cache_gather returned last */
    int64_t cap;     /* rows of it */
    int64_t width;
};

static int compute(struct state_cache *k, struct gate_scorer *scorer, int first, int n, float *states, float *relevance,
                   struct error *err)
{
    struct gate_item items[GROUP];

    for (int i = 0; i < n; i++)
        items[i] = k->fold->list[first + i].item;
    if (gate_encode(scorer, items, n, states, relevance, err))
        return -1;
    uint16_t *out = k->rows + k->start[first] * k->width;
    int64_t count = (k->start[first + n] - k->start[first]) * k->width;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++)
        out[i] = f16_from_f32(states[i]);
    return 0;
}

static int64_t largest_group(const struct state_cache *k)
{
    int64_t most = 0;
    for (int i = 0; i < k->fold->n; i += GROUP) {
        int end = i + GROUP < k->fold->n ? i + GROUP : k->fold->n;
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

    progress_start(&progress, "encoding", "questions", k->fold->n);
    for (int i = 0; rc == 0 && i < k->fold->n; i += GROUP) {
        int n = k->fold->n - i < GROUP ? k->fold->n - i : GROUP;
        rc = compute(k, scorer, i, n, states, relevance, err);
        progress_update(&progress, i + n, (double)(i + n), NULL);
    }
    progress_end(&progress);
    free(states);
    free(relevance);
    return rc;
}

struct state_cache *state_cache_open(const char *path, struct gate_scorer *scorer, const struct gate_fold *fold,
                                     struct error *err)
{
    struct state_cache *k = xcalloc(1, sizeof *k);

    (void)path;
    k->fold = fold;
    k->width = scorer->model->net.config.bert.hidden_size;
    k->start = xcalloc((size_t)fold->n + 1, sizeof *k->start);
    for (int i = 0; i < fold->n; i++)
        k->start[i + 1] = k->start[i] + fold->list[i].item.schema->n_nodes;
    k->rows = xmalloc((size_t)(k->start[fold->n] * k->width) * sizeof *k->rows);
    if (fill(k, scorer, err) == 0)
        return k;
    state_cache_close(k);
    return NULL;
}

void state_cache_close(struct state_cache *k)
{
    if (!k)
        return;
    free(k->start);
    free(k->rows);
    free(k->gathered);
    free(k);
}

const float *state_cache_gather(struct state_cache *k, const int *examples, int n)
{
    int64_t rows = 0, at = 0;

    for (int i = 0; i < n; i++)
        rows += k->start[examples[i] + 1] - k->start[examples[i]];
    if (rows > k->cap) {
        k->cap = rows;
        k->gathered = xrealloc(k->gathered, (size_t)(rows * k->width) * sizeof *k->gathered);
    }
    for (int i = 0; i < n; i++) {
        const uint16_t *from = k->rows + k->start[examples[i]] * k->width;
        int64_t count = (k->start[examples[i] + 1] - k->start[examples[i]]) * k->width;
        for (int64_t j = 0; j < count; j++)
            k->gathered[at + j] = f32_from_f16(from[j]);
        at += count;
    }
    return k->gathered;
}
