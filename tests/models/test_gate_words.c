/*
 * The head for words: its file, its features, its labels and the spans that it makes of them.
 */
#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "models/gatekeeper/gate_words.h"
#include "models/io/checkpoint.h"
#include "tests/support/gate_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 64 /* of gate_world */, HIDDEN = 5 };
static const struct gate_world_settings whole = { ENCODE_SCHEMA, .linguistic = 1 };

static void draw(float *x, int n, uint64_t seed)
{
    struct rng rng = { .seed = seed };

    for (int i = 0; i < n; i++)
        x[i] = 2 * rng_uniform(&rng) - 1;
}

static void open_head(struct gate_words *h, int width, int layer)
{
    gate_words_init(h, width, layer, HIDDEN);
    draw(h->dense_w, gate_words_inputs(h) * HIDDEN, 1);
    for (int i = 0; i < gate_words_inputs(h) * HIDDEN; i++)
        h->dense_w[i] = f32_from_bf16(bf16_from_f32(h->dense_w[i]));
    draw(h->dense_b, HIDDEN, 2);
    draw(h->score_w, HIDDEN * WORD_LABELS, 3);
    draw(h->score_b, WORD_LABELS, 4);
    h->words = 77;
    h->temperature = 1.5;
    h->threshold[SPAN_AMB] = .6;
    h->threshold[SPAN_UNK] = .7;
}

/* ---- file ---- */

static const char *head_path(const char *dir)
{
    return test_file(dir, WORD_HEAD_FILE, NULL);
}

static void test_round_trip(void **state)
{
    char *dir = test_dir_new();
    struct gate_words h, again, none;
    struct gate_world w;
    struct error err;

    (void)state;
    gate_world_open(&w, &whole);
    assert_int_equal(gate_words_open(&none, &w.model, dir, &err), 0);
    assert_false(none.known);
    open_head(&h, WIDTH, 1);
    assert_int_equal(gate_words_save(&h, &w.model, head_path(dir), &err), 0);
    assert_int_equal(gate_words_open(&again, &w.model, dir, &err), 0);
    assert_true(again.known && again.hash);
    assert_true(again.layer == 1 && again.hidden == HIDDEN && again.width == WIDTH && again.words == 77);
    assert_true(again.temperature == h.temperature);
    assert_memory_equal(again.threshold, h.threshold, sizeof h.threshold);
    assert_memory_equal(again.dense_w, h.dense_w, (size_t)gate_words_inputs(&h) * HIDDEN * sizeof *h.dense_w);
    assert_memory_equal(again.dense_b, h.dense_b, HIDDEN * sizeof *h.dense_b);
    assert_memory_equal(again.score_w, h.score_w, HIDDEN * WORD_LABELS * sizeof *h.score_w);
    assert_memory_equal(again.score_b, h.score_b, WORD_LABELS * sizeof *h.score_b);
    gate_words_release(&again);
    gate_words_release(&h);
    gate_world_close(&w);
    test_dir_remove(dir);
}

static void check_refused(const struct gate_model *m, const char *dir, const char *said)
{
    struct gate_words h;
    struct error err = { 0 };

    assert_int_equal(gate_words_open(&h, m, dir, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    assert_error(err, WORD_HEAD_FILE, said);
    assert_false(h.known);
    assert_null(h.dense_w);
}

/* Saves a head of the model and checks the refusal. */
static void check_head(struct gate_words *h, const struct gate_model *m, const char *said)
{
    char *dir = test_dir_new();
    struct error err;

    assert_int_equal(gate_words_save(h, m, head_path(dir), &err), 0);
    check_refused(m, dir, said);
    gate_words_release(h);
    test_dir_remove(dir);
}

static void test_refused_heads(void **state)
{
    const struct gate_world_settings element = { ENCODE_ELEMENT, .linguistic = 1 };
    struct gate_words h;
    struct gate_world w, other;

    (void)state;
    gate_world_open(&w, &whole);
    gate_world_open(&other, &element);
    open_head(&h, WIDTH, 2);
    check_head(&h, &w.model, "field \"layer\": expected 1 to 1, got 2");
    open_head(&h, WIDTH / 2, 1);
    check_head(&h, &w.model, "words.dense.weight: expected");
    open_head(&h, WIDTH, 1);
    h.score_w[3] = NAN;
    check_head(&h, &w.model, "words.score.weight: expected finite numbers");
    open_head(&h, WIDTH, 1);
    h.threshold[SPAN_UNK] = -.1;
    check_head(&h, &w.model, "threshold_UNK");
    open_head(&h, WIDTH, 1);
    check_head(&h, &other.model, "does not encode the question with the whole schema");
    gate_world_close(&other);
    gate_world_close(&w);
}

static void change_weight(struct gate_world *w)
{
    struct param *p = &w->model.params.list[0];
    float *x = xcalloc((size_t)tensor_size(p->t), sizeof *x);

    param_upload(p, &w->device, x);
    free(x);
}

static void write_part(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* A head is bound to the weights.  A cut file, and a file of something else, are refused. */
static void test_refused_files(void **state)
{
    char *dir = test_dir_new(), *bytes;
    struct gate_words h;
    struct gate_world w;
    struct error err;

    (void)state;
    gate_world_open(&w, &whole);
    open_head(&h, WIDTH, 1);
    assert_int_equal(gate_words_save(&h, &w.model, head_path(dir), &err), 0);
    change_weight(&w);
    check_refused(&w.model, dir, "train it again with ambit-train words");
    bytes = test_read(head_path(dir));
    write_part(head_path(dir), bytes, 200);
    check_refused(&w.model, dir, "");
    test_file(dir, WORD_HEAD_FILE, "{\"words\": 1}");
    check_refused(&w.model, dir, "");
    free(bytes);
    gate_words_release(&h);
    gate_world_close(&w);
    test_dir_remove(dir);
}

static void test_refusal(void **state)
{
    struct gate_world_settings kinds[] = { { ENCODE_ELEMENT, .linguistic = 1 },
                                           { ENCODE_SCHEMA, .linguistic = 0 },
                                           { ENCODE_SCHEMA, .linguistic = 1 } };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(kinds); i++) {
        struct gate_world w;
        gate_world_open(&w, &kinds[i]);
        assert_int_equal(gate_words_refusal(&w.model) == NULL, i == 2);
        w.model.net.config.bert.layers = 1;
        assert_non_null(gate_words_refusal(&w.model));
        w.model.net.config.bert.layers = 2;
        gate_world_close(&w);
    }
}

/* ---- features ---- */

/* A question on a schema of three tables, with random states. */
struct read_question {
    struct gate_world w;
    struct gate_question q;
    struct word_names names;
    struct word_signs signs;
    float *tokens, *elements;
    struct gate_words head;
};

static void open_read(struct read_question *r, int max_question)
{
    struct schema s;

    gate_world_open(&r->w, &whole);
    r->w.model.layout.max_question = max_question;
    gate_world_schema(&s, 3, 2);
    gate_question_init(&r->q, &r->w, &s, 11);
    int kept = gate_question_kept(&r->w.model.layout, &r->q.item), nodes = r->q.input.n_nodes;
    r->tokens = xmalloc((size_t)(kept * WIDTH) * sizeof *r->tokens);
    r->elements = xmalloc((size_t)(nodes * WIDTH) * sizeof *r->elements);
    draw(r->tokens, kept * WIDTH, 21);
    draw(r->elements, nodes * WIDTH, 22);
    word_names_init(&r->names, &r->q.schema);
    word_signs_read(&r->signs, r->q.text, &r->names, NULL, 0, true);
    open_head(&r->head, WIDTH, 1);
}

static void close_read(struct read_question *r)
{
    gate_words_release(&r->head);
    word_names_release(&r->names);
    gate_question_release(&r->q);
    gate_world_close(&r->w);
    free(r->tokens);
    free(r->elements);
}

static double cosine_of(const float *a, const float *b)
{
    double dot = 0, aa = 0, bb = 0;

    for (int i = 0; i < WIDTH; i++) {
        dot += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return dot / sqrt(aa * bb);
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The number of tokens before the word: those of the text up to it. */
static int tokens_before(const struct read_question *r, int word)
{
    struct ids ids = { 0 };

    tokenizer_encode(r->w.model.tokenizer, r->q.text, (size_t)r->signs.words.words[word].from, 0, &ids, NULL);
    int n = (int)ids.count;
    ids_release(&ids);
    return n;
}

/* The features of a word, written down from the head's description. */
static void expect(double *out, const struct read_question *r, int word, int words)
{
    enum { MOST = 64 };
    const float *own = r->tokens + (size_t)(tokens_before(r, word) * WIDTH);
    int n = r->q.input.n_nodes, at = 2 * WIDTH;
    double c[MOST], sum = 0, mean = 0;

    for (int e = 0; e < n; e++) {
        c[e] = cosine_of(own, r->elements + (size_t)(e * WIDTH));
        sum += exp(20 * c[e]);
        mean += c[e] / n;
    }
    for (int i = 0; i < WIDTH; i++) {
        out[i] = (double)own[i];
        out[WIDTH + i] = 0;
        for (int e = 0; e < n; e++)
            out[WIDTH + i] += exp(20 * c[e]) / sum * (double)r->elements[e * WIDTH + i];
    }
    qsort(c, (size_t)n, sizeof *c, falling);
    for (int i = 0; i < 3; i++)
        out[at++] = fmax(c[i], 0);
    out[at++] = mean;
    for (int k = 0; k < 3; k++) {
        int place = word + (k == 1) - (k == 2);
        for (int i = 0; i < WORD_SIGNS; i++)
            out[at++] = place >= 0 && place < words ? (double)r->signs.signs[place][i] : 0;
    }
}

static void check_features(int max_question, int wanted_words)
{
    struct read_question r;
    struct word_input in = { .signs = &r.signs };

    open_read(&r, max_question);
    in.model = &r.w.model;
    in.item = &r.q.item;
    in.tokens = r.tokens;
    in.elements = r.elements;
    int inputs = gate_words_inputs(&r.head);
    float *got = xcalloc((size_t)(SPOKEN_WORDS * inputs), sizeof *got);
    double *wanted = xcalloc((size_t)inputs, sizeof *wanted);
    int n = gate_words_features(got, &r.head, &in);
    assert_int_equal(n, wanted_words ? wanted_words : r.signs.words.n);
    assert_int_equal(inputs, 2 * WIDTH + 4 + 3 * WORD_SIGNS);
    for (int word = 0; word < n; word++) {
        expect(wanted, &r, word, n);
        for (int i = 0; i < inputs; i++)
            if (!(fabs((double)got[word * inputs + i] - wanted[i]) <= 1e-5))
                fail_msg("word %d: feature %d is %g, expected %g", word, i, (double)got[word * inputs + i], wanted[i]);
    }
    free(wanted);
    free(got);
    close_read(&r);
}

/* Words that begin behind the cut of a long question have no features, and are no neighbours. */
static void test_features(void **state)
{
    (void)state;
    check_features(0, 0);
    check_features(2, 2);
    check_features(1, 1);
}

/* ---- labels ---- */

static void test_predict(void **state)
{
    struct gate_words h;
    double p[WORD_LABELS], z[WORD_LABELS], sum = 0;

    (void)state;
    open_head(&h, WIDTH, 1);
    int inputs = gate_words_inputs(&h);
    float *x = xmalloc((size_t)inputs * sizeof *x);
    draw(x, inputs, 9);
    for (int l = 0; l < WORD_LABELS; l++)
        z[l] = (double)h.score_b[l];
    for (int k = 0; k < HIDDEN; k++) {
        double a = (double)h.dense_b[k];
        for (int i = 0; i < inputs; i++)
            a += (double)x[i] * (double)h.dense_w[i * HIDDEN + k];
        a *= .5 * (1 + erf(a / sqrt(2)));
        for (int l = 0; l < WORD_LABELS; l++)
            z[l] += a * (double)h.score_w[k * WORD_LABELS + l];
    }
    for (int l = 0; l < WORD_LABELS; l++)
        sum += exp(z[l] / h.temperature);
    gate_words_predict(&h, x, p);
    for (int l = 0; l < WORD_LABELS; l++)
        assert_true(fabs(p[l] - exp(z[l] / h.temperature) / sum) < 1e-5);
    free(x);
    gate_words_release(&h);
}

static void test_decide(void **state)
{
    const struct gate_words h = { .threshold = { [SPAN_AMB] = .6, [SPAN_UNK] = .7 } };
    static const struct {
        double p[WORD_LABELS]; /* none, COL, VAL, AMB, UNK */
        int wanted;
    } cases[] = {
        { { .5, .3, .1, .1, 0 }, WORD_OTHER },     { { .3, .4, .1, .1, .1 }, 1 + SPAN_COL },
        { { .1, .1, .2, .6, 0 }, 1 + SPAN_AMB },   { { .1, .2, .15, .55, 0 }, 1 + SPAN_COL },
        { { .3, .2, 0, .5, 0 }, WORD_OTHER },      { { .1, 0, .2, .01, .69 }, 1 + SPAN_VAL },
        { { .1, 0, .19, .01, .7 }, 1 + SPAN_UNK }, { { .25, .25, .25, .25, 0 }, WORD_OTHER },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(gate_words_decide(&h, cases[i].p), cases[i].wanted);
}

/* ---- spans ---- */

/* product(normal_price, sale_price, maker), buyer(name): elements, and the columns of a question in another order */
enum { PRODUCT, BUYER, NORMAL, SALE, MAKER, NAME, ELEMENTS };
static const struct span_column columns[] = {
    { .table = "buyer", .name = "name" },           { .table = "product", .name = "maker" },
    { .table = "product", .name = "normal price" }, { .table = "product", .name = "sale price" },
    { .table = "product", .name = "unread" },
};
static const int element_of[ARRAY_LEN(columns)] = { NAME, MAKER, NORMAL, SALE, -1 };

struct tagged {
    struct schema schema;
    struct word_names names;
    struct word_signs signs;
    struct tag_question q;
    double p[SPOKEN_WORDS][WORD_LABELS];
    float cosine[SPOKEN_WORDS * ELEMENTS];
    struct gate_words head;
    struct tag_answer answer;
};

/* labels: a letter for each word: o C V A U, each with a probability of .8, and .05 for the other labels */
static void open_tagged(struct tagged *t, const char *question, const char *labels, const struct tag_value *values,
                        int n)
{
    static const char letters[] = "oCVAU";
    struct schema_build b;

    memset(t, 0, sizeof *t);
    schema_build_init(&b, "shop");
    int product = schema_build_table(&b, "product", NULL), buyer = schema_build_table(&b, "buyer", NULL);
    schema_build_column(&b, product, "normal_price", NULL, COLUMN_NUMBER);
    schema_build_column(&b, product, "sale_price", NULL, COLUMN_NUMBER);
    schema_build_column(&b, product, "maker", NULL, COLUMN_TEXT);
    schema_build_column(&b, buyer, "name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, &t->schema);
    word_names_init(&t->names, &t->schema);
    t->q = (struct tag_question){
        .question = question, .columns = columns, .n_columns = ARRAY_LEN(columns), .values = values, .n_values = n
    };
    word_signs_read(&t->signs, question, &t->names, values, n, true);
    assert_int_equal(t->signs.words.n, strlen(labels));
    for (int i = 0; labels[i]; i++)
        for (int l = 0; l < WORD_LABELS; l++)
            t->p[i][l] = letters[l] == labels[i] ? .8 : .05;
    t->head.threshold[SPAN_AMB] = t->head.threshold[SPAN_UNK] = .5;
}

static void answer(struct tagged *t)
{
    struct word_reading r = { .n = t->signs.words.n, .n_elements = ELEMENTS, .p = t->p, .cosine = t->cosine };
    const struct word_question w = { &t->q, &t->schema, element_of, &t->names, &t->signs };

    gate_words_answer(&t->answer, &t->head, &r, &w);
}

static void close_tagged(struct tagged *t)
{
    tag_answer_release(&t->answer);
    word_names_release(&t->names);
    schema_release(&t->schema);
}

static void check_span(const struct tag_span *s, enum span_label label, int start, int end)
{
    assert_int_equal(s->label, label);
    assert_int_equal(s->start, start);
    assert_int_equal(s->end, end);
    assert_true(fabs(s->probability - .8) < 1e-9);
}

static void check_concept(const struct tag_concept *c, enum tag_kind kind, int column)
{
    assert_int_equal(c->kind, kind);
    assert_int_equal(c->column, column);
    assert_true(c->score >= 0 && c->score <= 1);
}

/* Words of one label are a span, unless a mark that separates stands between them. */
static void test_merging(void **state)
{
    struct tagged t;

    (void)state;
    open_tagged(&t, "Show sale-price, maker of Ünique: maker", "oCCCoUC", NULL, 0);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 4);
    check_span(&t.answer.spans[0], SPAN_COL, 5, 15);
    check_concept(&t.answer.spans[0].alternatives[0], TAG_COLUMN, 3);
    check_span(&t.answer.spans[1], SPAN_COL, 17, 22);
    check_concept(&t.answer.spans[1].alternatives[0], TAG_COLUMN, 1);
    check_span(&t.answer.spans[2], SPAN_UNK, 26, 32);
    check_span(&t.answer.spans[3], SPAN_COL, 34, 39);
    assert_int_equal(t.answer.spans[3].n_alternatives, 1);
    assert_true(fabs(t.answer.problem - .85) < 1e-9);
    close_tagged(&t);
}

/* AMB has the elements near the best one, and two at least; states count like names. */
static void test_alternatives(void **state)
{
    struct tagged t;

    (void)state;
    open_tagged(&t, "the price", "oA", NULL, 0);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 1);
    assert_int_equal(t.answer.spans[0].n_alternatives, 2);
    check_concept(&t.answer.spans[0].alternatives[0], TAG_COLUMN, 2);
    check_concept(&t.answer.spans[0].alternatives[1], TAG_COLUMN, 3);
    close_tagged(&t);
    open_tagged(&t, "the price", "oA", NULL, 0);
    t.cosine[ELEMENTS + NAME] = .2F; /* 0.4, beside 0.5 of names */
    t.cosine[ELEMENTS + BUYER] = .1F;
    answer(&t);
    assert_int_equal(t.answer.spans[0].n_alternatives, 3);
    check_concept(&t.answer.spans[0].alternatives[2], TAG_COLUMN, 0);
    close_tagged(&t);
    open_tagged(&t, "the maker", "oA", NULL, 0);
    t.cosine[ELEMENTS + PRODUCT] = .01F;
    answer(&t);
    assert_int_equal(t.answer.spans[0].n_alternatives, 2);
    check_concept(&t.answer.spans[0].alternatives[1], TAG_TABLE, 1);
    close_tagged(&t);
}

/* UNK has no meaning, but near elements. */
static void test_unknown(void **state)
{
    struct tagged t;

    (void)state;
    open_tagged(&t, "the warranty", "oU", NULL, 0);
    t.cosine[ELEMENTS + SALE] = .3F;
    t.cosine[ELEMENTS + MAKER] = .2F;
    t.cosine[ELEMENTS + NAME] = .1F;
    answer(&t);
    assert_int_equal(t.answer.spans[0].n_alternatives, 0);
    assert_int_equal(t.answer.spans[0].n_nearest, 3);
    check_concept(&t.answer.spans[0].nearest[0], TAG_COLUMN, 3);
    check_concept(&t.answer.spans[0].nearest[1], TAG_COLUMN, 1);
    close_tagged(&t);
}

static const struct tag_value values[] = { { .column = 1, .text = "Acme", .start = 6, .end = 10, .score = 1 },
                                           { .column = 1, .text = "Acne", .start = 6, .end = 10, .score = .9 },
                                           { .column = 0, .text = "Acme", .start = 6, .end = 10, .score = .9 },
                                           { .column = 0, .text = "Acme Tim", .start = 6, .end = 14, .score = .8 } };

/* A value without a match is dropped, one with matches has the best of them; AMB may be between values. */
static void test_values(void **state)
{
    struct tagged t;

    (void)state;
    open_tagged(&t, "since Acme Tim", "oVo", values, 3);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 1);
    check_span(&t.answer.spans[0], SPAN_VAL, 6, 10);
    assert_int_equal(t.answer.spans[0].n_alternatives, 1);
    check_concept(&t.answer.spans[0].alternatives[0], TAG_VALUE, 1);
    assert_string_equal(t.answer.spans[0].alternatives[0].value, "Acme");
    close_tagged(&t);
    open_tagged(&t, "since Acme Tim", "oAo", values, 3);
    answer(&t);
    assert_int_equal(t.answer.spans[0].n_alternatives, 2);
    check_concept(&t.answer.spans[0].alternatives[1], TAG_VALUE, 0);
    close_tagged(&t);
    open_tagged(&t, "since Acme Tim", "ooV", values, 3);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 0);
    close_tagged(&t);
}

/* A word of a value stands for the whole value, but not for words that an earlier span has. */
static void test_whole_values(void **state)
{
    struct tagged t;

    (void)state;
    open_tagged(&t, "since Acme Tim", "ooV", values, 4);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 1);
    assert_int_equal(t.answer.spans[0].start, 6);
    assert_int_equal(t.answer.spans[0].end, 14);
    check_concept(&t.answer.spans[0].alternatives[0], TAG_VALUE, 0);
    close_tagged(&t);
    open_tagged(&t, "since Acme Tim, 30", "oVoU", values, 4);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 2);
    assert_int_equal(t.answer.spans[0].end, 14);
    assert_int_equal(t.answer.spans[1].start, 16);
    close_tagged(&t);
    open_tagged(&t, "since Acme Tim", "oUV", values, 4);
    answer(&t);
    assert_int_equal(t.answer.n_spans, 2);
    check_span(&t.answer.spans[0], SPAN_UNK, 6, 10);
    assert_int_equal(t.answer.spans[1].start, 11);
    close_tagged(&t);
}

/* A number is a value of the columns that contain it; if none does, of the first one. */
static void test_numbers(void **state)
{
    const struct tag_value numbers[] = { { .column = 2, .text = "28", .start = 6, .end = 8, .score = 1 },
                                         { .column = 3, .text = "28", .start = 6, .end = 8, .score = 1 } };
    const struct number_holder holder = { .column = 3, .text = "28.0" };
    struct said_number said = { .start = 6, .end = 8, .holders = &holder, .n_holders = 1 };
    struct tagged t;

    (void)state;
    for (said.n_holders = 0; said.n_holders < 2; said.n_holders++) {
        open_tagged(&t, "since 28", "oV", numbers, 2);
        t.q.numbers = &said;
        t.q.n_numbers = 1;
        answer(&t);
        assert_int_equal(t.answer.n_spans, 1);
        check_concept(&t.answer.spans[0].alternatives[0], TAG_VALUE, said.n_holders ? 3 : 2);
        close_tagged(&t);
    }
}

/* In a record about one table, which has no name, the table is no meaning. */
static void test_table_without_name(void **state)
{
    const struct span_column one[] = { { .name = "maker" }, { .name = "sale price" }, { .name = "normal price" } };
    const int places[] = { MAKER, SALE, NORMAL };
    struct tagged t;
    struct word_reading r = { .n_elements = ELEMENTS, .p = t.p, .cosine = t.cosine };
    const struct word_question w = { &t.q, &t.schema, places, &t.names, &t.signs };

    (void)state;
    open_tagged(&t, "the warranty", "oU", NULL, 0);
    t.q.columns = one;
    t.q.n_columns = ARRAY_LEN(one);
    t.cosine[ELEMENTS + PRODUCT] = .5F;
    t.cosine[ELEMENTS + SALE] = .4F;
    r.n = t.signs.words.n;
    gate_words_answer(&t.answer, &t.head, &r, &w);
    check_concept(&t.answer.spans[0].nearest[0], TAG_COLUMN, 1);
    close_tagged(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),    cmocka_unit_test(test_refused_heads),
        cmocka_unit_test(test_refused_files), cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_features),      cmocka_unit_test(test_predict),
        cmocka_unit_test(test_decide),        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_alternatives),  cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_values),        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_whole_values),  cmocka_unit_test(test_table_without_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
