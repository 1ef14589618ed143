/* Compares the classifiers of Skadborg and Mortensen with torch_geometric's layers (gold/make_pooled_classifiers.py):
 * logits and all gradients. */
#include "tests/support/support.h"

#include "kernels/tape.h"
#include "models/gatekeeper/gate_batch.h"
#include "tests/support/digest.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>

enum { WIDE = 32, GRAPHS = 3, NODES = 20, MAX_EDGES = 200, LOOPS = 3, RELATIONS = LOOPS + 1, BYTES = 4 << 20 };

static const int32_t nodes[GRAPHS] = { 1, 12, 7 };

static void fill(struct params *p, struct device *d)
{
    params_init(p, d, 0);
    for (int i = 0; i < p->n; i++) {
        int64_t n = tensor_size(p->list[i].t);
        float *x = xmalloc((size_t)n * sizeof *x);
        for (int64_t k = 0; k < n; k++)
            x[k] = formula_value(p->list[i].name, k) / 4;
        param_upload(&p->list[i], d, x);
        free(x);
    }
}

static int by_target(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return x->target != y->target ? x->target - y->target : x->source - y->source;
}

/* The file's edges, and the loops that torch_geometric adds or has a matrix for. */
static struct gate_graph gold_graph(struct ctx *c, const struct safetensors *s, const struct gatekeeper_config *config)
{
    const struct safetensors_entry *e = safetensors_find(s, "edges");
    struct edge edges[MAX_EDGES];

    assert_true(e && e->size / 2 + NODES <= MAX_EDGES);
    int n = (int)(e->size / 2);
    float *ends = gold_numbers(s, "edges", e->size);
    for (int i = 0; i < n; i++) {
        int32_t source = (int32_t)ends[2 * i], target = (int32_t)ends[2 * i + 1];
        edges[i] = (struct edge){ source, target, (source + 2 * target) % LOOPS };
    }
    for (int i = 0; i < NODES; i++)
        edges[n + i] = (struct edge){ i, i, LOOPS };
    free(ends);
    qsort(edges, (size_t)(n + NODES), sizeof *edges, by_target);
    struct gate_graph graph = { .graph = batch_graph(c, edges, n + NODES, NODES),
                                .nodes = batch_seqs(c, nodes, GRAPHS) };
    gate_graph_weights(c, edges, n + NODES, NODES, config, &graph);
    return graph;
}

static void check_near(const char *what, double error, double limit)
{
    if (!(error <= limit))
        fail_msg("%s: off by %g, %g allowed", what, error, limit);
}

static const char *const names[] = { "pair", "gat_mean", "gat_cat", "gcn", "rgcn", "bert_only" };

/* Returns the largest error of the logits. */
static double compare(enum gate_classifier classifier, enum dtype dtype, enum gat_precision precision, double limit)
{
    struct gatekeeper_config g = { .bert = { .vocab_size = 8,
                                             .hidden_size = WIDE,
                                             .heads = 1,
                                             .intermediate_size = 8,
                                             .max_positions = 8,
                                             .type_vocab_size = 2 },
                                   .classifier = classifier,
                                   .pool = classifier == CLASSIFIER_GAT_CAT ? GATE_POOL_SUM : GATE_POOL_MEAN,
                                   .gat_hidden = 16,
                                   .gat_layers = 2,
                                   .gat_heads = 4,
                                   .gat_precision = precision,
                                   .edge_types = RELATIONS,
                                   .pair_hidden = 16 };
    char path[64];
    struct test_step step;
    struct safetensors s;
    struct arena host, data;
    struct params params = { 0 };
    struct gatekeeper net;
    struct error err;

    snprintf(path, sizeof path, "tests/gold/%s.safetensors", names[classifier]);
    assert_int_equal(safetensors_open(&s, path, &err), 0);
    test_step_open(&step);
    assert_int_equal(arena_init(&host, BYTES, &err), 0);
    assert_int_equal(device_arena(&step.device, &data, BYTES, &err), 0);
    struct param_arenas arenas = { &host, &data, OPTIMIZER_ADAMW };
    gatekeeper_init(&net, &g, dtype, &params, &arenas);
    fill(&params, &step.device);

    struct ctx *c = &step.ctx;
    struct gate_graph graph = gold_graph(c, &s, &g);
    struct tensor *x = formula_tensor(&step, "states", NODES, WIDE, false);
    struct tensor *y = gatekeeper_classify(c, &net, x, &graph).score;
    tape_backward_from(c, y, formula_tensor(&step, "loss", GRAPHS, 1, false));

    float *got = tensor_floats(&step.device, y), *want = gold_numbers(&s, "logits", GRAPHS);
    double off = largest_difference(got, want, GRAPHS) / largest(want, GRAPHS);
    check_near("logits", off, limit);
    check_near("states", gold_error(&s, "states", "states", &step.device, x->grad), limit);
    int checked = 0;
    for (int i = 0; i < params.n; i++) {
        const struct param *p = &params.list[i];
        if (!safetensors_find(&s, p->name))
            continue;
        check_near(p->name, gold_error(&s, p->name, p->name, &step.device, p->t->grad), limit);
        checked++;
    }
    assert_int_equal(checked, s.n - 3);
    free(got);
    free(want);
    params_release(&params);
    device_arena_release(&step.device, &data);
    arena_release(&host);
    test_step_close(&step);
    safetensors_close(&s);
    return off;
}

static void test_gold(void **state)
{
    (void)state;
    for (int k = CLASSIFIER_GAT_MEAN; k <= CLASSIFIER_BERT_ONLY; k++)
        compare((enum gate_classifier)k, F32, GAT_F32, 1e-5);
}

/* All values between the layers are rounded to 8 bits. Gradients of a_dst are sums that nearly cancel. */
static void test_gold_bf16(void **state)
{
    (void)state;
    compare(CLASSIFIER_GAT_MEAN, BF16, GAT_F32, 8.0 / 256);
}

/* Only factors of products are rounded. These products are too small for tensor cores. */
static void test_precision(void **state)
{
    (void)state;
    double off = compare(CLASSIFIER_GAT_MEAN, F32, GAT_BF16, 8.0 / 256);
    assert_true(off > 1e-4);
    assert_true(compare(CLASSIFIER_GAT_MEAN, F32, GAT_TF32, 1e-5) == compare(CLASSIFIER_GAT_MEAN, F32, GAT_F32, 1e-5));
}

/* Loss: .5 (2 - 1)^2 + .25 (-1 - 0)^2 + 0 (5 - 0)^2 + .25 (.5 - 1)^2; gradient: 2 weight (logit - target). */
static void test_squared_error(void **state)
{
    static const float logits[] = { 2, -1, 5, .5f }, target[] = { 1, 0, 0, 1 }, weight[] = { .5f, .25f, 0, .25f };
    static const float gradient[] = { 1, -.5f, 0, -.25f };
    int64_t n = ARRAY_LEN(logits);
    struct test_step step;

    (void)state;
    test_step_open(&step);
    struct ctx *c = &step.ctx;
    struct tensor *x = test_input(&step, logits, n, 1, true), *t = batch_f32(c, target, n, 1, F32),
                  *w = batch_f32(c, weight, n, 1, F32);
    struct tensor *loss =
        gatekeeper_squared_error(c, op_reshape(c, x, 1, &n), op_reshape(c, t, 1, &n), op_reshape(c, w, 1, &n));
    tape_backward(c, loss);
    float *got = tensor_floats(&step.device, loss), *slope = tensor_floats(&step.device, x->grad);
    check_near("loss", fabs(got[0] - .8125), 1e-6);
    check_near("gradient", largest_difference(slope, gradient, n), 1e-6);
    free(got);
    free(slope);
    test_step_close(&step);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_gold), cmocka_unit_test(test_gold_bf16),
                                        cmocka_unit_test(test_precision), cmocka_unit_test(test_squared_error) };
    return test_devices(tests, ARRAY_LEN(tests));
}
