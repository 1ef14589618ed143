/* config.json of Llama, Mistral, Qwen2, Qwen3 and Gemma 2: rotary parameters of versions 4 and 5, values of all
 * fields, refused fields, and round trips. */
#include "data/base/json.h"
#include "models/net/llama_config.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIZES                                                                                                          \
    "\"vocab_size\":100,\"hidden_size\":256,\"intermediate_size\":48,\"num_hidden_layers\":2,"                         \
    "\"num_attention_heads\":2"
#define OF(type) "\"model_type\":\"" type "\"," SIZES
#define LLAMA3                                                                                                         \
    "\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192"

static int parse(struct llama_config *c, const char *fields, struct error *err)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "{%s}", fields);

    assert_true(n > 0 && (size_t)n < sizeof text);
    json_t *root = json_loads(text, 0, NULL);
    if (!root)
        fail_msg("not JSON: %s", text);
    int rc = llama_config_parse(c, root, "config.json", err);
    json_decref(root);
    return rc;
}

static struct llama_config parsed(const char *fields)
{
    struct llama_config c;
    struct error err = { 0 };

    if (parse(&c, fields, &err))
        fail_msg("%s", err.text);
    return c;
}

/* Radians per position of pairs 0, 1, 28, 31, 36 and 63 of heads with 128 channels, from transformers 5.23. */
static const int pairs[] = { 0, 1, 28, 31, 36, 63 };
static const double plain[] = { 1, 0.865964353, 0.0177827943, 0.0115478197, 0.00562341325, 0.000115478193 };
static const double fast[] = { 1, 0.814617217, 0.00321144611, 0.00173604675, 0.000622772437, 2.4551407e-06 };
static const double linear[] = { 0.25, 0.216491088, 0.00444569858, 0.00288695493, 0.00140585331, 2.88695483e-05 };
static const double llama3[] = { 1, 0.814617217, 0.00321144611, 0.00085675146, 7.78465546e-05, 3.06892588e-07 };
static const double slow_llama3[] = { 1, 0.865964353, 0.0177827943, 0.0115478197, 0.00562341325, 1.44347741e-05 };

/* Expected values come from transformers: version 4 has theta beside the scaling, version 5 has both in one object. */
static const struct rope_case {
    const char *fields;
    const double *freqs;
} ropes[] = {
    { "", plain },
    { ",\"rope_scaling\":null", plain },
    { ",\"rope_theta\":500000.0,\"rope_scaling\":null", fast },
    { ",\"rope_theta\":500000", fast },
    { ",\"rope_theta\":10000.0,\"rope_scaling\":{\"type\":\"linear\",\"factor\":4.0}", linear },
    { ",\"rope_theta\":500000.0,\"rope_scaling\":{" LLAMA3 ",\"rope_type\":\"llama3\"}", llama3 },
    { ",\"rope_scaling\":{" LLAMA3 ",\"rope_type\":\"llama3\",\"type\":\"linear\"}", slow_llama3 },
    { ",\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":500000.0}", fast },
    { ",\"rope_theta\":20000.0,\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":500000.0}", fast },
    { ",\"rope_theta\":500000.0,\"rope_parameters\":{\"rope_type\":\"default\"}", fast },
    { ",\"rope_parameters\":{\"rope_type\":\"linear\",\"rope_theta\":10000.0,\"factor\":4}", linear },
    { ",\"rope_parameters\":{" LLAMA3 ",\"rope_type\":\"llama3\",\"rope_theta\":500000.0}", llama3 },
    { ",\"rope_parameters\":{\"rope_type\":\"default\",\"partial_rotary_factor\":1.0}", plain },
    { ",\"rope_theta\":500000.0,\"rope_scaling\":{" LLAMA3 ",\"rope_type\":\"llama3\"},"
      "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":10000.0}",
      llama3 },
};

static void test_rope(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(ropes); i++) {
        char fields[2048];
        float freqs[64];
        snprintf(fields, sizeof fields, OF("llama") "%s", ropes[i].fields);
        struct llama_config c = parsed(fields);
        llama_rope_freqs(&c, freqs);
        for (int k = 0; k < ARRAY_LEN(pairs); k++) {
            double got = (double)freqs[pairs[k]], want = ropes[i].freqs[k];
            if (!(fabs(got - want) <= 1e-6 * want))
                fail_msg("%s: pair %d turns by %.9g, wanted %.9g", ropes[i].fields, pairs[k], got, want);
        }
    }
}

static void test_llama3_fields(void **state)
{
    struct llama_config c = parsed(OF("llama") ",\"rope_parameters\":{" LLAMA3 ",\"rope_type\":\"llama3\"}");
    (void)state;

    assert_int_equal(c.rope.kind, ROPE_LLAMA3);
    assert_true(c.rope.factor == 8 && c.rope.low == 1 && c.rope.high == 4 && c.rope.theta == 10000);
    assert_int_equal(c.rope.original, 8192);
}

/* Defaults of missing fields, as in transformers. */
static void test_defaults(void **state)
{
    struct llama_config c = parsed(OF("llama"));
    (void)state;

    assert_int_equal(c.kind, LLAMA);
    assert_int_equal(c.groups, 2);
    assert_int_equal(c.head_dim, 128);
    assert_int_equal(c.max_positions, 2048);
    assert_true(c.rms_norm_eps == 1e-6f && c.initializer_range == 0.02f && c.rope.theta == 10000);
    assert_true(!c.tied && !c.qkv_bias && !c.out_bias && !c.mlp_bias && !c.n_stops && c.dtype == F32);
    c = parsed(OF("qwen2"));
    assert_true(c.kind == QWEN2 && c.qkv_bias && !c.out_bias && c.max_positions == 32768);
    c = parsed(OF("qwen3") ",\"num_attention_heads\":3");
    assert_true(c.kind == QWEN3 && c.head_dim == 128 && c.groups == 3 && !c.qkv_bias);
}

static int windows(const struct llama_config *c)
{
    int bits = 0;

    for (int i = 0; i < c->layers; i++)
        bits |= c->windowed[i] << i;
    return bits;
}

static void test_windows(void **state)
{
    (void)state;
    struct llama_config c = parsed(OF("mistral") ",\"num_key_value_heads\":2");
    assert_true(c.window == 4096 && windows(&c) == 3 && c.max_positions == 131072 && !c.tied && c.gate == GATE_SILU);
    c = parsed(OF("mistral") ",\"num_key_value_heads\":2,\"sliding_window\":null");
    assert_true(c.window == 0 && windows(&c) == 0);
    c = parsed(OF("qwen2") ",\"sliding_window\":7,\"max_window_layers\":1");
    assert_true(c.window == 0 && windows(&c) == 0);
    c = parsed(OF("qwen2") ",\"sliding_window\":7,\"max_window_layers\":1,\"use_sliding_window\":true");
    assert_true(c.window == 7 && windows(&c) == 2);
    c = parsed(OF("qwen3") ",\"use_sliding_window\":true"); /* from layer 28 on, which it lacks */
    assert_true(c.window == 4096 && windows(&c) == 0);
    c = parsed(OF("gemma2") ",\"num_key_value_heads\":1,\"num_hidden_layers\":5");
    assert_true(c.window == 4096 && windows(&c) == 21);
    c = parsed(OF("gemma2") ",\"num_key_value_heads\":1,\"layer_types\":[\"full_attention\",\"sliding_attention\"]");
    assert_true(windows(&c) == 2);
}

static void test_gemma(void **state)
{
    (void)state;
    struct llama_config c = parsed(OF("gemma2") ",\"num_key_value_heads\":1");
    assert_true(c.kind == GEMMA2 && c.head_dim == 256 && c.max_positions == 8192 && c.tied && c.gate == GATE_GELU);
    assert_true(c.out_norms && c.norms_less_one && c.embedding_scale == 16 && c.query_scalar == 256);
    assert_true(c.score_cap == 50 && c.logit_cap == 30 && !c.qkv_bias);
    c = parsed(OF("gemma2") ",\"num_key_value_heads\":1,\"attn_logit_softcapping\":null,"
                            "\"final_logit_softcapping\":null,\"query_pre_attn_scalar\":144,"
                            "\"tie_word_embeddings\":false,\"cache_implementation\":\"hybrid\","
                            "\"hidden_act\":\"gelu_pytorch_tanh\"");
    assert_true(c.score_cap == 0 && c.logit_cap == 0 && c.query_scalar == 144 && !c.tied);
}

static void test_biases(void **state)
{
    struct llama_config c = parsed(OF("llama") ",\"attention_bias\":true,\"mlp_bias\":true,\"hidden_act\":\"silu\"");
    (void)state;

    assert_true(c.qkv_bias && c.out_bias && c.mlp_bias);
    c = parsed(OF("qwen3") ",\"attention_bias\":true,\"tie_word_embeddings\":true");
    assert_true(c.qkv_bias && c.out_bias && !c.mlp_bias && c.tied);
    c = parsed(OF("qwen2") ",\"attention_bias\":true,\"mlp_bias\":true"); /* Qwen2 has neither field */
    assert_true(c.qkv_bias && !c.out_bias && !c.mlp_bias);
}

/* Fields that could change results, with values that do not. */
static void test_harmless(void **state)
{
    static const char *const list[] = {
        "\"sliding_window\":4096,\"use_sliding_window\":false,\"max_window_layers\":28",
        "\"layer_types\":[\"full_attention\",\"full_attention\"]",
        "\"quantization_config\":null,\"partial_rotary_factor\":1.0,\"attention_dropout\":0.0",
        "\"logits_scaling\":1,\"num_experts\":0,\"clip_qkv\":null,\"hidden_act\":null",
        "\"architectures\":[\"LlamaForCausalLM\"]",
        "\"architectures\":null",
        "\"a_field_of_tomorrow\":7",
    };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(list); i++) {
        char fields[1024];
        snprintf(fields, sizeof fields, OF("llama") ",%s", list[i]);
        parsed(fields);
    }
}

static void test_stops_and_types(void **state)
{
    struct llama_config c = parsed(OF("llama") ",\"eos_token_id\":[7,99,7],\"torch_dtype\":\"bfloat16\"");
    (void)state;

    assert_true(c.n_stops == 2 && c.stops[0] == 7 && c.stops[1] == 99 && c.dtype == BF16);
    c = parsed(OF("llama") ",\"eos_token_id\":0,\"dtype\":\"float32\",\"torch_dtype\":\"bfloat16\"");
    assert_true(c.n_stops == 1 && c.stops[0] == 0 && c.dtype == F32);
    assert_int_equal(parsed(OF("llama") ",\"dtype\":\"float16\"").dtype, BF16);
}

/* A changed field of a valid Llama file, and the message after "config.json: ". */
static const struct refusal {
    const char *field, *says;
} refused[] = {
    /* other networks */
    { "\"model_type\":\"mixtral\"", "model_type: expected one of \"llama\", \"qwen2\", " },
    { "\"model_type\":null", "model_type: expected one of \"llama\", \"qwen2\", " },
    { "\"architectures\":[\"LlamaForSequenceClassification\"]", "architectures: " },
    { "\"architectures\":[\"Qwen2ForCausalLM\"]",
      "architectures: expected LlamaForCausalLM, got [\"Qwen2ForCausalLM\"]" },
    { "\"hidden_act\":\"gelu\"", "hidden_act: expected \"silu\", got \"gelu\"" },
    { "\"hidden_act\":7", "hidden_act: expected \"silu\", got 7" },
    { "\"use_sliding_window\":true", "use_sliding_window: expected none or false, got true" },
    { "\"layer_types\":[\"full_attention\",\"sliding_attention\"]", "layer_types: " },
    { "\"layer_types\":[4]", "layer_types: expected a word for each of num_hidden_layers, got [4]" },
    { "\"layer_types\":\"full_attention\"", "layer_types: expected a word for each of num_hidden_layers, got " },
    { "\"layer_types\":[\"full_attention\",7]",
      "layer_types: expected \"full_attention\" or \"sliding_attention\" for every layer, got " },
    { "\"quantization_config\":{\"bits\":4}", "quantization_config: expected none or false, got {\"bits\":4}" },
    { "\"attention_dropout\":0.1", "attention_dropout: expected none or false, got 0.1" },
    { "\"num_experts\":8", "num_experts: expected none or false, got 8" },
    { "\"num_local_experts\":8", "num_local_experts: expected none or false, got 8" },
    { "\"kv_lora_rank\":512", "kv_lora_rank: expected none or false, got 512" },
    { "\"attention_multiplier\":0.5", "attention_multiplier: expected 1, got 0.5" },
    { "\"embedding_multiplier\":12", "embedding_multiplier: expected 1, got 12" },
    { "\"residual_multiplier\":0.2", "residual_multiplier: expected 1, got 0.2" },
    { "\"logits_scaling\":8", "logits_scaling: expected 1, got 8" },
    { "\"logit_scale\":0.0625", "logit_scale: expected 1, got 0.0625" },
    { "\"query_pre_attn_scalar\":256", "query_pre_attn_scalar: expected none or false, got 256" },
    { "\"attn_logit_softcapping\":50", "attn_logit_softcapping: expected none or false, got 50" },
    { "\"final_logit_softcapping\":30", "final_logit_softcapping: expected none or false, got 30" },
    { "\"clip_qkv\":8", "clip_qkv: expected none or false, got 8" },
    { "\"partial_rotary_factor\":0.5", "partial_rotary_factor: expected 1, got 0.5" },
    { "\"no_rope_layers\":[1,0]", "no_rope_layers: expected none or false, got [1,0]" },
    { "\"attention_chunk_size\":8192", "attention_chunk_size: expected none or false, got 8192" },
    { "\"is_encoder_decoder\":true", "is_encoder_decoder: expected none or false, got true" },
    { "\"use_mrope\":true", "use_mrope: expected none or false, got true" },
    { "\"add_cross_attention\":true", "add_cross_attention: expected none or false, got true" },
    /* flags */
    { "\"attention_bias\":1", "field \"attention_bias\": expected true or false, got an integer" },
    { "\"mlp_bias\":\"no\"", "field \"mlp_bias\": expected true or false, got a string" },
    { "\"tie_word_embeddings\":0", "field \"tie_word_embeddings\": expected true or false, got an integer" },
    /* sizes */
    { "\"vocab_size\":0", "field \"vocab_size\": expected 1 to 16777216, got 0" },
    { "\"vocab_size\":16777217", "field \"vocab_size\": expected 1 to 16777216, got 16777217" },
    { "\"vocab_size\":\"100\"", "field \"vocab_size\": expected an integer, got a string" },
    { "\"vocab_size\":1.5", "field \"vocab_size\": expected an integer, got a real number" },
    { "\"vocab_size\":null", "field \"vocab_size\": expected an integer, got null" },
    { "\"hidden_size\":0", "field \"hidden_size\": expected 1 to 1048576, got 0" },
    { "\"hidden_size\":1048577", "field \"hidden_size\": expected 1 to 1048576, got 1048577" },
    { "\"hidden_size\":255", "hidden_size 255 is not a multiple of num_attention_heads 2" },
    { "\"hidden_size\":20", "head_dim: expected a multiple of 8 up to 256, got 10" },
    { "\"hidden_size\":528", "head_dim: expected a multiple of 8 up to 256, got 264" },
    { "\"head_dim\":0", "field \"head_dim\": expected 1 to 1048576, got 0" },
    { "\"head_dim\":12", "head_dim: expected a multiple of 8 up to 256, got 12" },
    { "\"intermediate_size\":-1", "field \"intermediate_size\": expected 1 to 1048576, got -1" },
    { "\"intermediate_size\":1048577", "field \"intermediate_size\": expected 1 to 1048576, got 1048577" },
    { "\"num_hidden_layers\":0", "field \"num_hidden_layers\": expected 1 to 1000, got 0" },
    { "\"num_hidden_layers\":1001", "field \"num_hidden_layers\": expected 1 to 1000, got 1001" },
    { "\"num_attention_heads\":0", "field \"num_attention_heads\": expected 1 to 1048576, got 0" },
    { "\"num_attention_heads\":99999999999", "field \"num_attention_heads\": expected 1 to 1048576, got 99999999999" },
    { "\"num_key_value_heads\":0", "field \"num_key_value_heads\": expected 1 to 2, got 0" },
    { "\"num_key_value_heads\":3", "field \"num_key_value_heads\": expected 1 to 2, got 3" },
    { "\"num_attention_heads\":4,\"num_key_value_heads\":3",
      "num_attention_heads 4 is not a multiple of num_key_value_heads 3" },
    { "\"max_position_embeddings\":0", "field \"max_position_embeddings\": expected 1 to 134217728, got 0" },
    { "\"max_position_embeddings\":134217729",
      "field \"max_position_embeddings\": expected 1 to 134217728, got 134217729" },
    { "\"rms_norm_eps\":0", "field \"rms_norm_eps\": expected 1e-30 to 1, got 0" },
    { "\"rms_norm_eps\":\"1e-5\"", "field \"rms_norm_eps\": expected a number, got a string" },
    { "\"initializer_range\":-1", "field \"initializer_range\": expected 0 to 1000, got -1" },
    /* types and stops */
    { "\"dtype\":\"float8_e4m3fn\"",
      "dtype: expected \"float32\", \"bfloat16\" or \"float16\", got \"float8_e4m3fn\"" },
    { "\"torch_dtype\":\"int8\"", "torch_dtype: expected \"float32\", \"bfloat16\" or \"float16\", got \"int8\"" },
    { "\"torch_dtype\":16", "torch_dtype: expected \"float32\", \"bfloat16\" or \"float16\", got 16" },
    { "\"eos_token_id\":100", "eos_token_id: expected an id of the vocabulary, or up to 16 of them, got 100" },
    { "\"eos_token_id\":-1", "eos_token_id: expected an id of the vocabulary, or up to 16 of them, got -1" },
    { "\"eos_token_id\":\"</s>\"",
      "eos_token_id: expected an id of the vocabulary, or up to 16 of them, got \"</s>\"" },
    { "\"eos_token_id\":[1,2.5]", "eos_token_id: expected an id of the vocabulary, or up to 16 of them, got [1,2.5]" },
    { "\"eos_token_id\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]",
      "eos_token_id: expected an id of the vocabulary, or up to 16 of them, got [0,1,2" },
    /* rotary positions */
    { "\"rope_theta\":0", "field \"rope_theta\": expected 1 to 1e+12, got 0" },
    { "\"rope_theta\":1e13", "field \"rope_theta\": expected 1 to 1e+12, got 1e+13" },
    { "\"rope_theta\":\"10000\"", "field \"rope_theta\": expected a number, got a string" },
    { "\"rope_scaling\":\"linear\"", "rope_scaling: expected an object, got \"linear\"" },
    { "\"rope_parameters\":[1]", "rope_parameters: expected an object, got [1]" },
};

/* The same for Gemma 2. */
static const struct refusal refused_gemma[] = {
    { "\"sliding_window\":0", "field \"sliding_window\": expected 1 to 134217728, got 0" },
    { "\"sliding_window\":\"4096\"", "field \"sliding_window\": expected an integer, got a string" },
    { "\"sliding_window\":null,\"layer_types\":[\"sliding_attention\",\"full_attention\"]",
      "layer_types: expected \"full_attention\" for every layer of a model without a window, got " },
    { "\"layer_types\":[\"chunked_attention\",\"full_attention\"]",
      "layer_types: expected \"full_attention\" or \"sliding_attention\" for every layer, got " },
    { "\"query_pre_attn_scalar\":0", "field \"query_pre_attn_scalar\": expected 0.001 to 1e+09, got 0" },
    { "\"attn_logit_softcapping\":-50", "field \"attn_logit_softcapping\": expected 0.001 to 1e+09, got -50" },
    { "\"final_logit_softcapping\":\"30\"", "field \"final_logit_softcapping\": expected a number, got a string" },
    { "\"hidden_activation\":\"gelu\"", "hidden_activation: expected \"gelu_pytorch_tanh\", got \"gelu\"" },
    { "\"use_bidirectional_attention\":true", "use_bidirectional_attention: expected none or false, got true" },
    { "\"use_sliding_window\":true", "use_sliding_window: expected none or false, got true" },
};

static void check_refusal(const char *fields, const char *where, const char *says)
{
    struct llama_config c;
    struct error err = { 0 };
    char want[512];

    snprintf(want, sizeof want, "%s%s", where, says);
    if (parse(&c, fields, &err) == 0)
        fail_msg("accepted: %s", fields);
    if (strncmp(err.text, want, strlen(want)))
        fail_msg("\"%s\" does not begin with \"%s\"", err.text, want);
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
}

static void test_refused(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(refused); i++) {
        char fields[1024];
        snprintf(fields, sizeof fields, OF("llama") ",%s", refused[i].field);
        check_refusal(fields, "config.json: ", refused[i].says);
    }
    for (int i = 0; i < ARRAY_LEN(refused_gemma); i++) {
        char fields[1024];
        snprintf(fields, sizeof fields, OF("gemma2") ",\"num_key_value_heads\":1,%s", refused_gemma[i].field);
        check_refusal(fields, "config.json: ", refused_gemma[i].says);
    }
}

/* Members of the object of rotary parameters, under either name, and the message after that name. */
static const struct refusal bad_ropes[] = {
    { "\"rope_type\":\"yarn\",\"factor\":4",
      "rope_type: expected \"default\", \"linear\" or \"llama3\", got \"yarn\"" },
    { "\"rope_type\":\"dynamic\",\"factor\":4",
      "rope_type: expected \"default\", \"linear\" or \"llama3\", got \"dynamic\"" },
    { "\"rope_type\":\"longrope\"", "rope_type: expected \"default\", \"linear\" or \"llama3\", got \"longrope\"" },
    { "\"rope_type\":\"proportional\"",
      "rope_type: expected \"default\", \"linear\" or \"llama3\", got \"proportional\"" },
    { "\"type\":\"ntk\"", "type: expected \"default\", \"linear\" or \"llama3\", got \"ntk\"" },
    { "\"type\":\"mrope\",\"mrope_section\":[16,24,24]",
      "type: expected \"default\", \"linear\" or \"llama3\", got \"mrope\"" },
    { "\"rope_type\":3", "rope_type: expected \"default\", \"linear\" or \"llama3\", got 3" },
    { "\"rope_type\":\"linear\"", "field \"factor\" is missing" },
    { "\"rope_type\":\"linear\",\"factor\":0.5", "field \"factor\": expected 1 to 1000000, got 0.5" },
    { "\"rope_type\":\"linear\",\"factor\":\"4\"", "field \"factor\": expected a number, got a string" },
    { "\"rope_type\":\"llama3\",\"factor\":8", "field \"low_freq_factor\" is missing" },
    { "\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1", "field \"high_freq_factor\" is missing" },
    { "\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":0,\"high_freq_factor\":4",
      "field \"low_freq_factor\": expected 0.001 to 1000000, got 0" },
    { "\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4",
      "field \"original_max_position_embeddings\" is missing" },
    { "\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
      "\"original_max_position_embeddings\":0",
      "field \"original_max_position_embeddings\": expected 1 to 134217728, got 0" },
    { "\"rope_type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4,"
      "\"original_max_position_embeddings\":8192",
      "high_freq_factor: expected more than low_freq_factor, got 4" },
    { "\"rope_theta\":0.5", "field \"rope_theta\": expected 1 to 1e+12, got 0.5" },
    { "\"partial_rotary_factor\":0.25", "partial_rotary_factor: expected 1, got 0.25" },
    { "\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":1000000.0}",
      "full_attention: expected one set of rotary parameters for every layer, got {\"rope_type\":\"default\",\"rope_theta\":1000000.0}" },
};

static void test_refused_rope(void **state)
{
    static const char *const names[] = { "rope_scaling", "rope_parameters" };
    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad_ropes) * ARRAY_LEN(names); i++) {
        const struct refusal *bad = &bad_ropes[i / ARRAY_LEN(names)];
        const char *name = names[i % ARRAY_LEN(names)];
        char fields[1024], where[64];
        snprintf(fields, sizeof fields, OF("llama") ",\"%s\":{%s}", name, bad->field);
        snprintf(where, sizeof where, "config.json: %s: ", name);
        check_refusal(fields, where, bad->says);
    }
}

static void assert_same(const struct llama_config *a, const struct llama_config *b)
{
    assert_true(a->kind == b->kind && a->vocab_size == b->vocab_size && a->hidden_size == b->hidden_size);
    assert_true(a->intermediate_size == b->intermediate_size && a->layers == b->layers && a->heads == b->heads);
    assert_true(a->groups == b->groups && a->head_dim == b->head_dim && a->max_positions == b->max_positions);
    assert_true(a->rms_norm_eps == b->rms_norm_eps && a->initializer_range == b->initializer_range);
    assert_true(a->tied == b->tied && a->dtype == b->dtype && a->n_stops == b->n_stops);
    assert_true(a->qkv_bias == b->qkv_bias && a->out_bias == b->out_bias && a->mlp_bias == b->mlp_bias);
    assert_true(a->rope.kind == b->rope.kind && a->rope.theta == b->rope.theta && a->rope.factor == b->rope.factor);
    assert_true(a->window == b->window && !memcmp(a->windowed, b->windowed, sizeof a->windowed));
    assert_true(a->gate == b->gate && a->out_norms == b->out_norms && a->norms_less_one == b->norms_less_one);
    assert_true(a->embedding_scale == b->embedding_scale && a->query_scalar == b->query_scalar);
    assert_true(a->score_cap == b->score_cap && a->logit_cap == b->logit_cap);
    assert_true(a->rope.low == b->rope.low && a->rope.high == b->rope.high && a->rope.original == b->rope.original);
    assert_memory_equal(a->stops, b->stops, sizeof a->stops);
}

/* A written file reads back. generation_config.json adds the end of a turn. */
static void test_round_trip(void **state)
{
    static const char *const models[] = {
        OF("llama") ",\"attention_bias\":true,\"mlp_bias\":true,\"head_dim\":64,\"rms_norm_eps\":1e-5,"
                    "\"rope_parameters\":{" LLAMA3 ",\"rope_type\":\"llama3\",\"rope_theta\":500000.0}",
        OF("llama") ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.5},\"tie_word_embeddings\":true",
        OF("qwen2") ",\"rope_theta\":1000000.0,\"eos_token_id\":[3,4],\"num_key_value_heads\":1",
        OF("qwen3") ",\"head_dim\":32,\"dtype\":\"bfloat16\",\"max_position_embeddings\":40960",
        OF("mistral") ",\"num_key_value_heads\":1,\"sliding_window\":9,\"dtype\":\"bfloat16\"",
        OF("mistral") ",\"num_key_value_heads\":1,\"sliding_window\":null",
        OF("qwen2") ",\"use_sliding_window\":true,\"sliding_window\":5,\"max_window_layers\":1",
        OF("gemma2") ",\"num_key_value_heads\":1,\"query_pre_attn_scalar\":144.5,\"tie_word_embeddings\":false",
        OF("gemma2") ",\"num_key_value_heads\":1,\"attn_logit_softcapping\":null,\"sliding_window\":null,"
                     "\"layer_types\":[\"full_attention\",\"full_attention\"]",
    };
    char *dir = test_dir_new();
    struct error err = { 0 };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(models); i++) {
        struct llama_config a = parsed(models[i]), b;
        if (llama_config_write(&a, dir, a.dtype, &err) || llama_config_read(&b, dir, &err))
            fail_msg("%s", err.text);
        assert_same(&a, &b);
    }
    struct llama_config c;
    test_file(dir, "generation_config.json", "{\"eos_token_id\":[5,6]}");
    assert_int_equal(llama_config_read(&c, dir, &err), 0);
    assert_true(c.n_stops == 2 && c.stops[0] == 5 && c.stops[1] == 6);
    test_file(dir, "generation_config.json", "{\"eos_token_id\":100}");
    assert_int_equal(llama_config_read(&c, dir, &err), -1);
    assert_error(err, "generation_config.json: eos_token_id: expected an id of the vocabulary", "got 100");
    assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rope),    cmocka_unit_test(test_llama3_fields), cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_biases),  cmocka_unit_test(test_harmless),      cmocka_unit_test(test_stops_and_types),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_refused_rope),  cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_windows), cmocka_unit_test(test_gemma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
