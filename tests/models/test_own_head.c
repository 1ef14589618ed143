/* A language model's folder with a head that config.json calls tied, and with fields of other architectures. */
#include "data/base/json.h"
#include "models/io/safetensors.h"
#include "models/net/llama_config.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

#define SIZES                                                                                                          \
    "\"vocab_size\":100,\"hidden_size\":256,\"intermediate_size\":48,\"num_hidden_layers\":2,\"num_attention_heads\":2"
#define CONFIG "{\"model_type\":\"llama\"," SIZES ",\"tie_word_embeddings\":true}"

/* A folder that calls its head tied. The table is 1 everywhere; the head is `value` everywhere, or missing if value
 * is 0. */
static char *folder_with_head(float value)
{
    const struct safetensors_spec specs[] = { { "model.embed_tokens.weight", 2, { 100, 256 } },
                                              { "lm_head.weight", 2, { 100, 256 } } };
    char *dir = test_dir_new();
    struct error err;
    float x[256];

    test_file(dir, "config.json", CONFIG);
    struct safetensors_writer *w =
        safetensors_create(test_file(dir, "model.safetensors", NULL), specs, value != 0 ? 2 : 1, ST_F32, &err);
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 256; k++)
            x[k] = i < 100 ? 1 : value;
        if (i < 100 || value != 0)
            assert_int_equal(safetensors_put(w, i / 100, x, i % 100 * 256, 256, &err), 0);
    }
    assert_int_equal(safetensors_finish(w, 0, &err), 0);
    return dir;
}

struct reading {
    const char *dir;
    struct llama_config c;
};

static void read_config(void *arg)
{
    struct reading *r = arg;
    struct error err;

    assert_int_equal(llama_config_read(&r->c, r->dir, &err), 0);
}

/* A head that differs from the table is used, with a warning. */
static void test_own_head(void **state)
{
    static const float heads[] = { 0, 1, 2 };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(heads); i++) {
        struct reading r = { .dir = folder_with_head(heads[i]) };
        char *said = test_said(read_config, &r);
        assert_int_equal(r.c.tied, heads[i] < 2);
        assert_int_equal(strstr(said, "has a different lm_head.weight") != NULL, heads[i] == 2);
        free(said);
        test_dir_remove((char *)(uintptr_t)r.dir);
    }
}

static void parse_config(void *arg)
{
    struct llama_config c;
    struct error err;
    json_t *root = json_loads(arg, 0, NULL);

    assert_non_null(root);
    assert_int_equal(llama_config_parse(&c, root, "config.json", &err), 0);
    json_decref(root);
}

/* Fields that transformers ignores for this architecture are ignored with a warning. */
static void test_fields_of_other_kinds(void **state)
{
    static const struct {
        const char *type, *field, *told;
    } files[] = {
        { "llama", "\"sliding_window\":16", "sliding_window: a field that model_type llama does not have" },
        { "llama", "\"sliding_window\":null,\"mlp_bias\":true,\"attention_bias\":true", NULL },
        { "mistral", "\"num_key_value_heads\":1,\"attention_bias\":true", "attention_bias: a field that" },
        { "mistral", "\"num_key_value_heads\":1,\"attention_bias\":false,\"sliding_window\":9", NULL },
        { "qwen2", "\"mlp_bias\":true", "mlp_bias: a field that" },
        { "qwen2", "\"sliding_window\":9,\"use_sliding_window\":false,\"max_window_layers\":1", NULL },
        { "qwen3", "\"hidden_activation\":\"gelu\"", "hidden_activation: a field that" },
    };
    char text[600];
    (void)state;

    for (int i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(text, sizeof text, "{\"model_type\":\"%s\",%s," SIZES "}", files[i].type, files[i].field);
        char *said = test_said(parse_config, text);
        if (files[i].told)
            assert_non_null(strstr(said, files[i].told));
        else
            assert_string_equal(said, "");
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_own_head), cmocka_unit_test(test_fields_of_other_kinds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
