/* adapter_config.json: the modules with an adapter by PEFT's rules, and settings that are refused. */
#include "models/io/lora.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Q0 "model.layers.0.self_attn.q_proj"
#define Q1 "model.layers.1.self_attn.q_proj"
#define Q11 "model.layers.11.self_attn.q_proj"
#define UP1 "model.layers.1.mlp.up_proj"
#define HEAD "lm_head"

static int parse(struct lora_config *c, const char *fields, struct error *err)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "{\"peft_type\":\"LORA\"%s%s}", *fields ? "," : "", fields);

    assert_true(n > 0 && (size_t)n < sizeof text);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    int rc = lora_config_parse(c, root, "adapter_config.json", err);
    json_decref(root);
    return rc;
}

/* Each line is the answer of PEFT 0.21. */
static const struct rule {
    const char *fields, *module;
    int rank;
    double scale;
} rules[] = {
    { "\"target_modules\":[\"q_proj\"]", Q0, 8, 1 },
    { "\"target_modules\":[\"q_proj\"]", "model.layers.0.self_attn.xq_proj", 0, 0 },
    { "\"target_modules\":[\"q_proj\"]", HEAD, 0, 0 },
    { "\"target_modules\":[\"lm_head\"],\"r\":4,\"lora_alpha\":6", HEAD, 4, 1.5 },
    { "\"target_modules\":[\"self_attn.q_proj\"],\"r\":16,\"lora_alpha\":8,\"use_rslora\":true", Q1, 16, 2 },
    { "\"target_modules\":[\"" Q1 "\"]", Q11, 0, 0 },
    { "\"target_modules\":\"all-linear\"", UP1, 8, 1 },
    { "\"target_modules\":\"all-linear\"", HEAD, 0, 0 },
    { "\"target_modules\":\".*q_proj\"", Q0, 8, 1 },
    { "\"target_modules\":\"q_proj\"", Q0, 0, 0 },
    { "\"target_modules\":\"model.layers.1\"", Q1, 0, 0 },
    { "\"target_modules\":\".*\\\\.(?P<n>[0-9]+)\\\\.(?!mlp).*\"", Q1, 8, 1 },
    { "\"target_modules\":\".*\\\\.(?P<n>[0-9]+)\\\\.(?!mlp).*\"", UP1, 0, 0 },
    { "\"target_modules\":\".*proj|lm_head\",\"exclude_modules\":\".*layers\\\\.1\\\\..*\"", UP1, 0, 0 },
    { "\"target_modules\":\".*proj|lm_head\",\"exclude_modules\":\".*layers\\\\.1\\\\..*\"", Q11, 8, 1 },
    { "\"target_modules\":[\"q_proj\",\"up_proj\"],\"exclude_modules\":[\"1.self_attn.q_proj\"]", Q1, 0, 0 },
    { "\"target_modules\":[\"q_proj\",\"up_proj\"],\"exclude_modules\":[\"1.self_attn.q_proj\"]", Q11, 8, 1 },
    { "\"target_modules\":[\"q_proj\"],\"layers_to_transform\":1", Q1, 8, 1 },
    { "\"target_modules\":[\"q_proj\"],\"layers_to_transform\":1", Q11, 0, 0 },
    { "\"target_modules\":[\"q_proj\"],\"layers_to_transform\":[0,11]", Q11, 8, 1 },
    { "\"target_modules\":[\"q_proj\"],\"layers_to_transform\":[]", Q11, 8, 1 },
    { "\"target_modules\":[\"q_proj\",\"lm_head\"],\"layers_to_transform\":[0]", HEAD, 8, 1 },
    { "\"target_modules\":[\"" Q1 "\"],\"layers_to_transform\":[0]", Q1, 8, 1 },
    { "\"target_modules\":[\"q_proj\"],\"layers_to_transform\":[1],\"layers_pattern\":\"blocks\"", Q1, 0, 0 },
    { "\"target_modules\":[\"q_proj\"],\"layers_to_transform\":[1],\"layers_pattern\":[\"blocks\",\"layers\"]", Q1, 8,
      1 },
    { "\"target_modules\":[\"q_proj\"],\"rank_pattern\":{\"q_proj\":2},\"alpha_pattern\":{\"q_proj\":5}", Q1, 2, 2.5 },
    { "\"target_modules\":[\"q_proj\"],\"rank_pattern\":{\"proj\":2}", Q1, 8, 1 },
    { "\"target_modules\":[\"q_proj\"],\"rank_pattern\":{\"1.*\":4,\".*q_proj\":2}", Q0, 2, 4 },
    { "\"target_modules\":[\"q_proj\"],\"rank_pattern\":{\"1.*\":4,\".*q_proj\":2}", Q11, 4, 2 },
    { "\"target_modules\":[\"q_proj\"],\"rank_pattern\":{\"layers.1.self_attn.q_proj|up_proj\":16}", Q1, 16, 0.5 },
    { "\"target_modules\":[\"lm_head\",\"q_proj\"],\"modules_to_save\":[\"lm_head\"]", HEAD, 0, 0 },
};

static void test_rules(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(rules); i++) {
        const struct rule *r = &rules[i];
        struct lora_config c;
        struct error err;
        float scale = 0;
        if (parse(&c, r->fields, &err))
            fail_msg("%s: %s", r->fields, err.text);
        int rank = lora_config_rank(&c, r->module, &scale, &err);
        if (rank != r->rank || (rank && fabs((double)scale - r->scale) > 1e-6))
            fail_msg("%s: %s has rank %d and scale %g, wanted %d and %g", r->fields, r->module, rank, (double)scale,
                     r->rank, r->scale);
        lora_config_release(&c);
    }
}

/* A new adapter's file by PEFT 0.21 is accepted, with fields left out or added. */
static void test_taken(void **state)
{
    const char *fields =
        "\"target_modules\":[\"q_proj\"],\"bias\":null,\"init_lora_weights\":\"eva\",\"eva_config\":{"
        "\"rho\":2.0},\"loftq_config\":{},\"megatron_config\":null,\"use_dora\":false,\"use_qalora\":"
        "false,\"qalora_group_size\":16,\"layer_replication\":[],\"target_parameters\":null,"
        "\"fan_in_fan_out\":true,\"base_model_name_or_path\":\"x/y\",\"lora_dropout\":0.25,"
        "\"runtime_config\":{\"ephemeral_gpu_offload\":true},\"inference_mode\":true,\"modules_to_save\":"
        "[],\"peft_version\":\"9\",\"alora_invocation_tokens\":null,\"lora_alpha\":0.5,\"r\":2";
    struct lora_config c;
    struct error err;

    (void)state;
    if (parse(&c, fields, &err))
        fail_msg("%s", err.text);
    assert_true(c.r == 2 && c.alpha == 0.5f && c.dropout == 0.25f && !c.rslora && !c.full_head);
    assert_string_equal(c.base, "x/y");
    lora_config_release(&c);
    lora_config_release(&c);
    assert_int_equal(c.r, 0);
}

#define TARGET "\"target_modules\":[\"q_proj\"]"

static const struct {
    const char *fields, *says;
} bad[] = {
    { "", "target_modules" },
    { "\"target_modules\":[]", "target_modules: expected a list of names, a pattern or \"all-linear\", got []" },
    { "\"target_modules\":null", "target_modules" },
    { "\"target_modules\":[1]", "target_modules" },
    { "\"target_modules\":[\"\"]", "target_modules" },
    { "\"target_modules\":\"(q_proj\"", "target_modules: pattern \"(q_proj\"" },
    { TARGET ",\"use_dora\":true", "use_dora: expected none (it changes what the adapter computes), got true" },
    { TARGET ",\"use_qalora\":true", "use_qalora" },
    { TARGET ",\"use_bdlora\":{\"nblocks\":2}", "use_bdlora" },
    { TARGET ",\"use_whatever_comes_next\":true", "use_whatever_comes_next" },
    { TARGET ",\"kasa_config\":{\"beta\":1}", "kasa_config" },
    { TARGET ",\"arrow_config\":{\"top_k\":3}", "arrow_config" },
    { TARGET ",\"monteclora_config\":{\"num_samples\":3}", "monteclora_config" },
    { TARGET ",\"bias\":\"all\"", "bias: expected \"none\", got \"all\"" },
    { TARGET ",\"bias\":true", "bias" },
    { TARGET ",\"lora_bias\":true", "lora_bias" },
    { TARGET ",\"layer_replication\":[[0,4],[2,5]]", "layer_replication" },
    { TARGET ",\"target_parameters\":[\"experts.down\"]", "target_parameters" },
    { TARGET ",\"alora_invocation_tokens\":[1,2]", "alora_invocation_tokens" },
    { TARGET ",\"trainable_token_indices\":{\"embed_tokens\":[0]}", "trainable_token_indices" },
    { TARGET ",\"ensure_weight_tying\":true", "ensure_weight_tying" },
    { TARGET ",\"init_lora_weights\":\"pissa_niter_16\"", "change the base's weights), got \"pissa_niter_16\"" },
    { TARGET ",\"init_lora_weights\":7", "init_lora_weights" },
    { TARGET ",\"modules_to_save\":[\"embed_tokens\"]",
      "modules_to_save: expected [\"lm_head\"] or null, got [\"embed_tokens\"]" },
    { TARGET ",\"modules_to_save\":[\"lm_head\",\"embed_tokens\"]", "modules_to_save" },
    { TARGET ",\"modules_to_save\":\"lm_head\"", "modules_to_save" },
    { TARGET ",\"r\":0", "r" },
    { TARGET ",\"r\":-4", "r" },
    { TARGET ",\"r\":1000000", "r" },
    { TARGET ",\"r\":99999999999", "r" },
    { TARGET ",\"r\":\"8\"", "r" },
    { TARGET ",\"lora_alpha\":\"NaN\"", "lora_alpha" },
    { TARGET ",\"lora_alpha\":1e30", "lora_alpha" },
    { TARGET ",\"lora_dropout\":1", "lora_dropout" },
    { TARGET ",\"lora_dropout\":-0.1", "lora_dropout" },
    { TARGET ",\"use_rslora\":1", "use_rslora" },
    { TARGET ",\"rank_pattern\":{\"q_proj\":0}", "rank_pattern: \"q_proj\"" },
    { TARGET ",\"rank_pattern\":{\"q_proj\":2.5}", "rank_pattern: \"q_proj\"" },
    { TARGET ",\"rank_pattern\":{\"q_(\":2}", "rank_pattern: pattern \"q_(\"" },
    { TARGET ",\"rank_pattern\":[2]", "rank_pattern" },
    { TARGET ",\"alpha_pattern\":{\"q_proj\":\"a\"}", "alpha_pattern: \"q_proj\"" },
    { TARGET ",\"layers_to_transform\":\"1\"", "layers_to_transform" },
    { TARGET ",\"layers_to_transform\":[-1]", "layers_to_transform" },
    { TARGET ",\"layers_to_transform\":[0],\"layers_pattern\":\"[\"", "layers_pattern: pattern \"[\"" },
    { "\"target_modules\":\".*\",\"layers_to_transform\":[0]", "layers_to_transform" },
    { TARGET ",\"exclude_modules\":3", "exclude_modules" },
    { TARGET ",\"base_model_name_or_path\":3", "base_model_name_or_path" },
};

static void test_refused(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct lora_config c;
        struct error err = { 0 };
        if (parse(&c, bad[i].fields, &err) == 0)
            fail_msg("accepted: %s", bad[i].fields);
        if (!strstr(err.text, bad[i].says) || strncmp(err.text, "adapter_config.json: ", 21))
            fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].says);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
        assert_true(c.r == 0 && !c.targets.n && !c.base);
    }
}

/* Not LoRA, not an object, not JSON, missing. */
static void test_other_files(void **state)
{
    char *dir = test_dir_new();
    static const struct {
        const char *text, *says;
    } files[] = {
        { "{\"target_modules\":[\"q_proj\"]}", "peft_type" },
        { "{\"peft_type\":\"ADALORA\",\"target_modules\":[\"q_proj\"]}",
          "peft_type: expected \"LORA\", got \"ADALORA\"" },
        { "[]", "expected a JSON object" },
        { "{\"peft_type\":\"LORA\",\"lora_alpha\":NaN}", "adapter_config.json" },
        { "{\"peft_type\":\"LORA\",\"r\":8,\"r\":9}", "duplicate" },
        { "{\"peft_type\":\"LORA\",", "adapter_config.json" },
        { "", "adapter_config.json" },
    };
    struct lora_config c;
    struct error err;

    (void)state;
    assert_int_equal(lora_config_read(&c, dir, &err), -1);
    assert_error(err, "adapter_config.json", "No such file");
    for (int i = 0; i < ARRAY_LEN(files); i++) {
        test_file(dir, "adapter_config.json", files[i].text);
        assert_int_equal(lora_config_read(&c, dir, &err), -1);
        assert_error(err, "adapter_config.json", files[i].says);
        assert_int_equal(err.code, EXIT_CODE_CHECKPOINT);
    }
    test_dir_remove(dir);
}

/* A pattern with exponential backtracking is abandoned with an error. */
static void test_hostile_pattern(void **state)
{
    struct lora_config c;
    struct error err;
    float scale;

    (void)state;
    assert_int_equal(parse(&c, "\"target_modules\":\"(([a-z]+|[a-z.]+)*)*[0-9]\"", &err), 0);
    assert_int_equal(lora_config_rank(&c, "model.layers.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.q_proj", &scale, &err), -1);
    assert_error(err, "gave up on model.layers.");
    lora_config_release(&c);
}

static void parse_fields(void *arg)
{
    struct lora_config c;
    struct error err;

    assert_int_equal(parse(&c, arg, &err), 0);
    lora_config_release(&c);
}

/* An unknown field causes a warning; fields that PEFT always writes do not. */
static void test_unknown_field(void **state)
{
    char fields[] = "\"target_modules\":[\"q_proj\"],\"new_trick\":0.5,\"peft_version\":\"0.21.0\",\"auto_mapping\":{"
                    "\"a\":\"b\"},\"loftq_config\":{\"x\":1},\"old_trick\":false";
    char *said = test_said(parse_fields, fields);

    (void)state;
    assert_non_null(strstr(said, "adapter_config.json: new_trick: unknown field"));
    assert_null(strstr(said, "peft_version"));
    assert_null(strstr(said, "auto_mapping"));
    assert_null(strstr(said, "old_trick"));
    free(said);
}

static void read_folder(void *arg)
{
    struct lora_config c;
    struct error err;

    assert_int_equal(lora_config_read(&c, arg, &err), 0);
    lora_config_release(&c);
}

/* PEFT 0.21 writes no field that is unknown here. */
static void test_known_fields(void **state)
{
    static const char *const folders[] = { "tests/gold/lora/every", "tests/gold/lora/regex",
                                           "tests/gold/llama/adapter" };

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
        cmocka_unit_test(test_rules),           cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_hostile_pattern), cmocka_unit_test(test_unknown_field),
        cmocka_unit_test(test_known_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
