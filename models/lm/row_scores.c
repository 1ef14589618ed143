#include "models/lm/row_scores.h"

#include "kernels/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADERS = 1 << 20, UNIT_QUERIES = 64 };

/* The tokens of one step. Row 0 of the table reads the prompt; each text's newest token is read by its own row. */
struct rows_step {
    struct row_scores *s;
    bool fill;
    int64_t n, n_units, n_parts, max_queries, max_pages;
    int32_t *ids, *positions, *cache_rows, *seen; /* [n] */
    int32_t *alone, *parts, *units;               /* [n + 1] zeros, [n + 1], [n_units * PAGED_WORDS] */
    struct tensor *logits;                        /* F32 [n, n_vocabulary] */
};

static struct tensor *table_of(struct ctx *c, const int32_t *rows, int64_t n, int64_t keys)
{
    return op_reshape(c, batch_i32(c, rows, n * keys), 2, (int64_t[]){ n, keys });
}

static struct paged paged_of(struct ctx *c, const struct rows_step *t)
{
    return (struct paged){ .table = table_of(c, t->s->table, t->s->rows, t->s->keys),
                           .seen = batch_i32(c, t->seen, t->n),
                           .units = batch_i32(c, t->units, t->n_units * PAGED_WORDS),
                           .parts = batch_i32(c, t->parts, t->n + 1),
                           .n_units = t->n_units,
                           .n_parts = t->n_parts,
                           .max_queries = t->max_queries,
                           .max_pages = t->max_pages,
                           .whole = t->n_parts == 0 };
}

/* All texts read the whole source, which lies in the first rows of its cache. */
static struct paged source_of(struct ctx *c, const struct rows_step *t)
{
    int64_t keys = t->s->n_source, pages = paged_pages(keys);
    const struct paged_unit unit = { .queries = (int32_t)t->n, .pages = (int32_t)pages };
    int32_t *words = xmalloc((size_t)(keys + t->n) * sizeof *words), *seen = words + keys;

    for (int64_t i = 0; i < keys; i++)
        words[i] = (int32_t)i;
    for (int64_t i = 0; i < t->n; i++)
        seen[i] = (int32_t)keys;
    struct paged p = { .table = table_of(c, words, 1, keys),
                       .seen = batch_i32(c, seen, t->n),
                       .units = batch_i32(c, (const int32_t *)&unit, PAGED_WORDS),
                       .parts = batch_i32(c, t->alone, t->n + 1),
                       .n_units = 1,
                       .max_queries = t->n,
                       .max_pages = pages,
                       .whole = true };
    free(words);
    return p;
}

static void run_t5(struct ctx *c, struct rows_step *t)
{
    const struct t5 *net = &t->s->model->t5;
    struct paged paged = paged_of(c, t), source = source_of(c, t);
    const struct t5_step in = { .tokens = batch_index(c, t->ids, t->n, net->config.vocab_size),
                                .paged = &paged,
                                .source_paged = &source,
                                .cache = &t->s->cache,
                                .source_cache = &t->s->source,
                                .cache_rows = batch_i32(c, t->cache_rows, t->n) };

    t->logits = op_linear_logits(c, t5_decode_step(c, net, &in), net->head, NULL, 0);
}

static void run_llama(struct ctx *c, struct rows_step *t)
{
    const struct llama *net = &t->s->model->net;
    struct paged paged = paged_of(c, t);
    struct llama_input in = { .tokens = batch_index(c, t->ids, t->n, net->config.vocab_size),
                              .positions = batch_i32(c, t->positions, t->n),
                              .paged = &paged,
                              .fill = t->fill,
                              .cache = &t->s->cache,
                              .cache_rows = batch_i32(c, t->cache_rows, t->n) };
    struct tensor *states = llama_forward(c, net, &in);

    t->logits = states ? op_linear_logits(c, states, net->head.w, &net->head.lora, net->config.logit_cap) : NULL;
}

/* A step_fn. */
static void run_rows(struct ctx *c, void *arg)
{
    struct rows_step *t = arg;
    (t->s->model->seq2seq ? run_t5 : run_llama)(c, t);
}

static void take_words(struct rows_step *t)
{
    int32_t *words = xcalloc((size_t)(6 * t->n + 2 + t->n_units * PAGED_WORDS), sizeof *words);

    t->ids = words;
    t->positions = words + t->n;
    t->cache_rows = words + 2 * t->n;
    t->seen = words + 3 * t->n;
    t->alone = words + 4 * t->n;
    t->parts = t->alone + t->n + 1;
    t->units = t->parts + t->n + 1;
}

static void set_token(struct rows_step *t, int64_t i, int32_t id, int64_t row, int64_t place)
{
    t->ids[i] = id;
    t->positions[i] = (int32_t)place;
    t->cache_rows[i] = t->s->table[row * t->s->keys + place];
    t->seen[i] = (int32_t)place + 1;
}

static void set_unit(struct rows_step *t, int64_t i, struct paged_unit unit)
{
    memcpy(t->units + i * PAGED_WORDS, &unit, sizeof unit);
    t->max_queries = unit.queries > t->max_queries ? unit.queries : t->max_queries;
    t->max_pages = unit.pages > t->max_pages ? unit.pages : t->max_pages;
}

/* Pages that only hold prompt keys are read once for all texts. Each text reads the other pages. */
static void set_text_units(struct rows_step *t, int64_t keys)
{
    int32_t shared = (int32_t)(t->s->fixed / PAGE_KEYS), own = (int32_t)paged_pages(keys) - shared, n = (int32_t)t->n;

    for (int32_t i = 0; i < n; i++) {
        set_unit(t, i, (struct paged_unit){ i, 1, i, shared, own });
        t->parts[i + 1] = shared ? (i + 1) * (own + 1) : 0;
    }
    if (shared)
        set_unit(t, n, (struct paged_unit){ 0, n, 0, 0, shared });
    t->n_parts = t->parts[n];
}

static int run(struct rows_step *t, enum rows_mode mode, struct error *err)
{
    struct workspace *w = t->s->work;

    w->ctx.rows = mode;
    int rc = workspace_run(w, run_rows, t, err);
    w->ctx.rows = ROWS_BY_NUMBER;
    return rc;
}

/* Prefills a decoder's prompt, without its last token. */
static int fill(struct row_scores *s, const int32_t *prompt, struct error *err)
{
    struct rows_step t = {
        .s = s, .fill = true, .n = s->fixed, .n_units = (s->fixed + UNIT_QUERIES - 1) / UNIT_QUERIES
    };

    if (!s->fixed)
        return 0;
    take_words(&t);
    for (int64_t i = 0; i < t.n; i++)
        set_token(&t, i, prompt[i], 0, i);
    for (int64_t i = 0; i < t.n_units; i++) {
        int64_t first = i * UNIT_QUERIES, left = t.n - first, queries = left < UNIT_QUERIES ? left : UNIT_QUERIES;
        set_unit(&t, i,
                 (struct paged_unit){ (int32_t)first, (int32_t)queries, 0, 0, (int32_t)paged_pages(first + queries) });
    }
    int rc = run(&t, ROWS_MANY, err);
    free(t.ids);
    return rc;
}

/* The source of an encoder-decoder. */
struct source_read {
    struct row_scores *s;
    const int32_t *ids;
};

static void run_source(struct ctx *c, void *arg)
{
    struct source_read *r = arg;
    const struct t5 *net = &r->s->model->t5;
    int32_t n = (int32_t)r->s->n_source, *rows = xmalloc((size_t)n * sizeof *rows);
    struct t5_tokens source = { .ids = batch_index(c, r->ids, n, net->config.vocab_size),
                                .seqs = batch_seqs(c, &n, 1) };

    for (int32_t i = 0; i < n; i++)
        rows[i] = i;
    t5_cache_source(c, net, t5_encode(c, net, &source), &r->s->source, batch_i32(c, rows, n));
    free(rows);
}

/* Gives each text's newest token a cache row of its own, behind the prompt's rows, ordered by text and place. */
static void lay_out_table(struct row_scores *s)
{
    int64_t own = s->keys - s->fixed;

    s->table = xcalloc((size_t)(3 * s->rows * s->keys), sizeof *s->table);
    s->was = s->table + s->rows * s->keys;
    s->texts = s->was + s->rows * s->keys;
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t k = 0; k < s->keys; k++)
            s->table[i * s->keys + k] = (int32_t)(k < s->fixed ? k : i * own + k);
}

static void lay_out_caches(struct row_scores *s)
{
    const struct llama_config *g = &s->model->net.config;
    const struct t5_config *t = &s->model->t5.config;
    bool seq2seq = s->model->seq2seq;
    int64_t width = seq2seq ? (int64_t)t->heads * t->d_kv : (int64_t)g->groups * g->head_dim;
    int64_t rows = s->fixed + s->rows * (s->keys - s->fixed);
    int layers = seq2seq ? t->decoder_layers : g->layers;

    kv_cache_init(&s->cache, layers, width, s->model->dtype, rows, &s->host, &s->data);
    if (seq2seq)
        kv_cache_init(&s->source, layers, width, s->model->dtype, s->n_source, &s->host, &s->data);
}

static int take_caches(struct row_scores *s, struct error *err)
{
    if (arena_init(&s->host, 2 * HEADERS, err))
        return -1;
    arena_measure(&s->data);
    lay_out_caches(s);
    size_t bytes = s->data.peak;
    s->data = (struct arena){ 0 };
    if (device_arena(s->model->device, &s->data, bytes, err))
        return error_prefix(err, "cache of %lld texts", (long long)s->rows);
    lay_out_caches(s);
    return 0;
}

int row_scores_open(struct row_scores *s, struct llama_model *model, struct workspace *work, const int32_t *prompt,
                    int64_t n, int rows, int64_t max_length, struct error *err)
{
    bool seq2seq = model->seq2seq;
    int64_t positions = seq2seq ? INT64_MAX : model->net.config.max_positions - (n - 1);

    CHECK(n > 0 && rows > 0 && max_length > 0 && positions > 0, "%lld tokens, %d texts", (long long)n, rows);
    *s = (struct row_scores){ .model = model,
                              .work = work,
                              .start = seq2seq ? model->t5.config.start : prompt[n - 1],
                              .fixed = seq2seq ? 0 : n - 1,
                              .n_source = seq2seq ? n : 0,
                              .n_vocabulary = seq2seq ? model->t5.config.vocab_size : model->net.config.vocab_size,
                              .rows = rows };
    s->keys = s->fixed + (max_length < positions ? max_length : positions);
    lay_out_table(s);
    if (take_caches(s, err))
        return -1;
    struct source_read read = { .s = s, .ids = prompt };
    return seq2seq ? workspace_run(work, run_source, &read, err) : fill(s, prompt, err);
}

void row_scores_release(struct row_scores *s)
{
    free(s->table);
    arena_release(&s->host);
    if (s->data.base)
        device_arena_release(s->model->device, &s->data);
    *s = (struct row_scores){ 0 };
}

int64_t row_scores_limit(const struct row_scores *s)
{
    return s->keys - s->fixed;
}

/* Index of the text of the last call that equals n tokens. */
static int64_t find_text(const struct row_scores *s, const int32_t *ids, int64_t n)
{
    for (int64_t i = 0; i < s->n_texts; i++)
        if (memcmp(s->texts + i * s->keys, ids, (size_t)n * sizeof *ids) == 0)
            return i;
    CHECK(false, "a text of %lld tokens that no text of the last call became", (long long)n + 1);
    return -1;
}

/* Makes each text continue the keys of the text that it grew from. */
static void follow_texts(struct row_scores *s, const int32_t *const *texts, int n, int64_t length)
{
    size_t whole = (size_t)(s->rows * s->keys) * sizeof *s->table;

    CHECK(length == 1 || length == s->n_tokens + 1, "texts of %lld tokens behind %lld", (long long)length,
          (long long)s->n_tokens);
    memcpy(s->was, s->table, whole);
    for (int i = 0; i < n && length > 1; i++) {
        int64_t from = find_text(s, texts[i], length - 1);
        memcpy(s->table + i * s->keys, s->was + from * s->keys, (size_t)(s->fixed + length - 1) * sizeof *s->table);
    }
    for (int i = 0; i < n; i++)
        memcpy(s->texts + i * s->keys, texts[i], (size_t)length * sizeof *s->texts);
    s->n_texts = n;
    s->n_tokens = length;
}

static void normalise(double *logp, const float *logits, int64_t n)
{
    float top = logits[0];
    double sum = 0;

    for (int64_t i = 1; i < n; i++)
        top = logits[i] > top ? logits[i] : top;
    for (int64_t i = 0; i < n; i++)
        sum += (double)expf(logits[i] - top);
    sum = (double)top + log(sum);
    for (int64_t i = 0; i < n; i++)
        logp[i] = (double)logits[i] - sum;
}

int row_scores_next(struct row_scores *s, double *logp, const int32_t *const *texts, int n, int length,
                    struct error *err)
{
    struct rows_step t = { .s = s, .n = n, .n_units = n + (s->fixed >= PAGE_KEYS) };
    int64_t place = s->fixed + length - 1;

    CHECK(n <= s->rows && place < s->keys, "%d texts of %d tokens", n, length);
    follow_texts(s, texts, n, length);
    take_words(&t);
    set_text_units(&t, place + 1);
    for (int64_t i = 0; i < n; i++)
        set_token(&t, i, texts[i][length - 1], i, place);
    int rc = run(&t, ROWS_FEW, err);
    free(t.ids);
    if (rc)
        return -1;
    float *logits = xmalloc(tensor_bytes(t.logits));
    device_download(s->model->device, logits, t.logits);
    for (int i = 0; i < n; i++)
        normalise(logp + i * s->n_vocabulary, logits + i * s->n_vocabulary, s->n_vocabulary);
    free(logits);
    return 0;
}
