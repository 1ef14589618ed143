/* The specification's worked example of a graph attention layer, and torch_geometric's layer. */
#include "tests/support/support.h"

#include "data/base/json.h"
#include "tests/support/reference_graph.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 3, HEADS = 2, DIM = 2, WIDTH = HEADS * DIM, EDGES = 6 };

static const double x0[NODES][2] = { { 1, 0 }, { .5, -1 }, { -.25, 2 } };
static const double weight[WIDTH][2] = { { .5, -.3 }, { .1, .8 }, { -.2, .4 }, { .6, .1 } };
static const double a_src[WIDTH] = { .3, -.7, .2, .5 }, a_dst[WIDTH] = { .6, .1, -.4, .9 };
static const double bias[WIDTH] = { .01, -.02, .03, -.04 };
/* 0->1, 0->2, 2->1 and a loop each, by target; the loop of node 1 comes last, as the coefficients are printed */
static const int32_t edges[3 * (EDGES + 1)] = { 0, 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 0, 0, 2, 0, 2, 2, 0, 0, 1, 0 };
static const double coefficients[3 * HEADS] = { .292523, .36926, .169109, .346022, .538368, .284718 };
static const double concat[NODES * WIDTH] = { .51,     .08,     -.17,     .56,     .32976,  -.128177,
                                              .107907, .255801, -.017306, .714919, .351588, .286787 };
static const double mean[NODES * DIM] = { .15, .35, .198834, .093812, .147141, .530853 };
static const double activated[NODES * WIDTH] = { .872565,  -.419169, -.744995, 1.0372,  1.077222, -.785753,
                                                 -.173887, .654426,  -.740613, 1.46321, .067569,  -.165851 };
static const double mean_pool[WIDTH] = { .403058, .086096, -.283771, .508592 };
static const double sum_pool[WIDTH] = { 1.209174, .258288, -.851312, 1.525776 };

static void project(double *z)
{
    for (int i = 0; i < NODES; i++)
        for (int o = 0; o < WIDTH; o++)
            z[i * WIDTH + o] = weight[o][0] * x0[i][0] + weight[o][1] * x0[i][1];
}

static void check(const double *got, const double *want, int n, double within)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= within))
            fail_msg("number %d is %.9g, expected %.9g within %g", i, got[i], want[i], within);
}

/* T3: the reference that all devices are tested against gives the printed digits, all six of them. */
static void test_reference(void **state)
{
    double z[NODES * WIDTH], y[NODES * WIDTH] = { 0 }, averaged[NODES * DIM] = { 0 }, alpha[EDGES * HEADS];
    struct reference_gat g = { .z = z,
                               .a_src = a_src,
                               .a_dst = a_dst,
                               .bias = bias,
                               .edges = edges,
                               .n_edges = EDGES,
                               .nodes = NODES,
                               .heads = HEADS,
                               .dim = DIM,
                               .slope = 0.2 };

    (void)state;
    project(z);
    reference_gat(y, alpha, &g);
    check(y, concat, NODES * WIDTH, 5.01e-7);
    check(alpha + HEADS, coefficients, 3 * HEADS, 5.01e-7);
    g.mean = true;
    g.bias = NULL;
    reference_gat(averaged, NULL, &g);
    check(averaged, mean, NODES * DIM, 5.01e-7);
}

/* The example on a device. */
struct example {
    struct test_step step;
    struct graph graph;
    struct gat gat;
    struct tensor *z;
};

static struct tensor *upload(struct test_step *s, const double *values, int64_t rows, int64_t cols)
{
    float *f = xmalloc((size_t)(rows * cols) * sizeof *f);

    for (int64_t i = 0; i < rows * cols; i++)
        f[i] = (float)values[i];
    struct tensor *t = test_input(s, f, rows, cols, false);
    free(f);
    return t;
}

static void open_example(struct example *e, int n_edges)
{
    double z[NODES * WIDTH];
    struct edge list[EDGES + 1];

    test_step_open(&e->step);
    project(z);
    for (int i = 0; i < n_edges; i++)
        list[i] = (struct edge){ edges[3 * i], edges[3 * i + 1], edges[3 * i + 2] };
    e->graph = batch_graph(&e->step.ctx, list, n_edges, NODES);
    e->z = upload(&e->step, z, NODES, WIDTH);
    e->gat = (struct gat){ .graph = &e->graph,
                           .a_src = upload(&e->step, a_src, HEADS, DIM),
                           .a_dst = upload(&e->step, a_dst, HEADS, DIM),
                           .bias = upload(&e->step, bias, 1, WIDTH),
                           .heads = HEADS,
                           .slope = 0.2f };
}

/* All digits printed count; half a unit of the last one is their own rounding, the rest f32's. */
static void check_tensor(struct example *e, const struct tensor *t, const double *want)
{
    float *values = test_values(&e->step, t);
    int64_t n = tensor_size(t);

    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)values[i] - want[i]) <= 1e-6))
            fail_msg("number %lld is %.9g, expected %.9g", (long long)i, (double)values[i], want[i]);
    free(values);
}

static void test_example(void **state)
{
    static const double ones[WIDTH] = { 1, 1, 1, 1 }, zeros[WIDTH] = { 0 };
    struct example e;

    (void)state;
    open_example(&e, EDGES);
    struct ctx *c = &e.step.ctx;
    struct tensor *y = op_gat(c, e.z, &e.gat);
    check_tensor(&e, y, concat);
    struct tensor *normed =
        op_layer_norm(c, y, NULL, upload(&e.step, ones, 1, WIDTH), upload(&e.step, zeros, 1, WIDTH), 1e-5f);
    struct tensor *x = op_activation(c, normed, ACT_ELU);
    check_tensor(&e, x, activated);
    struct seqs all = batch_seqs(c, (int32_t[]){ NODES }, 1);
    check_tensor(&e, op_segment_pool(c, x, &all, POOL_MEAN), mean_pool);
    check_tensor(&e, op_segment_pool(c, x, &all, POOL_SUM), sum_pool);
    e.gat.mean = true;
    e.gat.bias = NULL;
    check_tensor(&e, op_gat(c, e.z, &e.gat), mean);
    test_step_close(&e.step);
}

/* T4: a duplicate edge counts twice, so callers that do not want this remove it first. */
static void test_double_edge(void **state)
{
    struct example e;

    (void)state;
    open_example(&e, EDGES + 1);
    float *y = test_values(&e.step, op_gat(&e.step.ctx, e.z, &e.gat));
    for (int i = 0; i < NODES * WIDTH; i++) {
        double change = fabs((double)y[i] - concat[i]);
        assert_true(i / WIDTH == 1 ? change > 1e-3 : change < 1e-6);
    }
    free(y);
    test_step_close(&e.step);
}

/* The gold file. */

static float *numbers(const json_t *o, const char *field, int64_t *n)
{
    struct error err;
    json_t *list = json_get_array(o, field, "gat.json", &err);
    assert_non_null(list);
    *n = (int64_t)json_array_size(list);
    float *out = xmalloc((size_t)*n * sizeof *out);

    for (int64_t i = 0; i < *n; i++)
        out[i] = (float)json_number_value(json_array_get(list, (size_t)i));
    return out;
}

static struct tensor *gold_input(struct test_step *s, const json_t *o, const char *field, int64_t rows)
{
    int64_t n;
    float *values = numbers(o, field, &n);
    struct tensor *t = test_input(s, values, rows, n / rows, false);
    free(values);
    return t;
}

/* Relative to the value and to the root mean square of all: 64 units of f32, a gradient's share. */
static void check_gold(struct test_step *s, const struct tensor *t, const json_t *o, const char *field)
{
    int64_t n;
    float *want = numbers(o, field, &n), *got = test_values(s, t);
    double square = 0;

    assert_int_equal(tensor_size(t), n);
    for (int64_t i = 0; i < n; i++)
        square += (double)want[i] * (double)want[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 64 * 0x1p-24 * (fabs((double)want[i]) + sqrt(square))))
            fail_msg("%s[%lld] is %.9g, expected %.9g", field, (long long)i, (double)got[i], (double)want[i]);
    free(want);
    free(got);
}

static struct graph gold_graph(struct ctx *c, const json_t *o, int64_t nodes)
{
    const json_t *list = json_object_get(o, "edges");
    size_t n = json_array_size(list);
    struct edge *e = xmalloc(n * sizeof *e);

    for (size_t i = 0; i < n; i++) {
        const json_t *edge = json_array_get(list, i);
        e[i] = (struct edge){ (int32_t)json_integer_value(json_array_get(edge, 0)),
                              (int32_t)json_integer_value(json_array_get(edge, 1)), 0 };
    }
    struct graph g = batch_graph(c, e, (int64_t)n, nodes);
    free(e);
    return g;
}

static void check_case(const json_t *o)
{
    enum { GOLD_NODES = 11 };
    struct test_step s;

    test_step_open(&s);
    struct ctx *c = &s.ctx;
    int heads = (int)json_integer_value(json_object_get(o, "heads"));
    struct graph graph = gold_graph(c, o, GOLD_NODES);
    struct tensor *x = gold_input(&s, o, "x", GOLD_NODES), *w = gold_input(&s, o, "w", heads * 6);
    bool biased = !json_is_null(json_object_get(o, "bias"));
    struct gat g = { .graph = &graph,
                     .a_src = gold_input(&s, o, "a_src", heads),
                     .a_dst = gold_input(&s, o, "a_dst", heads),
                     .heads = heads,
                     .slope = 0.2f,
                     .bias = biased ? gold_input(&s, o, "bias", 1) : NULL,
                     .mean = json_is_true(json_object_get(o, "mean")) };
    struct tensor *y = op_gat(c, op_linear(c, x, w, NULL, ACT_NONE), &g);
    check_gold(&s, y, o, "y");
    tape_backward_from(c, y, gold_input(&s, o, "dy", GOLD_NODES));
    check_gold(&s, x->grad, o, "dx");
    check_gold(&s, w->grad, o, "dw");
    check_gold(&s, g.a_src->grad, o, "da_src");
    check_gold(&s, g.a_dst->grad, o, "da_dst");
    if (biased)
        check_gold(&s, g.bias->grad, o, "dbias");
    test_step_close(&s);
}

static void test_gold(void **state)
{
    struct error err;
    json_t *cases = json_read_file("tests/gold/gat.json", &err);

    (void)state;
    assert_int_equal(json_array_size(cases), 3);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(json_array_get(cases, i));
    json_decref(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_double_edge),
        cmocka_unit_test(test_gold),
    };
    return test_devices(tests, ARRAY_LEN(tests));
}
