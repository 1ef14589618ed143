/* With weights of llama_start_copying, tokens of a new sequence are predicted when the sequence is repeated. With
 * random weights they are not. */
#include "tests/support/support.h"

#include "kernels/workspace.h"
#include "models/lm/llama_model.h"
#include "models/lm/lm_batch.h"
#include "models/net/llama.h"
#include "tests/support/step.h"

#include <stdio.h>
#include <stdlib.h>

enum { VOCAB = 499, TOKENS = 60, HOST_BYTES = 16 << 20 };

static void must(int rc, const struct error *err)
{
    if (rc)
        fail_msg("%s", err->text);
}

struct world {
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct llama_batch batch;
    struct tensor *logits; /* after each token of the repetition but the last */
};

static struct llama_config config_of(int hidden, int heads, int groups, int layers)
{
    return (struct llama_config){ .kind = LLAMA,
                                  .vocab_size = VOCAB,
                                  .hidden_size = hidden,
                                  .intermediate_size = 2 * hidden + 1,
                                  .layers = layers,
                                  .heads = heads,
                                  .groups = groups,
                                  .head_dim = hidden / heads,
                                  .max_positions = 256,
                                  .rms_norm_eps = 1e-5f,
                                  .initializer_range = 0.02f,
                                  .tied = true,
                                  .rope = { .theta = 10000 } };
}

/* Repeats a sequence of distinct tokens. */
static void add_twice(struct llama_batch *b)
{
    int32_t ids[2 * TOKENS];
    uint8_t again[2 * TOKENS] = { 0 };

    for (int i = 0; i < 2 * TOKENS; i++) {
        ids[i] = 3 + 71 * (i % TOKENS) % 491;
        again[i] = i > TOKENS;
    }
    llama_batch_add(b, ids, again, 2 * TOKENS);
}

static void world_open(struct world *w, const struct llama_config *c, bool copying)
{
    struct error err;

    *w = (struct world){ 0 };
    test_device_open(&w->device);
    must(workspace_init(&w->work, &w->device, HOST_BYTES, &err), &err);
    must(llama_model_init(&w->model, &w->device, c, F32, OPTIMIZER_NONE, 0, &err), &err);
    params_init(&w->model.params, &w->device, 5);
    llama_upload_constants(&w->model.net, &w->device);
    if (copying)
        llama_start_copying(&w->model.net, &w->model.params, &w->device);
    add_twice(&w->batch);
}

static void world_close(struct world *w)
{
    llama_batch_release(&w->batch);
    workspace_release(&w->work);
    llama_model_release(&w->model);
    device_close(&w->device);
}

static void run(struct ctx *c, void *arg)
{
    struct world *w = arg;
    w->logits = llama_batch_logits(c, &w->model.net, &w->batch);
}

/* Number of repeated tokens that are the most probable prediction. */
static int count_said(struct world *w)
{
    struct error err;
    int said = 0;

    must(workspace_run(&w->work, run, w, &err), &err);
    float *x = xmalloc(tensor_bytes(w->logits));
    device_download(&w->device, x, w->logits);
    for (int64_t i = 0; i < w->batch.n_rows; i++) {
        int best = 0;
        for (int t = 1; t < VOCAB; t++)
            if (x[i * VOCAB + t] > x[i * VOCAB + best])
                best = t;
        said += best == w->batch.targets[i];
    }
    free(x);
    return said;
}

static int said_by(const struct llama_config *c, bool copying)
{
    struct world w;

    world_open(&w, c, copying);
    assert_int_equal(w.batch.n_rows, TOKENS - 1);
    int said = count_said(&w);
    world_close(&w);
    return said;
}

static void test_copying(void **state)
{
    /* with one group of four heads, a quarter of the embedding is copied */
    static const int shapes[][5] = {
        { 128, 4, 2, 4, 53 }, { 256, 4, 2, 2, 53 }, { 192, 6, 6, 3, 53 }, { 256, 4, 1, 2, 15 }
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(shapes); i++) {
        struct llama_config c = config_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
        int drawn = said_by(&c, false), copying = said_by(&c, true);
        print_message("%s, %d channels, %d heads in %d groups: %d of %d said again, %d as drawn\n", test_device_name(),
                      shapes[i][0], shapes[i][1], shapes[i][2], copying, TOKENS - 1, drawn);
        assert_true(drawn <= 3);
        assert_true(copying >= shapes[i][4]);
    }
}

/* One layer, and sizes without slow channels, cause no errors. */
static void test_small(void **state)
{
    static const int shapes[][4] = { { 64, 2, 1, 1 }, { 8, 4, 2, 2 }, { 12, 2, 2, 2 } };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(shapes); i++) {
        struct llama_config c = config_of(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
        struct world w;
        world_open(&w, &c, true);
        count_said(&w);
        float *x = xmalloc(tensor_bytes(w.logits));
        device_download(&w.device, x, w.logits);
        for (int64_t k = 0; k < tensor_size(w.logits); k++)
            assert_true(x[k] > -100 && x[k] < 100);
        free(x);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_copying), cmocka_unit_test(test_small) };
    return test_devices(tests, ARRAY_LEN(tests));
}
