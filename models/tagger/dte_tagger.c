#include "models/tagger/dte_tagger.h"

#include "data/base/whole_file.h"
#include "models/io/model_folder.h"
#include "models/net/bert.h"
#include "models/tagger/dte_target.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 8 << 20 }; /* headers of the parameters */

#define AT(member) offsetof(struct dte_spec, member)

static const char *const forms[] = { "spans", "published", NULL };

_Static_assert(sizeof(enum dtype) == sizeof(int), "enums are ints");

/* Bools in memory are not in this table. */
static const struct spec_field fields[] = {
    { "compute", AT(dtype), SPEC_WORD, spec_dtypes, 0, 0, false },
    { "hidden", AT(config.hidden), SPEC_INT, NULL, 1, 1 << 16, false },
    { "dropout", AT(config.dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "temperature", AT(temperature), SPEC_DOUBLE, NULL, 1e-6, 1e6, false },
    { "threshold", AT(threshold), SPEC_DOUBLE, NULL, 0, 1, false },
    { 0 },
};

static const struct spec_field tags_field[] = { { "tags", 0, SPEC_WORD, forms, 0, 0, false }, { 0 } };

static const char *const trained[] = { "untrained", "trained", NULL };
static const struct spec_field keywords_field[] = { { "keywords", 0, SPEC_WORD, trained, 0, 0, true }, { 0 } };

json_t *dte_spec_to_json(const struct dte_spec *s)
{
    json_t *o = json_object();
    int form = s->config.published, keywords = s->keywords;

    bert_spec_write(o, &s->config.bert);
    spec_write(o, fields, s);
    spec_write(o, tags_field, &form);
    spec_write(o, keywords_field, &keywords);
    return o;
}

int dte_spec_from_json(const json_t *o, struct dte_spec *s, const char *where, struct error *err)
{
    int form = 0, keywords = 0;

    *s = (struct dte_spec){ 0 };
    if (bert_spec_read(o, &s->config.bert, where, err) || spec_read(o, fields, s, where, err) ||
        spec_read(o, tags_field, &form, where, err) || spec_read(o, keywords_field, &keywords, where, err))
        return -1;
    s->config.published = form;
    s->keywords = keywords;
    if (s->config.bert.kind == CLASSIC_BERT)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: encoder: expected \"bert\" for a tagger", where);
}

/* Bytes of the parameters on the device, with the optimizer's gradients, masters and state. The parameters are declared
 * in arenas that only measure. */
static size_t dte_model_bytes(const struct dte_spec *spec, enum optimizer optimizer)
{
    struct params params = { 0 };
    struct arena host = { 0 }, data;
    struct dte net;

    if (arena_init(&host, HOST_BYTES, NULL))
        return 0;
    arena_measure(&data);
    struct param_arenas arenas = { &host, &data, optimizer };
    dte_init(&net, &spec->config, spec->dtype, &params, &arenas);
    params_release(&params);
    arena_release(&host);
    return data.peak;
}

int dte_model_init(struct dte_model *m, struct device *device, const struct dte_spec *spec, enum optimizer optimizer,
                   struct tokenizer *tokenizer, struct error *err)
{
    size_t bytes = dte_model_bytes(spec, optimizer) + DTE_MODEL_EXTRA;

    *m = (struct dte_model){ .device = device, .spec = *spec, .tokenizer = tokenizer };
    if (arena_init(&m->host, HOST_BYTES, err) || device_arena(device, &m->data, bytes, err)) {
        dte_model_release(m);
        return -1;
    }
    struct param_arenas arenas = { &m->host, &m->data, optimizer };
    dte_init(&m->net, &spec->config, spec->dtype, &m->params, &arenas);
    return 0;
}

void dte_model_release(struct dte_model *m)
{
    tokenizer_close(m->tokenizer);
    params_release(&m->params);
    arena_release(&m->host);
    if (m->data.base)
        device_arena_release(m->device, &m->data);
    *m = (struct dte_model){ 0 };
}

static int load(void *model, const struct model_file *f, struct device *device, struct error *err)
{
    struct dte_model *m = model;
    struct dte_spec spec;

    if (dte_spec_from_json(f->model, &spec, f->reader.path, err))
        return -1;
    struct tokenizer *tokenizer = tokenizer_open_encoder(f->dir, spec.config.bert.vocab_size, err);
    if (!tokenizer || dte_model_init(m, device, &spec, OPTIMIZER_NONE, tokenizer, err))
        return -1;
    m->hash = hash_folder(HASH_START, f->dir);
    if (model_file_load(f, &m->params, device, err) == 0)
        return 0;
    dte_model_release(m);
    return -1;
}

int dte_model_open(struct dte_model *m, struct device *device, const char *dir, struct error *err)
{
    *m = (struct dte_model){ 0 };
    return model_file_read(dir, "tag", load, m, device, err);
}

int dte_tagger_init(struct dte_tagger *t, const struct dte_model *m, struct workspace *w, int64_t max_tokens,
                    struct error *err)
{
    *t = (struct dte_tagger){ .model = m, .workspace = w, .settings = dte_decode_defaults, .max_tokens = max_tokens };
    t->settings.temperature = m->spec.temperature;
    t->settings.threshold = m->spec.threshold;
    return dte_layout_init(&t->layout, m->tokenizer, m->spec.config.bert.max_positions, err);
}

/* One call of the network, and its results. */
struct tag_step {
    const struct dte_tagger *t;
    const struct dte_sequence *s;
    int n;
    bool concepts_alone;
    struct dte_scores scores;
};

static void run_tag(struct ctx *c, void *arg)
{
    struct tag_step *k = arg;
    const struct dte *net = &k->t->model->net;
    struct dte_text text;

    if (k->concepts_alone) {
        dte_concepts_build(c, k->s, k->n, &net->config, k->t->layout.unk, &text);
        k->scores.concept = dte_concepts(c, net, &text);
        return;
    }
    dte_text_build(c, k->s, k->n, &net->config, k->t->layout.unk, &text);
    k->scores = dte_forward(c, net, &text);
}

/* Number of sequences, of n, that are read at once. */
static int chunk(const struct dte_tagger *t, const struct dte_sequence *s, int n)
{
    int64_t tokens = 0;
    int i = 0;

    while (i < n) {
        tokens += s[i].item->windows[s[i].window].tokens.count;
        if (i && tokens > t->max_tokens)
            break;
        i++;
    }
    return i;
}

static int step(struct dte_tagger *t, struct tag_step *k, struct error *err)
{
    t->workspace->ctx.recording = t->workspace->ctx.training = false;
    return workspace_step(t->workspace, run_tag, k, err);
}

int dte_probabilities(struct dte_tagger *t, const struct dte_sequence *s, int n, float *p, struct error *err)
{
    for (int i = 0, some; i < n; i += some) {
        some = chunk(t, s + i, n - i);
        struct tag_step k = { .t = t, .s = s + i, .n = some, .concepts_alone = true };
        if (step(t, &k, err))
            return -1;
        device_download(t->model->device, p, k.scores.concept);
        p += tensor_size(k.scores.concept);
    }
    return 0;
}

/* Results of the network in host memory, and the number that was consumed. */
struct given {
    float *concept, *score, *emission;
    int64_t concepts, scores, emissions;
};

static float *download(const struct dte_tagger *t, const struct tensor *x)
{
    float *p = xmalloc((size_t)tensor_size(x) * sizeof *p);
    device_download(t->model->device, p, x);
    return p;
}

/* Adds the next window's results to its question's reading. */
static void take(struct given *g, struct dte_reading *r, const struct dte_sequence *s, int tags)
{
    int64_t concepts = DTE_KEYWORDS + s->item->windows[s->window].n_entities, words = s->item->n_words;
    struct dte_window_scores scores = { g->concept + g->concepts, g->score + g->scores, g->emission + g->emissions };

    dte_reading_add(r, s->window, &scores);
    g->concepts += concepts;
    g->scores += concepts * (words + 1);
    g->emissions += words * tags;
}

/* Reads the windows of all items, one item after another. */
static int read_windows(struct dte_tagger *t, const struct dte_sequence *s, int n, struct dte_reading *readings,
                        struct error *err)
{
    int tags = dte_tags(&t->model->spec.config);

    for (int i = 0, some; i < n; i += some) {
        some = chunk(t, s + i, n - i);
        struct tag_step k = { .t = t, .s = s + i, .n = some };
        if (step(t, &k, err))
            return -1;
        struct given g = { .concept = download(t, k.scores.concept),
                           .score = download(t, k.scores.score),
                           .emission = download(t, k.scores.emission) };
        for (int j = i; j < i + some; j++) {
            readings += j && s[j].window == 0;
            take(&g, readings, &s[j], tags);
        }
        free(g.concept);
        free(g.score);
        free(g.emission);
    }
    return 0;
}

/* All windows of all items. The caller frees them. */
static struct dte_sequence *windows_of(const struct dte_item *const *items, int n, int *count)
{
    struct dte_sequences list = { 0 };

    for (int i = 0; i < n; i++)
        for (int w = 0; w < items[i]->n_windows; w++) {
            GROW(list.items, list.n, list.cap);
            list.items[list.n++] = (struct dte_sequence){ .item = items[i], .window = w };
        }
    *count = list.n;
    return list.items;
}

/* Computes the heat of each word: how much erasing it lowers the probabilities of the answer's concepts; the maximum
 * over these. */
static int add_heat(struct dte_tagger *t, const struct dte_item *item, struct tag_answer *a, struct error *err)
{
    a->heat = xcalloc((size_t)item->n_words, sizeof *a->heat);
    a->n_heat = item->n_words;
    for (int q = 0; q < item->n_words; q++)
        a->heat[q] = (struct tag_heat){ item->words[q].start, item->words[q].end, 0 };
    for (int w = 0; w < item->n_windows; w++) {
        struct dte_sequences runs = { 0 };
        int concepts = DTE_KEYWORDS + item->windows[w].n_entities;
        dte_erasures(&runs, item, w);
        float *p = xmalloc((size_t)(runs.n + 1) * (size_t)concepts * sizeof *p);
        float *awake = xmalloc((size_t)concepts * (size_t)item->n_words * sizeof *awake);
        struct dte_sequence whole = { .item = item, .window = w };
        int rc = dte_probabilities(t, &whole, 1, p, err) || dte_probabilities(t, runs.items, runs.n, p + concepts, err);
        if (rc == 0) {
            dte_awake(awake, item, concepts, p, runs.items, runs.n, p + concepts);
            for (int i = DTE_KEYWORDS * item->n_words; i < concepts * item->n_words; i++)
                if ((double)awake[i] > a->heat[i % item->n_words].score)
                    a->heat[i % item->n_words].score = (double)awake[i];
        }
        free(awake);
        free(p);
        free(runs.items);
        if (rc)
            return -1;
    }
    return 0;
}

int dte_read(struct dte_tagger *t, const struct dte_item *const *items, int n, struct dte_reading *readings,
             struct error *err)
{
    int count;
    struct dte_sequence *windows = windows_of(items, n, &count);

    for (int i = 0; i < n; i++)
        dte_reading_init(&readings[i], items[i], dte_tags(&t->model->spec.config), t->model->spec.keywords);
    int rc = read_windows(t, windows, count, readings, err);
    for (int i = 0; i < n && rc == 0; i++)
        dte_reading_finish(&readings[i]);
    free(windows);
    return rc;
}

int dte_tag_read(struct dte_tagger *t, const struct dte_item *const *items, int n, struct dte_reading *readings,
                 struct error *err)
{
    t->workspace->ctx.rows = ROWS_MANY; /* results do not depend on the batch, see test_company */
    int rc = dte_read(t, items, n, readings, err);
    t->workspace->ctx.rows = ROWS_BY_NUMBER;
    return rc;
}

void dte_answer(const struct dte_tagger *t, const struct dte_reading *readings, int n, struct tag_answer *answers)
{
    const struct dte *net = &t->model->net;
    bool published = net->config.published;
    int32_t forbidden[DTE_TAGS + 2];
    float *weights = download(t, net->chain);
    struct dte_chain chain = { dte_tags(&net->config), weights, published ? NULL : forbidden };

    dte_forbidden(&net->config, forbidden);
    for (int i = 0; i < n; i++)
        if (t->eta)
            dte_decode_eta(&answers[i], &readings[i], &t->settings);
        else
            dte_decode(&answers[i], &readings[i], &chain, published, &t->settings);
    free(weights);
}

int dte_tag(struct dte_tagger *t, const struct dte_item *items, int n, struct tag_answer *answers, struct error *err)
{
    struct dte_reading *readings = xcalloc((size_t)n + 1, sizeof *readings);
    const struct dte_item **list = xmalloc((size_t)(n + 1) * sizeof *list);

    memset(answers, 0, (size_t)n * sizeof *answers);
    for (int i = 0; i < n; i++)
        list[i] = &items[i];
    int rc = dte_tag_read(t, list, n, readings, err);
    if (rc == 0)
        dte_answer(t, readings, n, answers);
    t->workspace->ctx.rows = ROWS_MANY;
    for (int i = 0; i < n && rc == 0 && t->heat; i++)
        rc = add_heat(t, &items[i], &answers[i], err);
    t->workspace->ctx.rows = ROWS_BY_NUMBER;
    for (int i = 0; i < n; i++)
        dte_reading_release(&readings[i]);
    free(readings);
    free(list);
    return rc;
}
