/* config.json of T5 as transformers 4 and 5 write it, refused fields, folders with other names of the table, and
 * round trips. */
#include "data/base/json.h"
#include "models/io/safetensors.h"
#include "models/lm/llama_model.h"
#include "models/net/t5_config.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T5                                                                                                             \
    "\"model_type\":\"t5\",\"vocab_size\":100,\"d_model\":32,\"d_kv\":12,\"d_ff\":40,\"num_layers\":2,\"num_heads\":3"

static int parse(struct t5_config *c, const char *fields, struct error *err)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "{%s}", fields);

    assert_true(n > 0 && (size_t)n < sizeof text);
    json_t *root = json_loads(text, 0, NULL);
    if (!root)
        fail_msg("not JSON: %s", text);
    int rc = t5_config_parse(c, root, "config.json", err);
    json_decref(root);
    return rc;
}

static struct t5_config parsed(const char *fields)
{
    struct t5_config c = { 0 };
    struct error err = { 0 };

    if (parse(&c, fields, &err))
        fail_msg("%s", err.text);
    return c;
}

static void test_defaults(void **state)
{
    struct t5_config c = parsed(T5);

    (void)state;
    assert_true(c.encoder_layers == 2 && c.decoder_layers == 2 && c.buckets == 32 && c.max_distance == 128);
    assert_true(!c.gated && c.scaled && c.start == 0 && c.n_stops == 1 && c.stops[0] == 1 && c.dtype == F32);
    assert_true(c.layer_norm_eps == 1e-6f && c.dropout == 0.1f && c.initializer_factor == 1);
}

static void test_scaled(void **state)
{
    (void)state;
    assert_true(parsed(T5 ",\"tie_word_embeddings\":true").scaled);
    assert_false(parsed(T5 ",\"tie_word_embeddings\":false").scaled);
    assert_false(parsed(T5 ",\"tie_word_embeddings\":true,\"scale_decoder_outputs\":false").scaled);
    assert_true(parsed(T5 ",\"tie_word_embeddings\":false,\"scale_decoder_outputs\":true").scaled);
}

static void test_tokens(void **state)
{
    (void)state;
    assert_int_equal(parsed(T5 ",\"pad_token_id\":5").start, 5);
    assert_int_equal(parsed(T5 ",\"pad_token_id\":5,\"decoder_start_token_id\":7").start, 7);
    struct t5_config c = parsed(T5 ",\"eos_token_id\":[3,9,3]");
    assert_true(c.n_stops == 2 && c.stops[0] == 3 && c.stops[1] == 9);
}

static void test_refused(void **state)
{
    static const char *const bad[][2] = {
        { "\"model_type\":\"mt5\"", "model_type" },
        { T5 ",\"architectures\":[\"T5EncoderModel\"]", "architectures" },
        { T5 ",\"d_kv\":0", "d_kv" },
        { T5 ",\"d_kv\":300", "d_kv" },
        { T5 ",\"num_decoder_layers\":0", "num_decoder_layers" },
        { T5 ",\"feed_forward_proj\":\"gated-silu\"", "feed_forward_proj" },
        { T5 ",\"feed_forward_proj\":3", "feed_forward_proj" },
        { T5 ",\"dense_act_fn\":\"gelu\"", "dense_act_fn" },
        { T5 ",\"feed_forward_proj\":\"gated-gelu\",\"dense_act_fn\":\"silu\"", "dense_act_fn" },
        { T5 ",\"is_gated_act\":true", "is_gated_act" },
        { T5 ",\"relative_attention_num_buckets\":5", "relative_attention_num_buckets" },
        { T5 ",\"relative_attention_num_buckets\":2", "relative_attention_num_buckets" },
        { T5 ",\"relative_attention_max_distance\":16", "relative_attention_max_distance" },
        { T5 ",\"relative_attention_max_distance\":100000", "relative_attention_max_distance" },
        { T5 ",\"layer_norm_epsilon\":-1", "layer_norm_epsilon" },
        { T5 ",\"dropout_rate\":1", "dropout_rate" },
        { T5 ",\"eos_token_id\":100", "eos_token_id" },
        { T5 ",\"decoder_start_token_id\":-1", "decoder_start_token_id" },
        { T5 ",\"scale_decoder_outputs\":\"yes\"", "scale_decoder_outputs" },
        { T5 ",\"torch_dtype\":\"int8\"", "torch_dtype" },
        { T5 ",\"quantization_config\":{\"bits\":4}", "quantization_config" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct t5_config c = { 0 };
        struct error err = { 0 };
        assert_int_equal(parse(&c, bad[i][0], &err), -1);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
        assert_error(err, bad[i][1]);
    }
}

/* A folder with one network and tensors [100, 32] that are `value` everywhere. */
struct table {
    const char *name;
    float value;
};

static char *folder_of(const struct table *tables, int n)
{
    char *dir = test_dir_new();
    struct safetensors_spec specs[4];
    struct error err;
    float x[100 * 32];

    test_file(dir, "config.json", "{" T5 "}");
    for (int i = 0; i < n; i++)
        specs[i] = (struct safetensors_spec){ tables[i].name, 2, { 100, 32 } };
    struct safetensors_writer *w =
        safetensors_create(test_file(dir, "model.safetensors", NULL), specs, n, ST_F32, &err);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < ARRAY_LEN(x); k++)
            x[k] = tables[i].value;
        assert_int_equal(safetensors_put(w, i, x, 0, ARRAY_LEN(x), &err), 0);
    }
    assert_int_equal(safetensors_finish(w, 0, &err), 0);
    return dir;
}

/* Whether the head is tied; -1: the folder is refused. */
static int tied(const struct table *tables, int n)
{
    char *dir = folder_of(tables, n);
    struct t5_config c;
    struct error err;
    int rc = t5_config_read(&c, dir, &err);

    if (rc)
        assert_error(err, "decoder.embed_tokens.weight", "shared.weight");
    test_dir_remove(dir);
    return rc ? rc : c.tied;
}

static void test_tied(void **state)
{
    static const char shared[] = "shared.weight", head[] = "lm_head.weight", other[] = "decoder.embed_tokens.weight";

    (void)state;
    assert_int_equal(tied((struct table[]){ { shared, 1 } }, 1), true);
    assert_int_equal(tied((struct table[]){ { head, 1 } }, 1), true);
    assert_int_equal(tied((struct table[]){ { shared, 1 }, { head, 1 }, { other, 1 } }, 3), true);
    assert_int_equal(tied((struct table[]){ { shared, 1 }, { head, 2 } }, 2), false);
    assert_int_equal(tied((struct table[]){ { other, 1 }, { head, 2 } }, 2), false);
    assert_int_equal(tied((struct table[]){ { shared, 1 }, { other, 2 } }, 2), -1);
}

static void open_folder(struct llama_model *m, struct device *d, const char *dir)
{
    struct t5_config c;
    struct error err = { 0 };

    if (t5_config_read(&c, dir, &err) || t5_model_init(m, d, &c, c.dtype, OPTIMIZER_NONE, 0, &err) ||
        llama_model_load(m, dir, &err))
        fail_msg("%s", err.text);
}

static void assert_same_params(struct device *d, const struct params *a, const struct params *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        int64_t n = tensor_size(a->list[i].t);
        float *x = xmalloc((size_t)n * sizeof *x), *y = xmalloc((size_t)n * sizeof *y);
        param_download(&a->list[i], d, x);
        param_download(&b->list[i], d, y);
        assert_memory_equal(x, y, (size_t)n * sizeof *x);
        free(x);
        free(y);
    }
}

/* A folder of transformers, with one file or shards, f32 or bf16, is read and written again. */
static void test_round_trip(void **state)
{
    static const char *const folders[] = { "tests/gold/t5/v1.0", "tests/gold/t5/flan" };
    struct error err = { 0 };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(folders); i++) {
        struct device d;
        struct llama_model a, b;
        char *dir = test_dir_new();
        assert_int_equal(device_open(&d, "cpu", &err), 0);
        open_folder(&a, &d, folders[i]);
        assert_true(a.t5.config.tied == (i == 0) && a.t5.config.scaled == (i == 0) && a.dtype == (i ? BF16 : F32));
        if (llama_folder_save(&a, folders[i], false, dir, &err))
            fail_msg("%s", err.text);
        open_folder(&b, &d, dir);
        assert_memory_equal(&a.t5.config, &b.t5.config, sizeof a.t5.config);
        assert_same_params(&d, &a.params, &b.params);
        llama_model_release(&a);
        llama_model_release(&b);
        device_close(&d);
        test_dir_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_scaled), cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_tied),   cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
