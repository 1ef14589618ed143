/* Memory of a training step of Llama-3.1-8B with adapters, by dry runs. */
#include "kernels/batch.h"
#include "kernels/workspace.h"
#include "models/lm/llama_model.h"
#include "models/lm/lm_batch.h"
#include "tests/support/support.h"

#include <stdlib.h>

enum { C = 4096, I = 14336, KV = 1024, HEADS = 32, LAYERS = 32, RANK = 16, ROWS_SHARE = 10, MIB = 1 << 20 };

static const struct llama_config llama = { .kind = LLAMA,
                                           .vocab_size = 128256,
                                           .hidden_size = C,
                                           .intermediate_size = I,
                                           .layers = LAYERS,
                                           .heads = HEADS,
                                           .groups = KV / (C / HEADS),
                                           .head_dim = C / HEADS,
                                           .max_positions = 131072,
                                           .rms_norm_eps = 1e-5f,
                                           .initializer_range = 0.02f,
                                           .rope = { .theta = 500000 },
                                           .dtype = BF16 };

struct dry {
    struct device device;
    struct workspace work;
    struct llama_model model;
    struct llama_batch batch;
};

static void add_adapter(struct llama_model *m)
{
    const char *modules[] = { "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "lm_head" };
    struct error err;

    lora_config_init(&m->lora, RANK, 16, modules, ARRAY_LEN(modules));
    struct adapter_plan plan = { .config = &m->lora, .optimizer = OPTIMIZER_ADAMW };
    assert_int_equal(llama_model_add_adapter(m, &plan, &err), 0);
}

/* The last tenth of every text is its completion. */
static void add_texts(struct llama_batch *b, int texts, int length)
{
    int32_t *ids = xcalloc((size_t)length, sizeof *ids);
    uint8_t *answer = xcalloc((size_t)length, sizeof *answer);

    for (int i = length - length / ROWS_SHARE; i < length; i++)
        answer[i] = 1;
    for (int i = 0; i < texts; i++)
        llama_batch_add(b, ids, answer, length);
    free(ids);
    free(answer);
}

static void train_step(struct ctx *c, void *arg)
{
    struct dry *d = arg;

    struct tensor *nll = llama_batch_nll(c, &d->model.net, &d->batch);

    tape_backward(c, op_sum(c, nll, batch_f32(c, &(float){ 1 }, 1, 1, F32)));
}

static void dry_open(struct dry *d, int layers)
{
    struct llama_config config = llama;
    struct error err;

    *d = (struct dry){ 0 };
    config.layers = layers;
    assert_int_equal(device_open(&d->device, "cpu", &err), 0);
    assert_int_equal(workspace_init(&d->work, &d->device, 64 * MIB, &err), 0);
    assert_int_equal(llama_model_init_dry(&d->model, &d->device, &config, BF16, OPTIMIZER_NONE, &err), 0);
    add_adapter(&d->model);
}

static void dry_close(struct dry *d)
{
    llama_batch_release(&d->batch);
    llama_model_release(&d->model);
    workspace_release(&d->work);
    device_close(&d->device);
}

static size_t step_bytes(int layers, int texts, int length, bool checkpointed)
{
    struct dry d;

    dry_open(&d, layers);
    add_texts(&d.batch, texts, length);
    d.model.net.checkpointed = checkpointed;
    d.model.net.neftune = 5;
    d.work.ctx.recording = d.work.ctx.training = true;
    size_t bytes = workspace_total(workspace_measure(&d.work, train_step, &d));
    dry_close(&d);
    return bytes;
}

/* For each token, an additional layer stores two residual sums, rotated q and k, v, attention's output, gate and up.
 * It also stores log sums of attention, scales of two norms, and inputs of seven adapters. Gradients and temporary
 * memory are shared with the other layers. */
static void test_layer(void **state)
{
    size_t kept = 2 * (2 * C + C + KV + KV + C + 2 * I) + 4 * HEADS + 4 * 2 + 2 * 7 * RANK, tokens = 2048;

    (void)state;
    assert_int_equal(kept, 94568);
    assert_int_equal(step_bytes(4, 1, 2048, false) - step_bytes(3, 1, 2048, false), kept * tokens);
    assert_int_equal(step_bytes(4, 1, 2048, true) - step_bytes(3, 1, 2048, true), 2 * C * tokens);
}

static void check_whole(int texts, int length)
{
    size_t plain = step_bytes(LAYERS, texts, length, false), twice = step_bytes(LAYERS, texts, length, true);

    print_message("%d x %d tokens: %zu MiB, %zu MiB with blocks computed twice\n", texts, length, plain / MIB,
                  twice / MIB);
    assert_true(plain / MIB < 49152 && twice / MIB < 9216);
}

static void test_whole(void **state)
{
    (void)state;
    check_whole(8, 2048);
    check_whole(2, 8192);
}

/* Products keep a packed copy of each frozen matrix. In training they keep two, since the backward reads the
 * transpose. */
static void test_packed(void **state)
{
    size_t matrices = (size_t)2 * (3 * (2 * C * C + 2 * C * KV + 3 * C * I) + (size_t)C * 128256);
    struct dry d;

    (void)state;
    dry_open(&d, 3);
    d.device.packs[BF16] = true;
    assert_int_equal(llama_model_packed(&d.model, false), matrices);
    assert_int_equal(llama_model_packed(&d.model, true), 2 * matrices);
    d.device.packs[BF16] = false;
    assert_int_equal(llama_model_packed(&d.model, true), 0);
    dry_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_layer), cmocka_unit_test(test_whole),
                                        cmocka_unit_test(test_packed) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
