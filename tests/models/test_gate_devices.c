/* All forms of whole GATekeepers give the same scores and gradients on every device as on the cpu. */
#include "tests/support/support.h"

#include "kernels/tape.h"
#include "tests/support/digest.h"
#include "tests/support/gate_world.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdlib.h>

enum { QUESTIONS = 6 };

/* A model with questions on one device, and its results: scores, then relevance. */
struct side {
    struct gate_world w;
    struct gate_question q[QUESTIONS];
    struct gate_item items[QUESTIONS];
    struct gate_result results[QUESTIONS];
    float *relevance;
    int nodes;
};

static void open_side(struct side *s, const struct gate_world_settings *kind, const char *device)
{
    gate_world_open_on(&s->w, kind, device);
    for (int i = 0; i < QUESTIONS; i++) {
        struct schema schema;
        gate_world_schema(&schema, 1 + i % 4, (uint64_t)i);
        gate_question_init(&s->q[i], &s->w, &schema, (uint64_t)i);
        s->items[i] = s->q[i].item;
    }
    s->nodes = gate_nodes(s->items, QUESTIONS);
    s->relevance = xmalloc((size_t)s->nodes * sizeof *s->relevance);
}

static void close_side(struct side *s)
{
    for (int i = 0; i < QUESTIONS; i++)
        gate_question_release(&s->q[i]);
    free(s->relevance);
    gate_world_close(&s->w);
}

static void score(struct side *s)
{
    int64_t width = s->w.model.net.config.bert.hidden_size;
    float *states = xmalloc((size_t)(s->nodes * width) * sizeof *states);
    struct error err;

    assert_int_equal(gate_encode(&s->w.scorer, s->items, QUESTIONS, states, s->relevance, &err), 0);
    assert_int_equal(gate_classify(&s->w.scorer, s->items, QUESTIONS, states, s->results, NULL, &err), 0);
    free(states);
}

static void assert_near(float got, float want, double bound)
{
    if (!(fabs((double)got - (double)want) <= bound * fmax(1, fabs((double)want))))
        fail_msg("%.9g is not %.9g within %g", (double)got, (double)want, bound);
}

/* f32: sums of some hundred terms through five layers. bf16: larger by the ratio of the roundings. */
static void check_scores(const struct gate_world_settings *kind, double bound)
{
    struct side cpu, device;

    open_side(&cpu, kind, "cpu");
    open_side(&device, kind, test_device_name());
    score(&cpu);
    score(&device);
    for (int i = 0; i < QUESTIONS; i++) {
        assert_near(device.results[i].score, cpu.results[i].score, bound);
        assert_near(device.results[i].linguistic, cpu.results[i].linguistic, bound);
    }
    for (int i = 0; i < cpu.nodes; i++)
        assert_near(device.relevance[i], cpu.relevance[i], bound);
    close_side(&cpu);
    close_side(&device);
}

/* simt is slow: it runs each kind in one type. */
static bool in_turn(int number)
{
    return number % 2 == 0 || test_all() || strcmp(test_device_name(), "simt") != 0;
}

static void test_scores(void **state)
{
    (void)state;
    for (int i = 0; i < GATE_WORLD_KINDS; i++) {
        struct gate_world_settings rounded = gate_world_kinds[i];
        if (in_turn(i))
            check_scores(&gate_world_kinds[i], 1e-4);
        rounded.dtype = BF16;
        if (in_turn(i + 1))
            check_scores(&rounded, 5e-2);
    }
}

/* Loss over n logits. Logits beyond them are padding and have no weight. */
static struct tensor *loss_of(struct ctx *c, struct tensor *logits, int64_t n, const char *name)
{
    int64_t all = tensor_size(logits);
    float *target = xmalloc((size_t)(2 * n) * sizeof *target), *weight = target + n;

    for (int64_t i = 0; i < n; i++) {
        target[i] = (float)(formula_word(name, i) & 1);
        weight[i] = 1.0f / (float)n;
    }
    struct tensor *t = op_reshape(c, batch_f32_padded(c, target, n, all, 1, F32), 1, &all);
    struct tensor *w = op_reshape(c, batch_f32_padded(c, weight, n, all, 1, F32), 1, &all);
    free(target);
    return op_bce(c, logits, t, w, 2, 1);
}

static void run_backward(struct ctx *c, void *arg)
{
    struct side *s = arg;
    const struct gatekeeper *g = &s->w.model.net;
    struct text_builder *text = &s->w.scorer.text;
    struct gate_text input;
    struct gate_graph graph;

    text_builder_reset(text, &s->w.model.layout);
    for (int i = 0; i < QUESTIONS; i++)
        for (int node = 0; node < (g->config.encode == ENCODE_SCHEMA ? 1 : s->items[i].schema->n_nodes); node++)
            if (g->config.encode == ENCODE_SCHEMA)
                text_add_schema(text, &s->items[i], NULL);
            else
                text_add_element(text, &s->items[i], node);
    int nodes = text->n_nodes;
    if (c->buckets)
        text_builder_pad(text, gate_sizes_padded(gate_sizes_of(s->items, QUESTIONS)).nodes);
    gate_text_build(c, text, &g->config.bert, &input);
    gate_graph_build(c, s->items, QUESTIONS, &g->config, &graph);
    struct tensor *x = gatekeeper_states(c, g, &input);
    struct tensor *loss = loss_of(c, gatekeeper_relevance(c, g, x), nodes, "relevance");
    struct gate_scores scores = gatekeeper_classify(c, g, x, &graph);
    loss = op_add(c, loss, loss_of(c, scores.score, QUESTIONS, "score"));
    if (scores.linguistic) {
        int64_t n = tensor_size(scores.linguistic);
        scores.linguistic = op_reshape(c, scores.linguistic, 1, &n);
        loss = op_add(c, loss, loss_of(c, scores.linguistic, (int64_t)QUESTIONS * LINGUISTIC_TYPES, "linguistic"));
    }
    tape_backward(c, loss);
}

static void backward(struct side *s)
{
    struct error err;

    s->w.work.ctx.recording = s->w.work.ctx.training = true;
    assert_int_equal(workspace_run(&s->w.work, run_backward, s, &err), 0);
}

/* Error of each parameter's gradient, relative to its largest element. */
static void test_gradients(void **state)
{
    (void)state;
    for (int k = 0; k < GATE_WORLD_KINDS; k++) {
        struct side cpu, device;
        open_side(&cpu, &gate_world_kinds[k], "cpu");
        open_side(&device, &gate_world_kinds[k], test_device_name());
        backward(&cpu);
        backward(&device);
        for (int i = 0; i < cpu.w.model.params.n; i++) {
            const struct tensor *t = cpu.w.model.params.list[i].t->grad;
            if (!t) /* the embedder's parameter */
                continue;
            float *want = tensor_floats(&cpu.w.device, t);
            float *got = tensor_floats(&device.w.device, device.w.model.params.list[i].t->grad);
            double bound = 1e-3 * largest(want, tensor_size(t)) + 1e-7;
            if (!(largest_difference(got, want, tensor_size(t)) <= bound))
                fail_msg("%s: %g apart", cpu.w.model.params.list[i].name,
                         largest_difference(got, want, tensor_size(t)));
            free(want);
            free(got);
        }
        close_side(&cpu);
        close_side(&device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_scores), cmocka_unit_test(test_gradients) };
    return test_devices(tests, ARRAY_LEN(tests));
}
