/* Answers of a whole tagger with random weights depend neither on the order of columns nor on other questions of the
 * batch. */
#include "kernels/rng.h"
#include "models/tagger/dte_tagger.h"
#include "tests/support/dte_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 32 << 20, FEW = 6, MANY = 90 };

struct tagger_world {
    struct dte_world w;
    struct device device;
    struct workspace work;
    struct dte_model model;
    struct dte_tagger tagger;
};

/* Weights are larger than initial ones, so that inputs have visible effects. */
static void draw_weights(struct tagger_world *t, uint64_t seed)
{
    params_init(&t->model.params, &t->device, seed);
    for (int i = 0; i < t->model.params.n; i++) {
        struct param *p = &t->model.params.list[i];
        int64_t n = tensor_size(p->t);
        struct rng rng = { .seed = seed + (uint64_t)i };
        float *x = xmalloc((size_t)n * sizeof *x), width = strncmp(p->name, "bert.", 5) ? 1 : .5f;
        for (int64_t k = 0; k < n; k++)
            x[k] = (p->init_std < 0 ? 1.f : 0.f) + width * (rng_uniform(&rng) - .5f);
        param_upload(p, &t->device, x);
        free(x);
    }
}

static void open_world(struct tagger_world *t, bool published)
{
    struct error err = { 0 };

    dte_world_open(&t->w);
    struct dte_spec spec = { .config.hidden = 24, .config.published = published, .dtype = F32, .temperature = 1 };
    spec.config.bert = (struct bert_config){ .vocab_size = tokenizer_vocab_size(t->w.tokenizer),
                                             .hidden_size = 32,
                                             .layers = 2,
                                             .heads = 2,
                                             .intermediate_size = 48,
                                             .max_positions = 256,
                                             .type_vocab_size = 2,
                                             .activation = ACT_GELU,
                                             .layer_norm_eps = 1e-12f };
    assert_int_equal(device_open(&t->device, "cpu", &err), 0);
    assert_int_equal(workspace_init(&t->work, &t->device, HOST_BYTES, &err), 0);
    assert_int_equal(dte_model_init(&t->model, &t->device, &spec, OPTIMIZER_NONE, t->w.tokenizer, &err), 0);
    draw_weights(t, 11);
    assert_int_equal(dte_tagger_init(&t->tagger, &t->model, &t->work, 1 << 20, &err), 0);
    t->tagger.heat = true;
}

static void close_world(struct tagger_world *t)
{
    t->w.tokenizer = NULL; /* owned by the model */
    dte_model_release(&t->model);
    workspace_release(&t->work);
    device_close(&t->device);
    dte_world_close(&t->w);
}

static void tag(struct tagger_world *t, const struct dte_item *items, int n, struct tag_answer *answers)
{
    struct error err = { 0 };

    if (dte_tag(&t->tagger, items, n, answers, &err))
        fail_msg("%s", err.text);
}

static void same_concepts(const struct tag_question *q, const struct tag_concept *a, int n,
                          const struct tag_question *p, const struct tag_concept *b, int m)
{
    assert_int_equal(n, m);
    for (int i = 0; i < n; i++) {
        assert_int_equal(a[i].kind, b[i].kind);
        if (a[i].kind != TAG_TABLE)
            assert_string_equal(q->columns[a[i].column].name, p->columns[b[i].column].name);
        if (q->columns[a[i].column].table)
            assert_string_equal(q->columns[a[i].column].table, p->columns[b[i].column].table);
        if (a[i].kind == TAG_VALUE)
            assert_string_equal(a[i].value, b[i].value);
        assert_near(a[i].score, b[i].score, 0);
    }
}

static void same_answers(const struct tag_question *q, const struct tag_answer *a, const struct tag_question *p,
                         const struct tag_answer *b)
{
    assert_int_equal(a->n_spans, b->n_spans);
    assert_near(a->problem, b->problem, 0);
    for (int i = 0; i < a->n_spans; i++) {
        const struct tag_span *x = &a->spans[i], *y = &b->spans[i];
        assert_int_equal(x->start, y->start);
        assert_int_equal(x->end, y->end);
        assert_int_equal(x->label, y->label);
        assert_near(x->probability, y->probability, 0);
        same_concepts(q, x->alternatives, x->n_alternatives, p, y->alternatives, y->n_alternatives);
        same_concepts(q, x->nearest, x->n_nearest, p, y->nearest, y->n_nearest);
    }
    assert_int_equal(a->n_heat, b->n_heat);
    for (int i = 0; i < a->n_heat; i++)
        assert_near(a->heat[i].score, b->heat[i].score, 0);
}

/* Checks that the answer has spans of several labels, and words of different heat. */
static void says_something(const struct tag_answer *a)
{
    unsigned labels = 0;
    double least = 1, most = 0;

    for (int i = 0; i < a->n_spans; i++)
        labels |= 1u << a->spans[i].label;
    assert_true((labels & (labels - 1)) != 0);
    for (int i = 0; i < a->n_heat; i++) {
        least = a->heat[i].score < least ? a->heat[i].score : least;
        most = a->heat[i].score > most ? a->heat[i].score : most;
    }
    assert_true(most > least);
}

static const char *const names[FEW] = { "score", "home team", "city", "date of birth", "price", "the year" };
static const char question[] = "show the home team of paris and what score in 2004 is a name of x in the year ?";
static char many_names[MANY][40];

/* Columns of two tables, rotated by `shift`. The caller releases the values of two of them. */
static struct tag_value *make_table(struct span_column *columns, int n, int shift)
{
    struct tag_value *values = xcalloc(2, sizeof *values);

    for (int i = 0; i < n; i++) {
        int k = (i * 7 + shift) % n;
        snprintf(many_names[k], sizeof many_names[k], "%s%.*s", names[k % FEW], k / FEW, "xaxaxaxaxaxaxaxaxa");
        columns[i] = (struct span_column){ .name = many_names[k], .type = (enum column_type)(k % 3) };
        columns[i].table = n == FEW ? NULL : k % 2 ? "team" : "city";
        if (k == 1)
            values[0] = (struct tag_value){ i, "Paris", 22, 27, 1 };
        if (k == 2)
            values[1] = (struct tag_value){ i, "paris", 22, 27, 1 };
    }
    return values;
}

static void check_order(struct tagger_world *t, int n)
{
    struct span_column columns[MANY], turned[MANY];
    struct dte_asked one, other;
    struct tag_answer a, b;
    struct tag_value *values = make_table(columns, n, 0), *turned_values = make_table(turned, n, n / 2);

    dte_asked_init(&one, &t->w, question, columns, n, values, 2);
    dte_asked_init(&other, &t->w, question, turned, n, turned_values, 2);
    assert_int_equal(one.item.n_windows > 1, n == MANY);
    tag(t, &one.item, 1, &a);
    tag(t, &other.item, 1, &b);
    says_something(&a);
    same_answers(&one.question, &a, &other.question, &b);
    tag_answer_release(&a);
    tag_answer_release(&b);
    dte_asked_release(&one);
    dte_asked_release(&other);
    free(values);
    free(turned_values);
}

static void test_order_of_columns(void **state)
{
    struct tagger_world t;
    (void)state;

    for (int published = 0; published < 2; published++) {
        open_world(&t, published);
        check_order(&t, FEW);
        check_order(&t, MANY);
        close_world(&t);
    }
}

/* Three questions in one step, or each window in a step of its own. */
static void test_company(void **state)
{
    static const char *const texts[] = { "show score", question, "what is the price of the city ?" };
    struct tagger_world t;
    struct span_column columns[MANY];
    struct tag_value *values = make_table(columns, MANY, 0);
    struct dte_asked asked[3];
    struct dte_item items[3];
    struct tag_answer together[3], alone[3];
    (void)state;

    open_world(&t, false);
    for (int i = 0; i < 3; i++) {
        dte_asked_init(&asked[i], &t.w, texts[i], columns, i == 2 ? MANY : FEW, values, i == 1 ? 2 : 0);
        items[i] = asked[i].item;
    }
    tag(&t, items, 3, together);
    t.tagger.max_tokens = 1;
    tag(&t, items, 3, alone);
    for (int i = 0; i < 3; i++) {
        same_answers(&asked[i].question, &together[i], &asked[i].question, &alone[i]);
        tag_answer_release(&together[i]);
        tag_answer_release(&alone[i]);
        dte_asked_release(&asked[i]);
    }
    free(values);
    close_world(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_order_of_columns), cmocka_unit_test(test_company) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
