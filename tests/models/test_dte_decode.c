/* Compares the CRF on the host with an enumeration of all taggings, and tests answers from given scores. */
#include "kernels/rng.h"
#include "models/tagger/dte_decode.h"
#include "tests/support/dte_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4, TAGGINGS = 10000 };

/* Sums over all taggings of WORDS words with DTE_TAGS tags. */
struct counted {
    double all, spans; /* spans: those with B, I of one label at words 1 and 2, and no longer */
    double most;
    int best[WORDS];
};

static double score_of(const struct dte_chain *m, const struct dte_emissions *e, const int *tags)
{
    double s = 0;

    for (int t = 0; t <= WORDS; t++) {
        int from = t == WORDS ? m->tags + 1 : t ? tags[t - 1] : m->tags, to = t == WORDS ? tags[t - 1] : tags[t];
        if (m->forbidden && m->forbidden[from] >> to & 1)
            return -INFINITY;
        if (t < WORDS && e->allowed && !(e->allowed[t] >> to & 1))
            return -INFINITY;
        s += (double)m->weights[from * m->tags + to] + (t < WORDS ? (double)e->e[t * m->tags + to] : 0);
    }
    return s / e->temperature;
}

static struct counted count(const struct dte_chain *m, const struct dte_emissions *e, int begin)
{
    struct counted c = { .most = -INFINITY };

    for (int i = 0; i < TAGGINGS; i++) {
        const int tags[WORDS] = { i % 10, i / 10 % 10, i / 100 % 10, i / 1000 };
        double s = score_of(m, e, tags);
        c.all += exp(s);
        if (tags[1] == begin && tags[2] == begin + 1 && tags[3] != begin + 1)
            c.spans += exp(s);
        if (s > c.most) {
            c.most = s;
            memcpy(c.best, tags, sizeof tags);
        }
    }
    return c;
}

static void check_chain(const struct dte_chain *m, const struct dte_emissions *e)
{
    const int begin = DTE_SPAN + 2 * SPAN_AMB, tags[] = { begin, begin + 1 };
    struct counted c = count(m, e, begin);
    int best[WORDS];

    assert_true(dte_chain_best(m, e, best));
    assert_memory_equal(best, c.best, sizeof best);
    assert_near(dte_chain_log_z(m, e), log(c.all), 1e-9);
    assert_near(dte_chain_span(m, e, 1, 3, tags, 1 << (begin + 1)), c.spans / c.all, 1e-9);
}

static void test_chain_counted(void **state)
{
    const struct dte_config config = { .published = false };
    float weights[(DTE_TAGS + 2) * DTE_TAGS], emission[WORDS * DTE_TAGS];
    int32_t forbidden[DTE_TAGS + 2], allowed[WORDS];
    (void)state;

    dte_forbidden(&config, forbidden);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct rng rng = { .seed = seed };
        for (int i = 0; i < ARRAY_LEN(weights); i++)
            weights[i] = 4 * rng_uniform(&rng) - 2;
        for (int i = 0; i < ARRAY_LEN(emission); i++)
            emission[i] = 4 * rng_uniform(&rng) - 2;
        for (int q = 0; q < WORDS; q++)
            allowed[q] = q == WORDS - 1 ? 1 << DTE_OTHER : ~(1 << (int)(seed % DTE_TAGS));
        struct dte_chain m = { DTE_TAGS, weights, seed % 2 ? forbidden : NULL };
        struct dte_emissions e = { emission, seed % 3 ? allowed : NULL, WORDS, seed % 4 ? 1 : 2.5 };
        check_chain(&m, &e);
    }
}

/* Results of pytorch-crf 0.7.2 in f64. */
static void test_chain_published(void **state)
{
    const float weights[] = { .2f, -.4f, .1f, 0, .3f, -.2f, -.1f, .25f, .15f, .1f, -.2f, .3f, .05f, 0, -.15f };
    const float emission[] = { .5f, -1, .3f, .2f, .9f, -.6f, -.3f, .4f, 1.1f, .7f, -.2f, .1f };
    const struct dte_chain m = { 3, weights, NULL };
    struct dte_emissions e = { emission, NULL, 4, 1 };
    int tags[4];
    (void)state;

    assert_near(dte_chain_log_z(&m, &e), 5.925831635762814, 1e-6);
    assert_true(dte_chain_best(&m, &e, tags));
    assert_memory_equal(tags, ((int[]){ 2, 1, 2, 0 }), sizeof tags);
    e.n = 3;
    assert_near(dte_chain_log_z(&m, &e), 4.453739968072259, 1e-6);
    assert_true(dte_chain_best(&m, &e, tags));
    assert_memory_equal(tags, ((int[]){ 2, 1, 2 }), 3 * sizeof *tags);
}

/* As entities: city, its value Paris, home, its value Paris, name. */
enum { CITY, CITY_PARIS, HOME, HOME_PARIS, NAME };

static const struct span_column columns[] = { { .name = "name" }, { .name = "home" }, { .name = "city" } };
static const struct tag_value values[] = { { 2, "Paris", 5, 10, 1 }, { 1, "paris", 5, 10, 1 } };

/* The question "name paris of score ?". Weights of the chain are 0, so that words are independent except for
 * forbidden tags. */
struct decode_world {
    struct dte_world w;
    struct dte_asked asked;
    struct dte_reading r;
    struct dte_chain chain;
    int32_t forbidden[DTE_TAGS + 2];
    bool published;
    struct dte_decode_settings settings;
    struct tag_answer a;
};

static void open_world(struct decode_world *d, bool published)
{
    static const float zeros[(DTE_TAGS + 2) * DTE_TAGS];
    const struct dte_config config = { .published = published };
    int tags = dte_tags(&config);

    *d = (struct decode_world){ .published = published, .settings = dte_decode_defaults };
    dte_world_open(&d->w);
    dte_asked_init(&d->asked, &d->w, "name paris of score ?", columns, ARRAY_LEN(columns), values, ARRAY_LEN(values));
    dte_world_reading(&d->r, &d->asked.item, tags);
    assert_int_equal(d->r.n_concepts, 5);
    dte_forbidden(&config, d->forbidden);
    d->chain = (struct dte_chain){ tags, zeros, published ? NULL : d->forbidden };
    for (int q = 0; q < d->r.n_words; q++)
        d->r.emission[q * tags + DTE_OTHER] = 2;
}

static void close_world(struct decode_world *d)
{
    tag_answer_release(&d->a);
    dte_reading_release(&d->r);
    dte_asked_release(&d->asked);
    dte_world_close(&d->w);
}

static void say(struct decode_world *d, int word, int tag, double by)
{
    d->r.emission[word * d->r.n_tags + tag] = (float)by;
}

static void mean(struct decode_world *d, int word, const float *meaning)
{
    for (int k = 0; k < d->r.n_concepts; k++)
        d->r.meaning[k * d->r.n_words + word] = meaning[k];
}

static void decode(struct decode_world *d)
{
    tag_answer_release(&d->a);
    dte_decode(&d->a, &d->r, &d->chain, d->published, &d->settings);
}

static void check_span(const struct decode_world *d, int i, enum span_label label, int start, int end, int alternatives)
{
    assert_true(i < d->a.n_spans);
    assert_int_equal(d->a.spans[i].label, label);
    assert_int_equal(d->a.spans[i].start, start);
    assert_int_equal(d->a.spans[i].end, end);
    assert_int_equal(d->a.spans[i].n_alternatives, alternatives);
}

static void check_concept(const struct tag_concept *c, enum tag_kind kind, int column)
{
    assert_int_equal(c->kind, kind);
    assert_int_equal(c->column, column);
    assert_int_equal(c->value != NULL, kind == TAG_VALUE);
}

static void test_columns_and_values(void **state)
{
    const int COL = DTE_SPAN + 2 * SPAN_COL, VAL = DTE_SPAN + 2 * SPAN_VAL;
    struct decode_world d;
    (void)state;

    open_world(&d, false);
    say(&d, 0, COL, 9);
    mean(&d, 0, (const float[]){ .2f, .3f, .1f, 0, .25f }); /* the best concept is a value, which COL cannot mean */
    say(&d, 1, VAL, 9);
    mean(&d, 1, (const float[]){ .5f, .1f, 0, .2f, .2f });
    say(&d, 2, VAL, 9); /* adjacent spans */
    say(&d, 3, COL + 1, 9);
    say(&d, 4, COL, 99); /* the final mark */
    decode(&d);
    assert_int_equal(d.a.n_spans, 3);
    check_span(&d, 0, SPAN_COL, 0, 4, 1);
    check_concept(&d.a.spans[0].alternatives[0], TAG_COLUMN, 0);
    assert_near(d.a.spans[0].alternatives[0].score, (double).25f, 1e-9);
    check_span(&d, 1, SPAN_VAL, 5, 10, 1);
    check_concept(&d.a.spans[1].alternatives[0], TAG_VALUE, 1);
    check_span(&d, 2, SPAN_VAL, 11, 13, 1);
    d.r.concepts[NAME].score = .2; /* a low probability */
    decode(&d);
    check_concept(&d.a.spans[0].alternatives[0], TAG_COLUMN, 2);
    for (int k = 0; k < 5; k++)
        d.r.concepts[k].score = .2;
    decode(&d);
    check_concept(&d.a.spans[0].alternatives[0], TAG_COLUMN, 0);
    close_world(&d);
}

static void test_ambiguous(void **state)
{
    const int AMB = DTE_SPAN + 2 * SPAN_AMB;
    struct decode_world d;
    (void)state;

    open_world(&d, false);
    say(&d, 1, AMB, 9);
    say(&d, 2, AMB + 1, 9);
    mean(&d, 1, (const float[]){ .2f, .4f, 0, .4f, 0 });
    mean(&d, 2, (const float[]){ .2f, .4f, 0, .3f, .1f });
    decode(&d);
    check_span(&d, 0, SPAN_AMB, 5, 13, 2); /* city and its value are one meaning */
    check_concept(&d.a.spans[0].alternatives[0], TAG_VALUE, 2);
    check_concept(&d.a.spans[0].alternatives[1], TAG_VALUE, 1);
    assert_near(d.a.spans[0].alternatives[1].score, .35, 1e-6);
    mean(&d, 1, (const float[]){ .2f, 0, .22f, 0, .21f });
    mean(&d, 2, (const float[]){ .2f, 0, .22f, 0, .21f });
    decode(&d);
    check_span(&d, 0, SPAN_AMB, 5, 13, 3);
    d.settings.most = 2;
    decode(&d);
    check_span(&d, 0, SPAN_AMB, 5, 13, 2);
    check_concept(&d.a.spans[0].alternatives[0], TAG_COLUMN, 1);
    check_concept(&d.a.spans[0].alternatives[1], TAG_COLUMN, 0);
    close_world(&d);
}

/* A single meaning is no ambiguity, and neither is a low probability. */
static void test_downgraded(void **state)
{
    const int AMB = DTE_SPAN + 2 * SPAN_AMB, UNK = DTE_SPAN + 2 * SPAN_UNK;
    struct decode_world d;
    (void)state;

    open_world(&d, false);
    say(&d, 1, AMB, 5);
    mean(&d, 1, (const float[]){ .3f, .6f, 0, .1f, 0 });
    decode(&d);
    check_span(&d, 0, SPAN_VAL, 5, 10, 1);
    check_concept(&d.a.spans[0].alternatives[0], TAG_VALUE, 2);
    double named = d.a.spans[0].probability; /* AMB or VAL, whose emissions are 5 and 0 */
    mean(&d, 1, (const float[]){ .5f, .4f, .5f, 0, 0 });
    decode(&d);
    check_span(&d, 0, SPAN_AMB, 5, 10, 2);
    assert_true(d.a.spans[0].probability > .5);
    assert_near(named, d.a.spans[0].probability * (1 + exp(-5)), 1e-6);
    say(&d, 3, UNK, 5);
    decode(&d);
    check_span(&d, 0, SPAN_AMB, 5, 10, 2);
    check_span(&d, 1, SPAN_UNK, 14, 19, 0);
    d.settings.threshold = .99;
    decode(&d);
    assert_int_equal(d.a.n_spans, 1);
    check_span(&d, 0, SPAN_COL, 5, 10, 1);
    close_world(&d);
}

/* Probabilities of spans and of any problem, with nearly independent words. */
static void test_probabilities(void **state)
{
    const int UNK = DTE_SPAN + 2 * SPAN_UNK;
    struct decode_world d;
    (void)state;

    open_world(&d, false);
    memset(d.r.emission, 0, (size_t)d.r.n_words * DTE_TAGS * sizeof *d.r.emission);
    for (int q = 0; q < d.r.n_words; q++)
        for (int tag = 1; tag < DTE_TAGS; tag++)
            say(&d, q, tag, -99);
    say(&d, 3, UNK, 1);
    decode(&d);
    check_span(&d, 0, SPAN_UNK, 14, 19, 0);
    assert_int_equal(d.a.spans[0].n_nearest, 3);
    assert_near(d.a.spans[0].probability, exp(1) / (exp(1) + 1), 1e-9);
    assert_near(d.a.problem, exp(1) / (exp(1) + 1), 1e-9);
    say(&d, 3, UNK, -1); /* no span, but a probability of a problem */
    decode(&d);
    assert_int_equal(d.a.n_spans, 0);
    assert_near(d.a.problem, exp(-1) / (exp(-1) + 1), 1e-9);
    d.settings.temperature = 2;
    decode(&d);
    assert_near(d.a.problem, exp(-.5) / (exp(-.5) + 1), 1e-9);
    close_world(&d);
}

/* Tags of the published code: runs of equal tags. A table is read as a column. */
static void test_compat(void **state)
{
    struct decode_world d;
    (void)state;

    open_world(&d, true);
    say(&d, 0, DTE_PUBLISHED_SPAN + SPAN_UNK, 9);
    say(&d, 1, DTE_PUBLISHED_SPAN + SPAN_UNK, 9);
    say(&d, 2, DTE_PUBLISHED_SPAN + SPAN_AMB, 9);
    say(&d, 3, DTE_PUBLISHED_TABLE, 9);
    decode(&d);
    assert_int_equal(d.a.n_spans, 3);
    check_span(&d, 0, SPAN_UNK, 0, 10, 0);
    check_span(&d, 1, SPAN_AMB, 11, 13, 3);
    check_span(&d, 2, SPAN_COL, 14, 19, 1);
    assert_true(d.a.problem > .999);
    close_world(&d);
}

/* Two windows are pooled: emissions are averaged, a repeated table is one concept, and a word's meanings add up to
 * 1. */
static void test_windows(void **state)
{
    enum { MANY = 50, TAGS = DTE_TAGS };
    static struct span_column many[MANY];
    struct dte_world w;
    struct dte_asked asked;
    struct dte_reading r;
    (void)state;

    dte_world_open(&w);
    for (int i = 0; i < MANY; i++)
        many[i] = (struct span_column){ .table = i < 2 ? "a" : "city", .name = "date of birth of the team" };
    dte_asked_init(&asked, &w, "show name", many, MANY, NULL, 0);
    assert_int_equal(asked.item.n_windows, 2);
    dte_reading_init(&r, &asked.item, TAGS, false);
    for (int i = 0; i < 2; i++) {
        int concepts = DTE_KEYWORDS + asked.item.windows[i].n_entities;
        float *x = xcalloc((size_t)concepts * 3 + 2 * TAGS, sizeof *x);
        for (int k = 0; k < concepts * 3; k++)
            x[k] = (float)(i + 1) / 4;
        x[0] = x[1] = (float)(i + 1);
        dte_reading_add(&r, i, &(struct dte_window_scores){ x + 4, x, x });
        free(x);
    }
    dte_reading_finish(&r);
    assert_int_equal(r.n_concepts, MANY + 2);
    assert_near((double)r.emission[0], 1.5, 0);
    assert_near((double)r.emission[2], .375, 0);
    assert_near((double)r.concept[0], .5, 0);
    double e2 = exp(2 - .5);
    assert_near((double)r.grounding[0], e2 / (2 * e2 + 1), 1e-6);
    assert_near((double)r.grounding[(DTE_KEYWORDS + 1) * 2], 1. / 3, 1e-6);
    for (int q = 0; q < 2; q++) {
        double sum = 0;
        for (int k = 0; k < r.n_concepts; k++)
            sum += (double)r.meaning[k * 2 + q];
        assert_near(sum, 1, 1e-5);
    }
    assert_int_equal(r.concepts[0].kind, TAG_TABLE);
    assert_near(r.concepts[0].score, .25, 0);
    assert_int_equal(r.concepts[3].kind, TAG_TABLE);
    assert_near(r.concepts[3].score, .5, 0);
    dte_reading_release(&r);
    dte_asked_release(&asked);
    dte_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_counted),
        cmocka_unit_test(test_chain_published),
        cmocka_unit_test(test_columns_and_values),
        cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_downgraded),
        cmocka_unit_test(test_probabilities),
        cmocka_unit_test(test_compat),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
