/* The network on whole questions: batches, order, odd and wide schemas, and memory and bits of a training step. */
#include "tests/support/support.h"

#include "data/base/log.h"
#include "data/schema/schema_build.h"
#include "kernels/kernels.h"
#include "kernels/tape.h"
#include "tests/support/digest.h"
#include "tests/support/gate_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS = 64, STEPS = 3 };

/* Results of each of n questions. */
struct answers {
    struct gate_result results[QUESTIONS];
    float *relevance, *states;
    int64_t nodes;
};

static void score(struct gate_world *w, const struct gate_item *items, int n, struct answers *a)
{
    int64_t width = w->model.net.config.bert.hidden_size;
    struct error err;

    a->nodes = gate_nodes(items, n);
    a->relevance = xmalloc((size_t)a->nodes * sizeof *a->relevance);
    a->states = xmalloc((size_t)(a->nodes * width) * sizeof *a->states);
    assert_int_equal(gate_encode(&w->scorer, items, n, a->states, a->relevance, &err), 0);
    assert_int_equal(gate_classify(&w->scorer, items, n, a->states, a->results, NULL, &err), 0);
}

static void answers_release(struct answers *a)
{
    free(a->relevance);
    free(a->states);
}

static void assert_near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-5 * fmax(1, fabs(a))))
        fail_msg("%.9g is not %.9g within 1e-5", a, b);
}

/* Alone, among 64, in another order and in batches of another size. */
static void check_batches(const struct gate_world_settings *kind)
{
    struct gate_world w;
    struct gate_question questions[QUESTIONS];
    struct gate_item items[QUESTIONS], turned[QUESTIONS];
    struct answers all, back, one;
    double least = INFINITY, most = -INFINITY;

    gate_world_open(&w, kind);
    for (int i = 0; i < QUESTIONS; i++) {
        struct schema s;
        gate_world_schema(&s, 1 + i % 5, (uint64_t)(i % 7));
        gate_question_init(&questions[i], &w, &s, (uint64_t)i);
        items[i] = turned[QUESTIONS - 1 - i] = questions[i].item;
    }
    score(&w, items, QUESTIONS, &all);
    w.scorer.max_tokens = 300;
    score(&w, turned, QUESTIONS, &back);
    int64_t first = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        score(&w, &items[i], 1, &one);
        assert_near((double)one.results[0].score, (double)all.results[i].score);
        assert_near((double)back.results[QUESTIONS - 1 - i].score, (double)all.results[i].score);
        assert_near((double)one.results[0].linguistic, (double)all.results[i].linguistic);
        assert_near((double)back.results[QUESTIONS - 1 - i].linguistic, (double)all.results[i].linguistic);
        assert_int_equal(all.results[i].type != LINGUISTIC_NONE, kind->linguistic);
        assert_int_equal(one.results[0].pair, all.results[i].pair);
        for (int64_t k = 0; k < one.nodes; k++)
            assert_near((double)one.relevance[k], (double)all.relevance[first + k]);
        first += one.nodes;
        least = fmin(least, (double)one.results[0].score);
        most = fmax(most, (double)one.results[0].score);
        answers_release(&one);
    }
    assert_true(most - least > 1e-2); /* equal scores would prove nothing */
    answers_release(&all);
    answers_release(&back);
    for (int i = 0; i < QUESTIONS; i++)
        gate_question_release(&questions[i]);
    gate_world_close(&w);
}

static void test_batches(void **state)
{
    (void)state;
    for (int i = 0; i < GATE_WORLD_KINDS; i++)
        check_batches(&gate_world_kinds[i]);
}

/* Columns with the same name in two tables are two nodes with their own states. */
static void test_node_identity(void **state)
{
    struct schema_build b;
    struct schema s;
    struct gate_world w;
    struct gate_question q;
    struct answers a;

    (void)state;
    gate_world_open(&w, &gate_world_kinds[0]);
    schema_build_init(&b, "twice");
    schema_build_column(&b, schema_build_table(&b, "team", NULL), "name", NULL, COLUMN_TEXT);
    schema_build_column(&b, schema_build_table(&b, "band", NULL), "name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, &s);
    gate_question_init(&q, &w, &s, 1);
    assert_int_equal(q.input.n_nodes, 4);
    assert_int_equal(q.input.graph.n_nodes, 4);
    assert_string_equal(q.input.texts[2], "team : name : text");
    assert_string_equal(q.input.texts[3], "band : name : text");
    score(&w, &q.item, 1, &a);
    int64_t width = w.model.net.config.bert.hidden_size;
    assert_true(largest_difference(a.states + 2 * width, a.states + 3 * width, width) > 1e-2);
    answers_release(&a);
    gate_question_release(&q);
    gate_world_close(&w);
}

/* With untrained weights, another table changes a mean by its share, and a sum by its whole contribution. */
static double drift(enum gate_pool pool)
{
    struct gate_world_settings kind = { ENCODE_ELEMENT, CLASSIFIER_GAT_MEAN, pool, F32, 0, 0, 0,
                                        GRAPH_TYPED,    TEXTS_QUALIFIED,     0 };
    struct gate_world w;
    double moved = 0;

    gate_world_open(&w, &kind);
    for (uint64_t seed = 0; seed < 8; seed++) {
        double scores[2];
        for (int wide = 0; wide < 2; wide++) {
            struct schema s;
            struct gate_question q;
            struct answers a;
            gate_world_schema(&s, wide ? 54 : 4, seed);
            gate_question_init(&q, &w, &s, seed);
            score(&w, &q.item, 1, &a);
            scores[wide] = (double)a.results[0].score;
            answers_release(&a);
            gate_question_release(&q);
        }
        moved += fabs(scores[1] - scores[0]) / 8;
    }
    gate_world_close(&w);
    return moved;
}

static void test_drift(void **state)
{
    double mean = drift(GATE_POOL_MEAN), attention = drift(GATE_POOL_ATTENTION), sum = drift(GATE_POOL_SUM);

    (void)state;
    print_message("50 more tables move the logit by %.3f (mean), %.3f (attention), %.3f (sum)\n", mean, attention, sum);
    assert_true(mean < 0.1 * sum && attention < 0.1 * sum);
    assert_true(mean < 0.5);
}

/* Bytes of the largest step, and the time, for one question on a schema with this many columns. */
static size_t score_wide(const struct gate_world_settings *kind, int columns, int tables, double *seconds)
{
    struct gate_world w;
    struct gate_question q;
    struct schema_build b;
    struct schema s;
    struct answers a;
    char name[64];

    gate_world_open(&w, kind);
    schema_build_init(&b, "wide");
    for (int i = 0; i < tables; i++) {
        snprintf(name, sizeof name, "ship %d", i);
        int table = schema_build_table(&b, name, NULL);
        for (int k = 0; k < columns / tables; k++) {
            snprintf(name, sizeof name, "price %d of crew %d", k, k % 17);
            schema_build_column(&b, table, name, NULL, (enum column_type)(k % 5));
        }
    }
    schema_build_finish(&b, &s);
    gate_question_init(&q, &w, &s, 1);
    double start = now_seconds();
    score(&w, &q.item, 1, &a);
    *seconds = now_seconds() - start;
    assert_int_equal(a.nodes, columns + tables);
    assert_true(isfinite(a.results[0].score));
    size_t peak = workspace_total(w.work.peak);
    answers_release(&a);
    gate_question_release(&q);
    gate_world_close(&w);
    return peak;
}

/* Every other case, unless all is to run. */
static bool in_turn(int number)
{
    return number % 2 == 0 || test_all();
}

/* Memory is bounded by the token budget (element), or grows linearly with the schema (schema). */
static void test_wide(void **state)
{
    (void)state;
    for (int i = 0; i < GATE_WORLD_OWN_KINDS; i++)
        for (int tables = 1; tables <= 50; tables += 49) {
            double seconds, ignored;
            if (!in_turn(i + tables))
                continue;
            size_t small = score_wide(&gate_world_kinds[i], 200, tables, &ignored);
            size_t wide = score_wide(&gate_world_kinds[i], 1000, tables, &seconds);
            print_message("1,000 columns in %d tables: %.2f s, %zu kB (200: %zu kB)\n", tables, seconds, wide >> 10,
                          small >> 10);
            if (gate_world_kinds[i].encode == ENCODE_SCHEMA)
                assert_true(wide < 6 * small);
            else
                assert_true(wide < 2 * small || gate_world_kinds[i].classifier == CLASSIFIER_PAIR);
            assert_true(wide < (size_t)64 << 20);
        }
}

/* One optimizer step on some questions, with all losses. */
struct train {
    struct gate_world *w;
    struct text_builder text;
    struct gate_item items[4];
    int n;
    struct tensor *loss;
};

static struct tensor *loss_of(struct ctx *c, struct tensor *logits, const char *name)
{
    int64_t n = tensor_size(logits);
    float *target = xmalloc((size_t)(n + 1) * sizeof *target);

    for (int64_t i = 0; i < n; i++)
        target[i] = (float)(formula_word(name, i) & 1);
    struct tensor *t = op_reshape(c, batch_f32(c, target, 1, n, F32), 1, &n);
    free(target);
    return op_bce(c, logits, t, NULL, 2, 1.0f / (float)(n + 1));
}

static void run_train(struct ctx *c, void *arg)
{
    struct train *t = arg;
    const struct gatekeeper *g = &t->w->model.net;
    struct gate_text text;
    struct gate_graph graph;

    gate_text_build(c, &t->text, &g->config.bert, &text);
    struct tensor *x = gatekeeper_states(c, g, &text);
    t->loss = loss_of(c, gatekeeper_relevance(c, g, x), "relevance");
    gate_graph_build(c, t->items, t->n, &g->config, &graph);
    struct gate_scores scores = gatekeeper_classify(c, g, x, &graph);
    t->loss = op_add(c, t->loss, loss_of(c, scores.score, "score"));
    if (scores.linguistic) {
        int64_t n = tensor_size(scores.linguistic);
        t->loss = op_add(c, t->loss, loss_of(c, op_reshape(c, scores.linguistic, 1, &n), "linguistic"));
    }
    if (scores.pair) {
        t->loss = op_add(c, t->loss, loss_of(c, scores.pair, "pair"));
        t->loss = op_add(c, t->loss, loss_of(c, scores.duplicates, "twins"));
    }
    tape_backward(c, t->loss);
    optim_step(c, &t->w->optim, &t->w->model.params);
}

/* The losses of some steps and all weights after them, as one array. The caller frees it. */
static float *train_some(struct gate_world *w, struct train *t, bool checkpointed, int64_t *n, size_t *peak)
{
    struct error err;
    float *all = xmalloc(STEPS * sizeof *all);

    w->optim.schedule = (struct schedule){ .lr = 2e-4f, .total = 100 }; /* 1e-3 overshoots with weights of this size */
    w->optim.adamw = (struct adamw){ .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f, .decay = 0.01f, .clip = 1 };
    w->model.net.bert.checkpointed = checkpointed;
    w->work.ctx.recording = w->work.ctx.training = true;
    for (int i = 0; i < STEPS; i++) {
        size_t measured = workspace_measure(&w->work, run_train, t).step;
        assert_int_equal(workspace_run(&w->work, run_train, t, &err), 0);
        assert_int_equal(measured, w->work.step.peak);
        device_download(&w->device, &all[i], t->loss);
        *peak = measured;
    }
    *n = STEPS;
    for (int i = 0; i < w->model.params.n; i++) {
        const struct param *p = &w->model.params.list[i];
        int64_t size = tensor_size(p->t);
        all = xrealloc(all, (size_t)(*n + size) * sizeof *all);
        param_download(p, &w->device, all + *n);
        *n += size;
    }
    return all;
}

static float *train_world(const struct gate_world_settings *kind, int tables, bool checkpointed, int64_t *n,
                          size_t *peak)
{
    struct gate_world w;
    struct gate_question q[4];
    struct train t = { .w = &w, .n = 4 };

    gate_world_open(&w, kind);
    text_builder_reset(&t.text, &w.model.layout);
    for (int i = 0; i < 4; i++) {
        struct schema s;
        gate_world_schema(&s, tables + i, (uint64_t)i);
        gate_question_init(&q[i], &w, &s, (uint64_t)i);
        t.items[i] = q[i].item;
        if (kind->encode == ENCODE_SCHEMA)
            text_add_schema(&t.text, &t.items[i], NULL);
        else
            for (int node = 0; node < q[i].input.n_nodes; node++)
                text_add_element(&t.text, &t.items[i], node);
    }
    float *all = train_some(&w, &t, checkpointed, n, peak);
    text_builder_release(&t.text);
    for (int i = 0; i < 4; i++)
        gate_question_release(&q[i]);
    gate_world_close(&w);
    return all;
}

static void test_steps(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * GATE_WORLD_KINDS; i++) {
        struct gate_world_settings kind = gate_world_kinds[i / 2];
        int64_t n, also;
        size_t plain, again;
        if (!in_turn(i / 2 + i))
            continue;
        kind.dtype = i % 2 ? BF16 : F32;
        kind.dropout = 0.1f;
        float *first = train_world(&kind, 3, false, &n, &plain), *second = train_world(&kind, 3, false, &also, &again);
        assert_int_equal(n, also);
        assert_memory_equal(first, second, (size_t)n * sizeof *first);
        assert_int_equal(plain, again);
        free(second);
        second = train_world(&kind, 3, true, &also, &again); /* two layers are too few to save memory */
        assert_memory_equal(first, second, (size_t)n * sizeof *first);
        free(first);
        free(second);
        kind.dropout = 0;
        first = train_world(&kind, 3, false, &n, &plain);
        assert_true(isfinite(first[STEPS - 1]) && first[STEPS - 1] < first[0]); /* the loss on repeated data falls */
        free(first);
    }
}

/* A schema with one column has no pairs. */
static void test_no_pairs(void **state)
{
    struct schema_build b;
    struct schema s;
    struct gate_world w;
    struct gate_question q;
    struct answers a;
    int64_t n;
    size_t peak;

    (void)state;
    gate_world_open(&w, &gate_world_kinds[2]);
    schema_build_init(&b, "lone");
    schema_build_column(&b, schema_build_table(&b, "team", NULL), "name", NULL, COLUMN_TEXT);
    schema_build_finish(&b, &s);
    gate_question_init(&q, &w, &s, 1);
    assert_int_equal(q.input.n_pairs, 0);
    score(&w, &q.item, 1, &a);
    assert_int_equal(a.results[0].pair, -1);
    assert_true(a.results[0].score == -30);
    answers_release(&a);
    struct train t = { .w = &w, .n = 1, .items = { q.item } };
    text_builder_reset(&t.text, &w.model.layout);
    text_add_schema(&t.text, &q.item, NULL);
    float *all = train_some(&w, &t, false, &n, &peak);
    for (int64_t i = 0; i < n; i++)
        assert_true(isfinite(all[i]));
    free(all);
    text_builder_release(&t.text);
    gate_question_release(&q);
    gate_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches), cmocka_unit_test(test_node_identity), cmocka_unit_test(test_drift),
        cmocka_unit_test(test_wide),    cmocka_unit_test(test_no_pairs),      cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
