#include "models/gatekeeper/gate_words.h"

#include "data/base/strings.h"
#include "data/base/whole_file.h"
#include "models/gatekeeper/gate_adapter.h"
#include "models/io/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- weights ---- */

enum { TOP = 3 /* the largest similarities of a word */, NEIGHBOURS = 3, HIDDEN_MAX = 4096 };
enum { FEATURE_SET = 1 }; /* version of the features; a head of another version is refused */

int gate_words_inputs(const struct gate_words *h)
{
    return 2 * h->width + TOP + 1 + NEIGHBOURS * WORD_SIGNS;
}

void gate_words_init(struct gate_words *h, int width, int layer, int hidden)
{
    *h = (struct gate_words){ .known = true, .layer = layer, .hidden = hidden, .width = width, .temperature = 1 };
    h->dense_w = xcalloc((size_t)gate_words_inputs(h) * (size_t)hidden, sizeof *h->dense_w);
    h->dense_b = xcalloc((size_t)hidden, sizeof *h->dense_b);
    h->score_w = xcalloc((size_t)hidden * WORD_LABELS, sizeof *h->score_w);
    h->score_b = xcalloc(WORD_LABELS, sizeof *h->score_b);
}

void gate_words_release(struct gate_words *h)
{
    free(h->dense_w);
    free(h->dense_b);
    free(h->score_w);
    free(h->score_b);
    *h = (struct gate_words){ 0 };
}

const char *gate_words_refusal(const struct gate_model *m)
{
    const struct gatekeeper_config *g = &m->net.config;

    if (g->encode != ENCODE_SCHEMA || !m->layout.asks)
        return "it does not encode the question with the whole schema, as --encode schema --linguistic do";
    if (g->bert.layers < 2)
        return "its encoder has a single layer, which serves the scores";
    return m->graph == GRAPH_REPRODUCTION ? "the nodes of its graph are not elements" : NULL;
}

/* ---- file ---- */

struct words_spec {
    int layer, hidden, words, feature_set;
    double temperature, ambiguous, unanswerable;
};
#define AT(member) offsetof(struct words_spec, member)
static const struct spec_field fields[] = {
    { "feature_set", AT(feature_set), SPEC_INT, NULL, FEATURE_SET, FEATURE_SET, false },
    { "layer", AT(layer), SPEC_INT, NULL, 1, 1 << 16, false },
    { "hidden", AT(hidden), SPEC_INT, NULL, 1, HIDDEN_MAX, false },
    { "words", AT(words), SPEC_INT, NULL, 1, INT32_MAX, false },
    { "temperature", AT(temperature), SPEC_DOUBLE, NULL, 1e-3, 1e3, false },
    { "threshold_AMB", AT(ambiguous), SPEC_DOUBLE, NULL, 0, 2, false },
    { "threshold_UNK", AT(unanswerable), SPEC_DOUBLE, NULL, 0, 2, false },
    { 0 },
};
#undef AT

enum { TENSORS = 4 };
struct words_tensor {
    struct hdf5_tensor tensor;
    float *values;
};

static void list_tensors(struct words_tensor out[TENSORS], const struct gate_words *h)
{
    out[0] = (struct words_tensor){ { "param/words.dense.weight", HDF5_BF16, 2, { gate_words_inputs(h), h->hidden } },
                                    h->dense_w };
    out[1] = (struct words_tensor){ { "param/words.dense.bias", HDF5_F32, 1, { h->hidden } }, h->dense_b };
    out[2] =
        (struct words_tensor){ { "param/words.score.weight", HDF5_F32, 2, { h->hidden, WORD_LABELS } }, h->score_w };
    out[3] = (struct words_tensor){ { "param/words.score.bias", HDF5_F32, 1, { WORD_LABELS } }, h->score_b };
}

static json_t *meta_of(const struct gate_words *h, const struct gate_model *m)
{
    const struct words_spec spec = { .layer = h->layer,
                                     .hidden = h->hidden,
                                     .words = h->words,
                                     .feature_set = FEATURE_SET,
                                     .temperature = h->temperature,
                                     .ambiguous = h->threshold[SPAN_AMB],
                                     .unanswerable = h->threshold[SPAN_UNK] };
    char hash[GATE_HASH_TEXT];
    json_t *o = json_object();

    gate_model_hash_text(hash, m);
    spec_write(o, fields, &spec);
    json_object_set_new(o, "detector", json_string(hash));
    return json_pack("{s:o}", "words", o);
}

static int save_meta(struct hdf5_writer *w, const struct gate_words *h, const struct gate_model *m, struct error *err)
{
    json_t *meta = meta_of(h, m);
    int rc = checkpoint_put_meta(w, meta, err);

    json_decref(meta);
    return rc;
}

/* Writes the values in the tensor's type. */
static int put_tensor(struct hdf5_writer *w, const struct words_tensor *t, struct error *err)
{
    int64_t n = hdf5_tensor_size(&t->tensor);

    if (t->tensor.type == HDF5_F32)
        return hdf5_put(w, &t->tensor, t->values, err);
    uint16_t *half = xmalloc((size_t)n * sizeof *half);
    for (int64_t i = 0; i < n; i++)
        half[i] = bf16_from_f32(t->values[i]);
    int rc = hdf5_put(w, &t->tensor, half, err);
    free(half);
    return rc;
}

int gate_words_save(const struct gate_words *h, const struct gate_model *m, const char *path, struct error *err)
{
    struct hdf5_writer *w = hdf5_create(path, err);
    struct words_tensor list[TENSORS];
    int rc = w ? save_meta(w, h, m, err) : -1;

    list_tensors(list, h);
    for (int i = 0; i < TENSORS && rc == 0; i++)
        rc = put_tensor(w, &list[i], err);
    return hdf5_finish(w, rc, err);
}

/* Reads a tensor as f32. */
static int get_tensor(const struct hdf5_reader *r, const struct hdf5_tensor *t, float *values, struct error *err)
{
    int64_t n = hdf5_tensor_size(t);

    if (t->type == HDF5_F32)
        return hdf5_get(r, t, values, NULL, err);
    uint16_t *half = xmalloc((size_t)n * sizeof *half);
    int rc = hdf5_get(r, t, half, NULL, err);
    for (int64_t i = 0; i < n && rc == 0; i++)
        values[i] = f32_from_bf16(half[i]);
    free(half);
    return rc;
}

static int read_tensor(const struct hdf5_reader *r, const struct words_tensor *want, struct error *err)
{
    const struct hdf5_tensor *t = hdf5_find(r, want->tensor.name);
    bool fits = t && t->type == want->tensor.type && t->ndim == want->tensor.ndim;

    for (int i = 0; fits && i < t->ndim; i++)
        fits = t->shape[i] == want->tensor.shape[i];
    if (!fits)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected %lld numbers of type %s in %d dimensions",
                         r->path, want->tensor.name, (long long)hdf5_tensor_size(&want->tensor),
                         hdf5_type_name(want->tensor.type), want->tensor.ndim);
    if (get_tensor(r, t, want->values, err))
        return -1;
    for (int64_t i = 0; i < hdf5_tensor_size(t); i++)
        if (!isfinite(want->values[i]))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected finite numbers", r->path, want->tensor.name);
    return 0;
}

static int load(struct gate_words *h, const struct gate_model *m, const struct hdf5_reader *r, const json_t *o,
                struct error *err)
{
    struct words_spec spec;
    struct words_tensor list[TENSORS];
    int last = m->net.config.bert.layers - 1, rc = 0;
    const char *why = gate_words_refusal(m);

    if (!json_is_object(o))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a head of ambit-train words", r->path);
    if (why)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: the detector cannot have a head for words: %s", r->path, why);
    if (spec_read(o, fields, &spec, r->path, err) ||
        gate_model_check_hash(m, json_string_value(json_object_get(o, "detector")), "a head",
                              "; remove the file, or train it again with ambit-train words", r->path, err))
        return -1;
    if (spec.layer > last)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: field \"layer\": expected 1 to %d, got %d", r->path, last,
                         spec.layer);
    gate_words_init(h, m->net.config.bert.hidden_size, spec.layer, spec.hidden);
    h->words = spec.words;
    h->temperature = spec.temperature;
    h->threshold[SPAN_AMB] = spec.ambiguous;
    h->threshold[SPAN_UNK] = spec.unanswerable;
    list_tensors(list, h);
    for (int i = 0; i < TENSORS && rc == 0; i++)
        rc = read_tensor(r, &list[i], err);
    return rc;
}

int gate_words_open(struct gate_words *h, const struct gate_model *m, const char *dir, struct error *err)
{
    char *path = path_in(dir, WORD_HEAD_FILE);
    struct hdf5_reader r;
    int rc = 0;

    *h = (struct gate_words){ 0 };
    if (access(path, F_OK) == 0 && (rc = hdf5_open(&r, path, err)) == 0) {
        json_t *meta = checkpoint_meta(&r, err);
        rc = meta ? load(h, m, &r, json_object_get(meta, "words"), err) : -1;
        h->hash = hash_file(path);
        json_decref(meta);
        hdf5_close(&r);
    }
    if (rc) {
        gate_words_release(h);
        err->code = EXIT_CODE_CHECKPOINT;
    }
    free(path);
    return rc;
}

/* ---- features ---- */

static const float SHARPNESS = 20; /* factor of similarities before the softmax over elements */

/* The index of the token that begins at the byte or is the first one behind it. */
static int token_at(const struct token_spans *spans, int64_t n, int from)
{
    int64_t i = 0;

    while (i < n && spans->items[i].end <= from)
        i++;
    return (int)i;
}

/* First token of each word.  Returns the number of words that the model read. */
static int place_words(int *token, const struct word_input *in)
{
    int kept = gate_question_kept(&in->model->layout, in->item), n = 0;
    struct ids ids = { 0 };
    struct token_spans spans = { 0 };

    tokenizer_encode(in->model->tokenizer, in->item->text, strlen(in->item->text), 0, &ids, &spans);
    for (; n < in->signs->words.n; n++)
        if ((token[n] = token_at(&spans, ids.count, in->signs->words.words[n].from)) >= kept)
            break;
    ids_release(&ids);
    token_spans_release(&spans);
    return n;
}

static float norm_of(const float *x, int n)
{
    float sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrtf(sum) + 1e-12F;
}

/* Similarities [elements] of a word's state and those of the elements. */
static void compare(float *cosine, const float *word, const struct word_input *in, int width)
{
    float own = norm_of(word, width);

    for (int e = 0; e < in->item->schema->n_nodes; e++) {
        const float *state = in->elements + (size_t)e * (size_t)width;
        float dot = 0;
        for (int i = 0; i < width; i++)
            dot += word[i] * state[i];
        cosine[e] = dot / (own * norm_of(state, width));
    }
}

/* The mean of the elements' states under the softmax of the similarities. */
static void attend(float *out, const float *cosine, const struct word_input *in, int width)
{
    int n = in->item->schema->n_nodes;
    float sum = 0;

    memset(out, 0, (size_t)width * sizeof *out);
    for (int e = 0; e < n; e++)
        sum += expf(SHARPNESS * (cosine[e] - 1));
    for (int e = 0; e < n; e++) {
        float share = expf(SHARPNESS * (cosine[e] - 1)) / sum;
        for (int i = 0; i < width; i++)
            out[i] += share * in->elements[(size_t)e * (size_t)width + (size_t)i];
    }
}

/* The largest similarities, and the mean. */
static void summarise(float *out, const float *cosine, int n)
{
    float sum = 0;

    memset(out, 0, (TOP + 1) * sizeof *out);
    for (int e = 0; e < n; e++) {
        float x = cosine[e];
        sum += x;
        for (int i = 0; i < TOP; i++)
            if (x > out[i]) {
                float smaller = out[i];
                out[i] = x;
                x = smaller;
            }
    }
    out[TOP] = sum / (float)n;
}

/* The signs of the word, of the next one and of the one before. */
static void surround(float *out, const struct word_signs *s, int word, int n)
{
    const int places[NEIGHBOURS] = { word, word + 1, word - 1 };

    memset(out, 0, NEIGHBOURS * WORD_SIGNS * sizeof *out);
    for (int k = 0; k < NEIGHBOURS; k++)
        if (places[k] >= 0 && places[k] < n)
            memcpy(out + k * WORD_SIGNS, s->signs[places[k]], sizeof s->signs[0]);
}

/* cosine: room for [words, elements]; NULL: not wanted. */
static int fill(float *out, float *cosine, const struct gate_words *h, const struct word_input *in)
{
    int token[SPOKEN_WORDS], n = place_words(token, in), elements = in->item->schema->n_nodes;
    size_t width = (size_t)h->width;
    float *row = xmalloc((size_t)elements * sizeof *row);

    for (int i = 0; i < n; i++, out += gate_words_inputs(h)) {
        const float *state = in->tokens + (size_t)token[i] * width;
        compare(row, state, in, h->width);
        memcpy(out, state, width * sizeof *out);
        attend(out + width, row, in, h->width);
        summarise(out + 2 * width, row, elements);
        surround(out + 2 * width + TOP + 1, in->signs, i, n);
        if (cosine)
            memcpy(cosine + (size_t)i * (size_t)elements, row, (size_t)elements * sizeof *row);
    }
    free(row);
    return n;
}

int gate_words_features(float *out, const struct gate_words *h, const struct word_input *in)
{
    return fill(out, NULL, h, in);
}

/* ---- labels ---- */

/* GELU by the error function, as in the encoder. */
static float gelu(float x)
{
    return .5F * x * (1 + erff(x * (float)M_SQRT1_2));
}

void gate_words_predict(const struct gate_words *h, const float *features, double p[WORD_LABELS])
{
    float hidden[HIDDEN_MAX];
    double z[WORD_LABELS], largest = -HUGE_VAL, sum = 0;

    memcpy(hidden, h->dense_b, (size_t)h->hidden * sizeof *hidden);
    for (int i = 0; i < gate_words_inputs(h); i++)
        for (int k = 0; k < h->hidden; k++)
            hidden[k] += features[i] * h->dense_w[(size_t)i * (size_t)h->hidden + (size_t)k];
    for (int l = 0; l < WORD_LABELS; l++)
        z[l] = (double)h->score_b[l];
    for (int k = 0; k < h->hidden; k++)
        for (int l = 0; l < WORD_LABELS; l++)
            z[l] += (double)(gelu(hidden[k]) * h->score_w[k * WORD_LABELS + l]);
    for (int l = 0; l < WORD_LABELS; l++)
        largest = fmax(largest, z[l]);
    for (int l = 0; l < WORD_LABELS; l++)
        sum += p[l] = exp((z[l] - largest) / h->temperature);
    for (int l = 0; l < WORD_LABELS; l++)
        p[l] /= sum;
}

int gate_words_decide(const struct gate_words *h, const double p[WORD_LABELS])
{
    int best = WORD_OTHER;

    for (int l = 1; l < WORD_LABELS; l++)
        if (p[l] > p[best] && p[l] >= h->threshold[l - 1])
            best = l;
    return best;
}

void gate_words_read(struct word_reading *r, const struct gate_words *h, const struct word_input *in)
{
    size_t words = (size_t)in->signs->words.n, inputs = (size_t)gate_words_inputs(h);
    float *features = xmalloc(words * inputs * sizeof *features + 1);

    *r = (struct word_reading){ .n_elements = in->item->schema->n_nodes };
    r->p = xmalloc(words * sizeof *r->p + 1);
    r->cosine = xmalloc(words * (size_t)r->n_elements * sizeof *r->cosine + 1);
    r->n = fill(features, r->cosine, h, in);
    for (int i = 0; i < r->n; i++)
        gate_words_predict(h, features + (size_t)i * inputs, r->p[i]);
    free(features);
}

void word_reading_release(struct word_reading *r)
{
    free(r->p);
    free(r->cosine);
    *r = (struct word_reading){ 0 };
}

/* ---- spans ---- */

enum { MEANINGS = 4 /* max meanings of AMB */, NEAREST = 3 };
static const double MARGIN = .25; /* max distance of a meaning from the best one */

/* The words of a span, and the question. */
struct span_words {
    const struct word_reading *r;
    const struct word_question *of;
    int first, end;
    enum span_label label;
};

/* An element and its similarity to the words of a span. */
struct scored_element {
    int element;
    double score;
};

static double similarity(const struct span_words *s, int element)
{
    double sum = 0;

    for (int i = s->first; i < s->end; i++)
        sum += (double)s->r->cosine[(size_t)i * (size_t)s->r->n_elements + (size_t)element];
    return 2 * sum / (s->end - s->first) + word_likeness(s->of->signs, s->first, s->end, s->of->names, element);
}

/* The most similar elements, best first.  Returns their number. */
static int rank_elements(struct scored_element out[MEANINGS], const struct span_words *s)
{
    int n = 0;

    for (int e = 0; e < s->r->n_elements; e++) {
        struct scored_element x = { e, similarity(s, e) };
        for (int i = 0; i < n; i++)
            if (x.score > out[i].score) {
                struct scored_element worse = out[i];
                out[i] = x;
                x = worse;
            }
        if (n < MEANINGS)
            out[n++] = x;
    }
    return n;
}

static bool has_table(const struct span_column *c)
{
    return c->sql_table || c->table;
}

/* The concept of an element; false if the question has no column of it, or the table has no name. */
static bool concept_of(struct tag_concept *c, const struct word_question *w, struct scored_element e)
{
    bool is_table = e.element < w->schema->n_tables;

    for (int i = 0; i < w->q->n_columns; i++) {
        int own = w->element_of[i];
        if (own < 0 || (is_table ? schema_table_of(w->schema, own) : own) != e.element)
            continue;
        if (is_table && !has_table(&w->q->columns[i]))
            return false;
        *c = (struct tag_concept){ .kind = is_table ? TAG_TABLE : TAG_COLUMN,
                                   .column = i,
                                   .score = fmax(0, fmin(1, e.score / 3)) };
        return true;
    }
    return false;
}

static void add_concept(struct tag_concept **list, int *n, const struct tag_concept *c)
{
    *list = xrealloc(*list, (size_t)(*n + 1) * sizeof **list);
    (*list)[(*n)++] = *c;
}

/* Adds the first `most` elements, as far as they are not more than MARGIN behind the best one, but at least `least`. */
static void add_elements(struct tag_concept **list, int *n, const struct span_words *s, int least, int most)
{
    struct scored_element best[MEANINGS];
    struct tag_concept c;
    int found = rank_elements(best, s);

    for (int i = 0; i < found && *n < most; i++)
        if ((*n < least || best[i].score >= best[0].score - MARGIN) && concept_of(&c, s->of, best[i]))
            add_concept(list, n, &c);
}

/* False for a number that the column is known not to contain: a number matches every numeric column. */
static bool is_stored(const struct tag_question *q, const struct tag_value *v)
{
    bool number = false, stored = false;

    for (int i = 0; i < q->n_numbers; i++) {
        const struct said_number *n = &q->numbers[i];
        bool here = v->start < n->end && n->start < v->end;
        number |= here;
        for (int k = 0; here && k < n->n_holders; k++)
            stored |= n->holders[k].column == v->column;
    }
    return !number || stored;
}

/* Adds the values that match all words of the span, the best of each column.  stored: only of columns that contain it.
 */
static void add_values(struct tag_span *span, const struct span_words *s, bool stored)
{
    for (int i = 0; i < s->of->q->n_values && span->n_alternatives < MEANINGS; i++) {
        const struct tag_value *v = &s->of->q->values[i];
        bool again = false;
        for (int k = 0; k < span->n_alternatives; k++)
            again |= span->alternatives[k].column == v->column;
        if (v->start > span->start || span->end > v->end || again || (stored && !is_stored(s->of->q, v)))
            continue;
        struct tag_concept c = { .kind = TAG_VALUE, .column = v->column, .value = v->text, .score = v->score };
        add_concept(&span->alternatives, &span->n_alternatives, &c);
    }
}

/* Fills the meanings.  False: the span has none, and is dropped. */
static bool add_meanings(struct tag_span *span, const struct span_words *s)
{
    if (s->label == SPAN_UNK) {
        add_elements(&span->nearest, &span->n_nearest, s, NEAREST, NEAREST);
        return true;
    }
    for (int all = 0; all < 2 && s->label != SPAN_COL && !span->n_alternatives; all++)
        add_values(span, s, !all);
    if (s->label == SPAN_VAL) {
        span->n_alternatives = span->n_alternatives ? 1 : 0;
        return span->n_alternatives > 0;
    }
    if (s->label == SPAN_AMB && span->n_alternatives < 2) {
        span->n_alternatives = 0;
        add_elements(&span->alternatives, &span->n_alternatives, s, 2, MEANINGS);
        return span->n_alternatives > 1;
    }
    if (s->label == SPAN_COL)
        add_elements(&span->alternatives, &span->n_alternatives, s, 1, 1);
    return span->n_alternatives > 0;
}

/* Whether only blanks and joining marks are between the word and the next one. */
static bool joined(const struct word_question *w, int word)
{
    const struct spoken_word *words = w->signs->words.words;
    const char *text = w->q->question;

    for (int i = words[word].to; i < words[word + 1].from; i++)
        if (!strchr(" -_/'", text[i]))
            return false;
    return true;
}

/* The longest stored value that has the word and fits the label: of several columns for AMB.  NULL: none. */
static const struct tag_value *value_at(const struct word_question *w, int word, int label)
{
    const struct spoken_word *at = &w->signs->words.words[word];
    const struct tag_value *longest = NULL;

    if (label != 1 + SPAN_VAL && (label != 1 + SPAN_AMB || w->signs->signs[word][WORD_VALUES] <= 0))
        return NULL;
    for (int i = 0; i < w->q->n_values; i++) {
        const struct tag_value *v = &w->q->values[i];
        if (v->start <= at->start && at->end <= v->end &&
            (!longest || v->end - v->start > longest->end - longest->start))
            longest = v;
    }
    return longest;
}

static void add_span(struct tag_answer *a, const struct span_words *s, const struct tag_value *value)
{
    const struct spoken_word *words = s->of->signs->words.words;
    struct tag_span span = { .start = words[s->first].start, .end = words[s->end - 1].end, .label = s->label };
    int before = a->n_spans ? a->spans[a->n_spans - 1].end : 0;

    if (value) {
        span.start = value->start < before ? span.start : value->start;
        span.end = value->end;
    }
    for (int i = s->first; i < s->end; i++)
        span.probability += s->r->p[i][1 + s->label] / (s->end - s->first);
    span.probability = fmin(1, span.probability);
    if (!add_meanings(&span, s)) {
        free(span.alternatives);
        return;
    }
    a->spans = xrealloc(a->spans, (size_t)(a->n_spans + 1) * sizeof *a->spans);
    a->spans[a->n_spans++] = span;
}

/* The word behind the span that begins with word i: behind the stored value, or behind the neighbours with its label.
 */
static int end_of(const struct gate_words *h, const struct word_reading *r, const struct word_question *w, int i,
                  const struct tag_value *value)
{
    int label = gate_words_decide(h, r->p[i]), end = i + 1;

    if (value)
        while (end < r->n && w->signs->words.words[end].start < value->end)
            end++;
    else
        while (end < r->n && joined(w, end - 1) && gate_words_decide(h, r->p[end]) == label && !value_at(w, end, label))
            end++;
    return end;
}

void gate_words_answer(struct tag_answer *a, const struct gate_words *h, const struct word_reading *r,
                       const struct word_question *w)
{
    *a = (struct tag_answer){ 0 };
    for (int i = 0, end; i < r->n; i = end) {
        int label = gate_words_decide(h, r->p[i]);
        const struct tag_value *value = value_at(w, i, label);
        end = end_of(h, r, w, i, value);
        const struct span_words s = { r, w, i, end, (enum span_label)(label - 1) };
        if (label != WORD_OTHER)
            add_span(a, &s, value);
    }
    for (int i = 0; i < r->n; i++)
        a->problem = fmin(1, fmax(a->problem, r->p[i][1 + SPAN_AMB] + r->p[i][1 + SPAN_UNK]));
}
