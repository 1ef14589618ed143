#include "train/lm/lm_data.h"

#include "data/base/log.h"
#include "data/base/record_reader.h"
#include "data/base/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t count_targets(const struct lm_text *p)
{
    int64_t n = 0;
    for (int64_t k = 1; k < p->answer.count; k++)
        n += p->answer.items[k];
    return n;
}

static void note(struct lm_data *d, int i)
{
    const struct lm_text *p = &d->items[i].text;

    d->lengths[i] = p->ids.count;
    d->tokens += p->ids.count;
    d->targets += d->items[i].targets;
    d->longest = p->ids.count > d->longest ? p->ids.count : d->longest;
    d->hash = hash_bytes(d->hash, p->ids.items, (size_t)p->ids.count * sizeof *p->ids.items);
    d->hash = hash_bytes(d->hash, p->answer.items, (size_t)p->ids.count);
}

static void count_all(struct lm_data *d)
{
    d->tokens = d->targets = d->longest = 0;
    d->hash = HASH_START;
    d->lengths = xrealloc(d->lengths, (size_t)d->n * sizeof *d->lengths);
    for (int i = 0; i < d->n; i++)
        note(d, i);
}

static int add(struct lm_data *d, json_t *record, const struct llama_model *m, int64_t length, bool keep,
               const char *where, struct error *err)
{
    struct lm_example e = { 0 };

    lm_text_read(&e.text, m, record, LM_ALL_ANSWERS, where);
    if (e.text.error) {
        error_set(err, EXIT_CODE_DATA, "%s", e.text.error);
        lm_text_release(&e.text);
        return -1;
    }
    if (m->seq2seq)
        d->cut += lm_text_truncate(&e.text, length);
    e.targets = count_targets(&e.text);
    bool longer = !m->seq2seq && e.text.ids.count > length;
    if (longer || e.targets == 0) {
        d->dropped += longer;
        lm_text_release(&e.text);
        return e.targets ? 0 : error_set(err, EXIT_CODE_DATA, "%s: the answer has no tokens", where);
    }
    if (keep)
        e.record = json_incref(record);
    GROW(d->items, d->n, d->cap);
    d->items[d->n++] = e;
    return 0;
}

static int read_all(struct lm_data *d, struct record_reader *in, const struct llama_model *m, int64_t length, bool keep,
                    struct error *err)
{
    json_t *record = NULL;
    int rc;

    while ((rc = record_reader_next(in, &record, err)) > 0) {
        rc = add(d, record, m, length, keep, record_reader_where(in), err);
        json_decref(record);
        if (rc)
            return -1;
    }
    return rc;
}

int lm_data_read(struct lm_data *d, const char *path, const struct llama_model *m, int64_t length, bool keep,
                 struct error *err)
{
    struct record_reader *in = record_reader_open(path, RECORDS_AUTO, err);

    *d = (struct lm_data){ 0 };
    if (!in)
        return -1;
    int rc = read_all(d, in, m, length, keep, err);
    record_reader_close(in);
    if (rc == 0 && d->n == 0)
        rc = error_set(err, EXIT_CODE_DATA, "%s: no conversation of at most %lld tokens", path, (long long)length);
    if (rc == 0)
        count_all(d);
    if (rc == 0 && d->cut)
        log_warn("%s: %d records have more than %lld tokens on a side and are cut", path, d->cut, (long long)length);
    if (rc == 0 && d->dropped)
        log_warn("%s: %d conversations longer than %lld tokens are left out", path, d->dropped, (long long)length);
    return rc;
}

struct llama_text lm_data_text(const struct lm_data *d, int example)
{
    const struct lm_text *p = &d->items[example].text;

    return (struct llama_text){ p->ids.items, p->answer.items, p->ids.count };
}

struct placed_text {
    struct llama_text text; /* first, for llama_text_compare */
    int example;
};

/* Equal texts keep their order. */
static int by_text(const void *x, const void *y)
{
    const struct placed_text *a = x, *b = y;
    int order = llama_text_compare(&a->text, &b->text);

    return order ? order : (a->example > b->example) - (a->example < b->example);
}

void lm_data_sort(struct lm_data *d)
{
    struct placed_text *list = xmalloc((size_t)(d->n + 1) * sizeof *list);
    struct prefix_order *p = &d->prefixes;

    p->n = d->n;
    p->sorted = xrealloc(p->sorted, (size_t)(d->n + 1) * sizeof *p->sorted);
    p->common = xrealloc(p->common, (size_t)(d->n + 1) * sizeof *p->common);
    for (int i = 0; i < d->n; i++)
        list[i] = (struct placed_text){ lm_data_text(d, i), i };
    qsort(list, (size_t)d->n, sizeof *list, by_text);
    for (int i = 0; i < d->n; i++) {
        p->sorted[i] = list[i].example;
        p->common[i] = i ? llama_text_common(&list[i - 1].text, &list[i].text) : 0;
    }
    free(list);
}

static void release_from(struct lm_data *d, int from)
{
    for (int i = from; i < d->n; i++) {
        lm_text_release(&d->items[i].text);
        json_decref(d->items[i].record);
    }
}

void lm_data_cut(struct lm_data *d, int64_t n)
{
    if (n >= d->n)
        return;
    release_from(d, (int)n);
    d->n = (int)n;
    count_all(d);
}

void lm_data_release(struct lm_data *d)
{
    release_from(d, 0);
    free(d->items);
    free(d->lengths);
    free(d->prefixes.sorted);
    free(d->prefixes.common);
    *d = (struct lm_data){ 0 };
}

static void show_token(const struct tokenizer *t, int32_t id, bool target)
{
    char *text = tokenizer_decode(t, &id, 1, 0, NULL);
    json_t *quoted = json_string(text);
    char *line = quoted ? json_dumps(quoted, JSON_ENCODE_ANY) : NULL;

    visible_printf(stdout, "%8d %c %s\n", id, target ? '*' : ' ', line ? line : "?");
    free(line);
    json_decref(quoted);
    free(text);
}

void lm_data_show(const struct lm_data *d, const struct tokenizer *t, int64_t n)
{
    for (int64_t i = 0; i < n && i < d->n; i++) {
        const struct lm_text *p = &d->items[i].text;
        char *id = json_dumps(p->id, JSON_ENCODE_ANY | JSON_COMPACT);
        visible_printf(stdout, "id %s: %lld tokens, %lld to predict (*)\n", id, (long long)p->ids.count,
                       (long long)d->items[i].targets);
        for (int64_t k = 0; k < p->ids.count; k++)
            show_token(t, p->ids.items[k], k > 0 && p->answer.items[k]);
        free(id);
    }
}
