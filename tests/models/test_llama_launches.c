/* Number of kernel launches for a token: six per layer, ten if all linear maps have an adapter. Adapters that read
 * the same rows lie together in memory, so that one product computes all of them. */
#include "tests/support/support.h"

#include "kernels/batch.h"
#include "tests/support/lm_gold.h"
#include "tests/support/step.h"

#include <string.h>

enum { ROWS = 8, HELD = 5, HEADERS = 1 << 16, CACHE_BYTES = 1 << 18 };
enum { AROUND = 3 /* embedding, angles, last norm */, PLAIN = 6, ADAPTED = 10 };

struct token_step {
    const struct llama *net;
    struct kv_cache *cache;
};

/* The sixth token of one sequence. */
static void token_step(struct ctx *c, void *arg)
{
    const struct token_step *s = arg;
    const int32_t id = 3, at = HELD, start = 0, one = 1, keys = HELD + 1;
    struct llama_input in = { .tokens = batch_index(c, &id, 1, s->net->config.vocab_size),
                              .positions = batch_i32(c, &at, 1),
                              .causal = { .qs = batch_seqs(c, &one, 1),
                                          .key_start = batch_i32(c, &start, 1),
                                          .key_len = batch_i32(c, &keys, 1),
                                          .max_keys = keys },
                              .cache = s->cache,
                              .cache_rows = batch_i32(c, &at, 1) };

    op_linear_logits(c, llama_forward(c, s->net, &in), s->net->head.w, &s->net->head.lora, s->net->config.logit_cap);
}

static int64_t launches_of(const json_t *gold, const char *tag, enum lm_part part, enum dtype dtype)
{
    struct arena host, data;
    struct kv_cache cache;
    struct error err;
    struct lm_gold g;

    lm_gold_open(&g, lm_gold_case(gold, tag), part, dtype);
    const struct llama_config *config = &g.model.net.config;
    assert_int_equal(arena_init(&host, HEADERS, &err), 0);
    int64_t width = (int64_t)config->groups * config->head_dim;
    assert_int_equal(device_arena(&g.device, &data, CACHE_BYTES, &err), 0);
    kv_cache_init(&cache, config->layers, width, dtype, ROWS, &host, &data);
    int64_t before = g.device.counts.launches;
    assert_int_equal(workspace_run(&g.work, token_step, &(struct token_step){ &g.model.net, &cache }, &err), 0);
    int64_t launches = g.device.counts.launches - before;
    device_arena_release(&g.device, &data);
    arena_release(&host);
    lm_gold_close(&g);
    return launches;
}

static void test_token(void **state)
{
    static const struct {
        const char *tag;
        int adapted;  /* number of layers, of the two, with adapters */
        bool on_head; /* the head has an adapter too */
    } models[] = { { "llama", 2, true }, { "bias", 2, false }, { "qwen3", 1, false } };
    json_t *gold = lm_gold_read();

    (void)state;
    for (int i = 0; i < ARRAY_LEN(models) && strcmp(test_device_name(), "cpu"); i++)
        for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
            int plain = AROUND + 2 * PLAIN + 1, more = models[i].adapted * (ADAPTED - PLAIN) + models[i].on_head;
            assert_int_equal(launches_of(gold, models[i].tag, LM_FROZEN, dtype), plain);
            assert_int_equal(launches_of(gold, models[i].tag, LM_ADAPTER, dtype), plain + more);
        }
    json_decref(gold);
}

static void assert_beside(const struct linear_map *next, const struct linear_map *map)
{
    const struct tensor *a = map->lora.a, *b = next->lora.a;

    assert_ptr_equal(b->data, (char *)a->data + tensor_bytes(a));
    assert_ptr_equal(b->grad->data, (char *)a->grad->data + tensor_bytes(a->grad));
}

static void test_stacked(void **state)
{
    json_t *gold = lm_gold_read();
    struct lm_gold g;

    (void)state;
    for (enum dtype dtype = F32; dtype <= BF16; dtype++) {
        lm_gold_open(&g, lm_gold_case(gold, "llama"), LM_ADAPTER, dtype);
        for (int i = 0; i < g.model.net.config.layers; i++) {
            const struct llama_layer *l = &g.model.net.layers[i];
            assert_beside(&l->k, &l->q);
            assert_beside(&l->v, &l->k);
            assert_beside(&l->up, &l->gate);
        }
        lm_gold_close(&g);
    }
    lm_gold_open(&g, lm_gold_case(gold, "qwen2"), LM_ADAPTER, BF16); /* k and up have no adapter */
    assert_beside(&g.model.net.layers[0].v, &g.model.net.layers[0].q);
    lm_gold_close(&g);
    json_decref(gold);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_token), cmocka_unit_test(test_stacked) };
    return test_devices(tests, ARRAY_LEN(tests));
}
