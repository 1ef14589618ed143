#include "train/detector/adapt_questions.h"

#include "data/base/stop.h"
#include "data/corpora/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 /* questions encoded at once */ };

static int64_t width_of(const struct gate_scorer *s)
{
    return s->model->net.config.bert.hidden_size;
}

static int pairs_of(const struct gate_item *items, int n)
{
    int pairs = 0;
    for (int i = 0; i < n; i++)
        pairs += items[i].schema->n_pairs;
    return pairs;
}

int adapt_likeliest(const float *logit, int n, int best[ADAPT_PAIRS])
{
    int found = 0;

    for (int p = 0; p < n; p++) {
        int at = found;
        while (at > 0 && logit[p] > logit[best[at - 1]])
            at--;
        if (at == ADAPT_PAIRS)
            continue;
        found += found < ADAPT_PAIRS;
        memmove(best + at + 1, best + at, (size_t)(found - 1 - at) * sizeof *best);
        best[at] = p;
    }
    return found;
}

/* Keeps the likeliest pairs in their order, and the true pair whatever its logit. */
static void narrow_one(struct adapt_questions *q, int i, const float *logit)
{
    const struct schema_input *in = q->items[i].schema;
    struct schema_input *out = &q->narrow[i];
    const struct gate_example *e = &q->list[i];
    int n = in->n_pairs, kept = 0, best[ADAPT_PAIRS], found = adapt_likeliest(logit, n, best);
    int last = found ? best[found - 1] : 0;

    *out = *in;
    out->pairs = xmalloc((size_t)(n < ADAPT_PAIRS + 1 ? n : ADAPT_PAIRS + 1) * sizeof *out->pairs + 1);
    q->truth[i] = q->likeliest[i] = -1;
    for (int p = 0; p < n; p++) {
        bool likely = p <= last ? logit[p] >= logit[last] : logit[p] > logit[last];
        if (!likely && p != e->pair)
            continue;
        if (p == e->pair && e->record->ambiguous)
            q->truth[i] = kept;
        if (p == best[0])
            q->likeliest[i] = kept;
        out->pairs[kept++] = in->pairs[p];
    }
    out->n_pairs = kept;
    q->items[i].schema = out;
}

static int score_group(struct adapt_questions *q, struct gate_scorer *s, int first, int n, struct error *err)
{
    const struct gate_item *items = q->items + first;
    struct gate_result results[GROUP];
    int n_pairs = pairs_of(items, n);
    float *relevance = xmalloc((size_t)gate_nodes(items, n) * sizeof *relevance + 1);
    float *pairs = xmalloc((size_t)n_pairs * sizeof *pairs + 1), *states = q->states + q->start[first] * width_of(s);
    const float *of = pairs;
    bool has_pairs = s->model->net.config.classifier == CLASSIFIER_PAIR;
    int rc = gate_encode(s, items, n, states, relevance, err) ||
                     gate_classify(s, items, n, states, results, has_pairs ? pairs : NULL, err)
                 ? -1
                 : 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        int all = items[i].schema->n_pairs;
        q->logit[first + i] = (double)results[i].score;
        if (has_pairs)
            narrow_one(q, first + i, of);
        of += all;
    }
    free(relevance);
    free(pairs);
    return rc;
}

static int score_all(struct adapt_questions *q, struct gate_scorer *s, struct error *err)
{
    size_t n = (size_t)q->n;

    q->items = xcalloc(n, sizeof *q->items);
    q->narrow = xcalloc(n, sizeof *q->narrow);
    q->truth = xmalloc(n * sizeof *q->truth);
    q->likeliest = xcalloc(n, sizeof *q->likeliest);
    q->start = xcalloc(n + 1, sizeof *q->start);
    q->logit = xcalloc(n, sizeof *q->logit);
    for (int i = 0; i < q->n; i++) {
        q->items[i] = q->list[i].item;
        q->start[i + 1] = q->start[i] + q->list[i].item.schema->n_nodes;
        q->truth[i] = -1;
    }
    q->states = xmalloc((size_t)(q->start[n] * width_of(s)) * sizeof *q->states + 1);
    int rc = 0;
    for (int i = 0; rc == 0 && i < q->n; i += GROUP)
        rc = stop_requested() ? -1 : score_group(q, s, i, q->n - i < GROUP ? q->n - i : GROUP, err);
    return rc;
}

int adapt_questions_read(struct adapt_questions *q, struct gate_scorer *s, const struct labels_request *labels,
                         int elements, struct sentence_encoder *retriever, struct error *err)
{
    const struct gate_model *m = s->model;
    const struct gate_data_settings settings = { .tokenizer = m->tokenizer,
                                                 .layout = &m->layout,
                                                 .net = &m->net.config,
                                                 .input =
                                                     gate_model_input(m, m->net.config.classifier == CLASSIFIER_PAIR),
                                                 .elements = elements,
                                                 .retriever = retriever,
                                                 .test_only = true };

    *q = (struct adapt_questions){ 0 };
    if (labels_read(&q->records, labels, err) || gate_data_init(&q->data, &q->records, &settings, err))
        return -1;
    q->list = q->data.splits[SPLIT_TEST].list;
    q->n = q->data.splits[SPLIT_TEST].n;
    return score_all(q, s, err);
}

void adapt_questions_release(struct adapt_questions *q)
{
    for (int i = 0; q->narrow && i < q->n; i++)
        free(q->narrow[i].pairs);
    free(q->items);
    free(q->narrow);
    free(q->truth);
    free(q->likeliest);
    free(q->states);
    free(q->start);
    free(q->logit);
    gate_data_release(&q->data);
    dataset_release(&q->records);
    *q = (struct adapt_questions){ 0 };
}

/* The key is text and database, or by_id an id, unless the id is the record's number. */
static int key_of(struct strings *keys, const struct example *e, int number, bool by_id)
{
    char own[24];

    snprintf(own, sizeof own, "%d", number + 1);
    if (by_id)
        return strcmp(e->id, own) == 0 ? -1 : strings_add(keys, e->id);
    struct strings text = { 0 };
    labels_text_number(&text, e->question);
    const char *key = strings_printf(&text, "%s\n%s", e->source_db, text.items[0]);
    int i = strings_add(keys, key);
    strings_release(&text);
    return i;
}

static int check_apart(const struct adapt_questions *a, const struct adapt_questions *b, bool by_id, struct error *err)
{
    struct strings keys = { 0 };
    int rc = 0;

    for (int i = 0; i < a->n; i++)
        key_of(&keys, a->list[i].record, i, by_id);
    int known = keys.n;
    for (int i = 0; rc == 0 && i < b->n; i++) {
        const struct example *e = b->list[i].record;
        int key = key_of(&keys, e, i, by_id);
        if (key >= 0 && key < known)
            rc = error_set(err, EXIT_CODE_DATA,
                           "question \"%.60s\" (id %.60s) is to be adapted to and asked: expected support and queries "
                           "that share no question",
                           e->question, e->id);
    }
    strings_release(&keys);
    return rc;
}

int adapt_questions_apart(const struct adapt_questions *support, const struct adapt_questions *queries,
                          struct error *err)
{
    return check_apart(support, queries, false, err) || check_apart(support, queries, true, err) ? -1 : 0;
}

static int score_some(const struct adapt_questions *q, struct gate_scorer *s, const int *which, int n, bool again,
                      double *logit, struct error *err)
{
    struct gate_item items[GROUP] = { 0 };
    struct gate_result results[GROUP];
    int64_t width = width_of(s), at = 0;

    for (int i = 0; i < n; i++)
        items[i] = q->list[which[i]].item;
    size_t nodes = (size_t)gate_nodes(items, n);
    float *states = xmalloc(nodes * (size_t)width * sizeof *states + 1),
          *relevance = xmalloc(nodes * sizeof *relevance);
    for (int i = 0; i < n && !again; i++) {
        int64_t first = q->start[which[i]], count = (q->start[which[i] + 1] - first) * width;
        memcpy(states + at, q->states + first * width, (size_t)count * sizeof *states);
        at += count;
    }
    int rc = again ? gate_encode(s, items, n, states, relevance, err) : 0;
    if (rc == 0)
        rc = gate_classify(s, items, n, states, results, NULL, err);
    for (int i = 0; rc == 0 && i < n; i++)
        logit[i] = (double)results[i].score;
    free(states);
    free(relevance);
    return rc;
}

int adapt_questions_score(const struct adapt_questions *q, struct gate_scorer *s, const int *which, int n, bool again,
                          double *logit, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i += GROUP)
        rc = score_some(q, s, which + i, n - i < GROUP ? n - i : GROUP, again, logit + i, err);
    return rc;
}
