/* config.json of BERT and ModernBERT: fields that are read, fields that are refused, and round trips. */
#include "data/base/json.h"
#include "models/hf/hf_config.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZES                                                                                                          \
    "\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":96,\"num_hidden_layers\":2,"                           \
    "\"num_attention_heads\":3,\"intermediate_size\":48"

#define MODERN                                                                                                         \
    "\"model_type\":\"modernbert\",\"vocab_size\":100,\"hidden_size\":96,\"num_hidden_layers\":5,"                     \
    "\"num_attention_heads\":3,\"intermediate_size\":48"

static int parse(struct hf_config *c, const char *text, struct error *err)
{
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    int rc = hf_config_parse(c, root, "config.json", err);
    json_decref(root);
    return rc;
}

/* As version 4.8 wrote it for MiniLM. */
static void test_version_4(void **state)
{
    const char *text =
        "{\"_name_or_path\":\"nreimers/MiniLM-L6-H384-uncased\",\"architectures\":[\"BertModel\"],"
        "\"attention_probs_dropout_prob\":0.2,\"gradient_checkpointing\":false,\"hidden_act\":\"gelu\","
        "\"hidden_dropout_prob\":0.3,\"hidden_size\":384,\"initializer_range\":0.02,\"intermediate_size\":1536,"
        "\"layer_norm_eps\":1e-12,\"max_position_embeddings\":256,\"model_type\":\"bert\",\"num_attention_heads\":12,"
        "\"num_hidden_layers\":6,\"pad_token_id\":0,\"position_embedding_type\":\"absolute\","
        "\"transformers_version\":\"4.8.2\",\"type_vocab_size\":3,\"use_cache\":true,\"vocab_size\":30522}";
    struct hf_config c;
    struct error err = { 0 };
    (void)state;

    if (parse(&c, text, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.bert.vocab_size, 30522);
    assert_int_equal(c.bert.hidden_size, 384);
    assert_int_equal(c.bert.layers, 6);
    assert_int_equal(c.bert.heads, 12);
    assert_int_equal(c.bert.intermediate_size, 1536);
    assert_int_equal(c.bert.max_positions, 256);
    assert_int_equal(c.bert.type_vocab_size, 3);
    assert_int_equal(c.bert.activation, ACT_GELU);
    assert_true(c.bert.layer_norm_eps == 1e-12f);
    assert_true(c.bert.attention_dropout == 0.2f && c.bert.hidden_dropout == 0.3f && c.classifier_dropout == 0.3f);
    assert_int_equal(c.n_labels, 2);
    assert_string_equal(c.architecture, "BertModel");
}

/* Version 5 drops position_embedding_type and renames torch_dtype; defaults equal the library's. */
static void test_version_5_and_defaults(void **state)
{
    struct hf_config c;
    struct error err = { 0 };
    (void)state;

    if (parse(&c,
              "{" SIZES ",\"dtype\":\"float32\",\"architectures\":[\"BertForSequenceClassification\"],"
              "\"hidden_act\":\"gelu_new\",\"classifier_dropout\":0.25,\"is_decoder\":false,\"add_cross_attention\":"
              "false,"
              "\"id2label\":{\"0\":\"a\",\"1\":\"b\",\"2\":\"c\"},\"problem_type\":\"regression\",\"pad_token_id\":9}",
              &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.bert.activation, ACT_GELU_TANH);
    assert_int_equal(c.n_labels, 3);
    assert_int_equal(c.pad_token_id, 9);
    assert_string_equal(c.problem_type, "regression");
    assert_true(c.classifier_dropout == 0.25f && c.bert.hidden_dropout == 0.1f);
    assert_int_equal(parse(&c, "{" SIZES ",\"position_embedding_type\":null,\"num_labels\":1}", &err), 0);
    assert_int_equal(c.bert.max_positions, 512);
    assert_int_equal(c.bert.type_vocab_size, 2);
    assert_true(c.bert.layer_norm_eps == 1e-12f);
    assert_int_equal(c.bert.activation, ACT_GELU);
    assert_int_equal(c.n_labels, 1);
    assert_string_equal(c.architecture, "");
}

/* TinyBERT's heads have 26 channels. */
static void test_odd_heads(void **state)
{
    struct hf_config c;
    struct error err = { 0 };
    (void)state;

    if (parse(&c,
              "{\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":312,\"num_hidden_layers\":4,"
              "\"num_attention_heads\":12,\"intermediate_size\":1200}",
              &err))
        fail_msg("%s", err.text);
    assert_int_equal(c.bert.hidden_size, 312);
    assert_int_equal(c.bert.heads, 12);
}

struct bad {
    const char *text, *says;
};

static void refuse(const struct bad *bad, int n)
{
    for (int i = 0; i < n; i++) {
        struct hf_config c;
        struct error err = { 0 };
        if (parse(&c, bad[i].text, &err) == 0)
            fail_msg("accepted: %s", bad[i].text);
        if (!strstr(err.text, bad[i].says) || strncmp(err.text, "config.json: ", 13))
            fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].says);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    }
}

static void test_refused(void **state)
{
    static const struct bad bad[] = {
        { "[]", "expected a JSON object" },
        { "{}", "model_type" },
        { "{\"model_type\":\"roberta\"}", "model_type: expected \"bert\" or \"modernbert\", got \"roberta\"" },
        { "{\"model_type\":\"bert\"}", "vocab_size" },
        { "{\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":12}", "num_hidden_layers" },
        { "{\"model_type\":\"bert\",\"vocab_size\":0}", "vocab_size" },
        { "{\"model_type\":\"bert\",\"vocab_size\":1e9}", "vocab_size" },
        { "{\"model_type\":\"bert\",\"vocab_size\":99999999999}", "vocab_size" },
        { "{\"model_type\":\"bert\",\"vocab_size\":\"100\"}", "vocab_size" },
        { "{\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":13,\"num_hidden_layers\":2,"
          "\"num_attention_heads\":3,\"intermediate_size\":48}",
          "hidden_size 13 is not a multiple of num_attention_heads 3" },
        { "{\"model_type\":\"bert\",\"vocab_size\":100,\"hidden_size\":3096,\"num_hidden_layers\":4,"
          "\"num_attention_heads\":12,\"intermediate_size\":1200}",
          "expected heads of at most 256 channels, got 258 (hidden_size 3096, num_attention_heads 12)" },
        { "{\"model_type\":\"modernbert\"}", "vocab_size" },
        { "{" SIZES ",\"position_embedding_type\":\"relative_key\"}",
          "position_embedding_type: expected \"absolute\", got \"relative_key\"" },
        { "{" SIZES ",\"position_embedding_type\":7}", "position_embedding_type: expected \"absolute\", got 7" },
        { "{" SIZES ",\"hidden_act\":\"swish\"}",
          "hidden_act: expected gelu, gelu_new, gelu_pytorch_tanh, relu or tanh, got \"swish\"" },
        { "{" SIZES ",\"hidden_act\":[]}", "hidden_act" },
        { "{" SIZES ",\"is_decoder\":true}", "is_decoder: expected false, got true" },
        { "{" SIZES ",\"add_cross_attention\":true}", "add_cross_attention" },
        { "{" SIZES ",\"quantization_config\":{\"bits\":4}}", "quantization_config" },
        { "{" SIZES ",\"pruned_heads\":{\"0\":[1]}}", "pruned_heads" },
        { "{" SIZES ",\"layer_norm_eps\":-1}", "layer_norm_eps" },
        { "{" SIZES ",\"layer_norm_eps\":\"x\"}", "layer_norm_eps" },
        { "{" SIZES ",\"hidden_dropout_prob\":1.5}", "hidden_dropout_prob" },
        { "{" SIZES ",\"max_position_embeddings\":0}", "max_position_embeddings" },
        { "{" SIZES ",\"type_vocab_size\":0}", "type_vocab_size" },
        { "{" SIZES ",\"pad_token_id\":100}", "pad_token_id" },
        { "{" SIZES ",\"id2label\":{}}", "id2label" },
        { "{" SIZES ",\"num_labels\":0}", "num_labels" },
        { "{" SIZES ",\"problem_type\":5}", "problem_type" },
        { "{" SIZES ",\"architectures\":[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}",
          "architectures" },
    };
    (void)state;
    refuse(bad, ARRAY_LEN(bad));
}

static void test_modern_refused(void **state)
{
    static const struct bad bad[] = {
        { "{" MODERN ",\"norm_bias\":true}", "norm_bias: expected false, got true" },
        { "{" MODERN ",\"attention_bias\":true}", "attention_bias: expected false" },
        { "{" MODERN ",\"mlp_bias\":1}", "mlp_bias: expected false" },
        { "{" MODERN ",\"hidden_activation\":\"silu\"}", "hidden_activation: expected \"gelu\", got \"silu\"" },
        { "{" MODERN ",\"rope_scaling\":{\"type\":\"yarn\"}}", "rope_scaling: expected none" },
        { "{" MODERN ",\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"yarn\"}}}",
          "rope_type: expected \"default\", got \"yarn\"" },
        { "{" MODERN ",\"rope_parameters\":{\"sliding_attention\":{\"rope_theta\":0}}}", "rope_theta" },
        { "{" MODERN ",\"local_attention\":1}", "local_attention" },
        { "{" MODERN ",\"global_attn_every_n_layers\":0}", "global_attn_every_n_layers" },
        { "{" MODERN ",\"layer_types\":[\"full_attention\"]}",
          "layer_types: expected a list with a word for each layer" },
        { "{" MODERN ",\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\","
          "\"full_attention\",\"sliding_attention\"]}",
          "layer_types: expected full_attention first and every so many layers" },
        { "{" MODERN ",\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"full_attention\","
          "\"sliding_attention\",7]}",
          "layer_types" },
        { "{\"model_type\":\"modernbert\",\"vocab_size\":9,\"hidden_size\":6,\"num_hidden_layers\":2,"
          "\"num_attention_heads\":2,\"intermediate_size\":4}",
          "expected an even number of channels a head, got 3" },
    };
    (void)state;
    refuse(bad, ARRAY_LEN(bad));
}

/* Names of version 4, names of version 5, and a file without them. */
static void test_modern(void **state)
{
    static const char *const texts[] = {
        "{" MODERN ",\"global_attn_every_n_layers\":2,\"local_attention\":64,\"global_rope_theta\":5e4,"
        "\"local_rope_theta\":null,\"norm_eps\":1e-6,\"mlp_dropout\":0.1,\"attention_dropout\":0.2,"
        "\"embedding_dropout\":0.3,\"position_embedding_type\":\"absolute\",\"layer_norm_eps\":1e-05}",
        "{" MODERN
        ",\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\",\"sliding_attention\","
        "\"full_attention\"],\"local_attention\":64,\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\","
        "\"rope_theta\":5e4},\"sliding_attention\":{\"rope_theta\":5e4}},\"norm_eps\":1e-6,\"mlp_dropout\":0.1,"
        "\"attention_dropout\":0.2,\"embedding_dropout\":0.3}",
        "{" MODERN "}",
    };
    char *dir = test_dir_new();
    struct hf_config c, again;
    struct error err = { 0 };

    (void)state;
    for (int i = 0; i < 2 * ARRAY_LEN(texts); i++) {
        if (parse(&c, texts[i / 2], &err))
            fail_msg("%s", err.text);
        if (i % 2 && (hf_config_write(&c, dir, F32, &err) || hf_config_read(&again, dir, &err)))
            fail_msg("%s", err.text);
        const struct bert_config *b = i % 2 ? &again.bert : &c.bert;
        bool plain = i / 2 == 2;
        assert_int_equal(b->kind, MODERN_BERT);
        assert_int_equal(b->max_positions, 8192);
        assert_int_equal(b->window, plain ? 128 : 64);
        assert_int_equal(b->global_every, plain ? 3 : 2);
        assert_true(b->theta == (plain ? 160000.0f : 5e4f) && b->local_theta == (plain ? 10000.0f : 5e4f));
        assert_true(b->layer_norm_eps == (plain ? 1e-5f : 1e-6f));
        assert_true(b->hidden_dropout == (plain ? 0 : 0.1f) && b->attention_dropout == (plain ? 0 : 0.2f));
        assert_true(b->embedding_dropout == (plain ? 0 : 0.3f));
    }
    test_dir_remove(dir);
}

static void test_round_trip(void **state)
{
    char *dir = test_dir_new(), path[128];
    struct hf_config a = { .bert = { .vocab_size = 50,
                                     .hidden_size = 128,
                                     .layers = 3,
                                     .heads = 4,
                                     .intermediate_size = 64,
                                     .max_positions = 128,
                                     .type_vocab_size = 1,
                                     .activation = ACT_GELU_TANH,
                                     .layer_norm_eps = 1e-12f,
                                     .hidden_dropout = 0.1f,
                                     .attention_dropout = 0 },
                           .classifier_dropout = 0.3f,
                           .pad_token_id = 7,
                           .n_labels = 1,
                           .architecture = "BertForSequenceClassification",
                           .problem_type = "multi_label_classification" };
    struct hf_config b;
    struct error err = { 0 };
    (void)state;

    assert_int_equal(hf_config_read(&b, dir, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    if (hf_config_write(&a, dir, F32, &err) || hf_config_read(&b, dir, &err))
        fail_msg("%s", err.text);
    assert_int_equal(a.bert.vocab_size, b.bert.vocab_size);
    assert_int_equal(a.bert.hidden_size, b.bert.hidden_size);
    assert_int_equal(a.bert.layers, b.bert.layers);
    assert_int_equal(a.bert.heads, b.bert.heads);
    assert_int_equal(a.bert.intermediate_size, b.bert.intermediate_size);
    assert_int_equal(a.bert.max_positions, b.bert.max_positions);
    assert_int_equal(a.bert.type_vocab_size, b.bert.type_vocab_size);
    assert_int_equal(a.bert.activation, b.bert.activation);
    assert_true(a.bert.layer_norm_eps == b.bert.layer_norm_eps);
    assert_true(a.bert.hidden_dropout == b.bert.hidden_dropout);
    assert_true(b.bert.attention_dropout == 0 && b.classifier_dropout == 0.3f);
    assert_int_equal(b.pad_token_id, 7);
    assert_int_equal(b.n_labels, 1);
    assert_string_equal(a.architecture, b.architecture);
    assert_string_equal(a.problem_type, b.problem_type);
    snprintf(path, sizeof path, "%s/config.json", dir);
    json_t *root = json_read_file(path, &err);
    assert_string_equal(json_string_value(json_object_get(root, "torch_dtype")), "float32");
    json_decref(root);
    test_dir_remove(dir);
}

static void parse_text(void *arg)
{
    struct hf_config c;
    struct error err;

    assert_int_equal(parse(&c, arg, &err), 0);
}

/* An unknown field causes a warning; so do the fields of the other model type. */
static void test_unknown_fields(void **state)
{
    static const struct {
        const char *text, *named;
    } files[] = {
        { "{" SIZES ",\"embedding_scale\":2}", "embedding_scale" },
        { "{" SIZES ",\"embedding_scale\":null,\"mask_token_id\":4,\"pooler_type\":\"first_token_transform\"}", NULL },
        { "{" SIZES ",\"local_attention\":64}", "local_attention" },
        { "{" MODERN ",\"local_attention\":64,\"reference_compile\":true}", NULL },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(files); i++) {
        char *said = test_said(parse_text, (char *)(uintptr_t)files[i].text);
        assert_int_equal(strstr(said, "unknown field") != NULL, files[i].named != NULL);
        assert_true(!files[i].named || strstr(said, files[i].named));
        free(said);
    }
}

static void read_folder(void *arg)
{
    struct hf_config c;
    struct error err;

    assert_int_equal(hf_config_read(&c, arg, &err), 0);
}

/* transformers 5 writes no field that is unknown here. */
static void test_known_fields(void **state)
{
    static const char *const folders[] = { "tests/gold/embed", "tests/gold/modern" };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(folders); i++) {
        char *said = test_said(read_folder, (char *)(uintptr_t)folders[i]);
        assert_string_equal(said, "");
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_4),      cmocka_unit_test(test_version_5_and_defaults),
        cmocka_unit_test(test_odd_heads),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_modern),         cmocka_unit_test(test_modern_refused),
        cmocka_unit_test(test_unknown_fields), cmocka_unit_test(test_known_fields),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
