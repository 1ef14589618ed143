#include "models/net/llama_config.h"

#include "data/util/json.h"
#include "models/net/lm_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 1 << 20, MAX_VOCAB = 1 << 24, MAX_LAYERS = 1000, MAX_POSITIONS = 1 << 27 };

static const struct kind {
    const char *type, *architecture;
} kinds[] = {
    [LLAMA] = { "llama", "LlamaForCausalLM" },
    [QWEN2] = { "qwen2", "Qwen2ForCausalLM" },
    [QWEN3] = { "qwen3", "Qwen3ForCausalLM" },
};

/* Fields that are read here, or that change nothing here. */
static const char *const own[] = {
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "max_position_embeddings",
    "rms_norm_eps",
    "attention_bias",
    "mlp_bias",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "hidden_act",
    "attention_dropout",
    "sliding_window",
    "use_sliding_window",
    "layer_types",
    "quantization_config",
    "partial_rotary_factor",
    "pretraining_tp",
    "max_window_layers",
    NULL,
};

static const struct foreign_field foreign[] = {
    { "quantization_config", 0 },
    { "use_sliding_window", 0 },
    { "attention_dropout", 0 },
    { "num_experts", 0 },
    { "num_local_experts", 0 },
    { "kv_lora_rank", 0 },
    { "attention_multiplier", 1 },
    { "embedding_multiplier", 1 },
    { "residual_multiplier", 1 },
    { "logits_scaling", 1 },
    { "logit_scale", 1 },
    { "query_pre_attn_scalar", 0 },
    { "attn_logit_softcapping", 0 },
    { "clip_qkv", 0 },
    { "final_logit_softcapping", 0 },
    { "partial_rotary_factor", 1 },
    { "no_rope_layers", 0 },
    { "attention_chunk_size", 0 },
    { "is_encoder_decoder", 0 },
    { "use_mrope", 0 },
    { "add_cross_attention", 0 },
    { 0 },
};

static int get_kind(struct llama_config *c, const struct config_fields *s)
{
    const char *type = json_string_value(json_object_get(s->root, "model_type"));
    const json_t *list = json_object_get(s->root, "architectures");
    const char *architecture = json_string_value(json_array_get(list, 0));

    for (int i = 0; type && i < ARRAY_LEN(kinds); i++)
        if (!strcmp(type, kinds[i].type)) {
            c->kind = (enum llama_kind)i;
            if (architecture && strcmp(architecture, kinds[i].architecture))
                return config_refuse(s, "architectures", kinds[i].architecture);
            return 0;
        }
    return config_refuse(s, "model_type", "\"llama\", \"qwen2\" or \"qwen3\"");
}

static int get_sizes(struct llama_config *c, const struct config_fields *s)
{
    if (config_int(s, "vocab_size", 1, MAX_VOCAB, &c->vocab_size) ||
        config_int(s, "hidden_size", 1, MAX_WIDTH, &c->hidden_size) ||
        config_int(s, "intermediate_size", 1, MAX_WIDTH, &c->intermediate_size) ||
        config_int(s, "num_hidden_layers", 1, MAX_LAYERS, &c->layers) ||
        config_int(s, "num_attention_heads", 1, MAX_WIDTH, &c->heads))
        return -1;
    c->groups = c->heads;
    c->head_dim = c->kind == QWEN3 ? 128 : c->hidden_size / c->heads;
    c->max_positions = c->kind == LLAMA ? 2048 : 32768;
    return config_maybe_int(s, "num_key_value_heads", 1, c->heads, &c->groups) ||
                   config_maybe_int(s, "head_dim", 1, MAX_WIDTH, &c->head_dim) ||
                   config_maybe_int(s, "max_position_embeddings", 1, MAX_POSITIONS, &c->max_positions)
               ? -1
               : 0;
}

static int check_heads(const struct llama_config *c, const struct config_fields *s)
{
    if (config_absent(s, "head_dim") && c->kind != QWEN3 && c->hidden_size % c->heads)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: hidden_size %d is not a multiple of num_attention_heads %d",
                         s->where, c->hidden_size, c->heads);
    if (c->heads % c->groups)
        return error_set(s->err, EXIT_CODE_CHECKPOINT,
                         "%s: num_attention_heads %d is not a multiple of num_key_value_heads %d", s->where, c->heads,
                         c->groups);
    if (c->head_dim % 8 || c->head_dim > 256)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: head_dim: expected a multiple of 8 up to 256, got %d",
                         s->where, c->head_dim);
    return 0;
}

static int get_biases(struct llama_config *c, const struct config_fields *s)
{
    bool attention = false;

    if (config_maybe_bool(s, "attention_bias", &attention) ||
        (c->kind == LLAMA && config_maybe_bool(s, "mlp_bias", &c->mlp_bias)) ||
        config_maybe_bool(s, "tie_word_embeddings", &c->tied))
        return -1;
    c->qkv_bias = c->kind == QWEN2 || attention;
    c->out_bias = c->kind != QWEN2 && attention;
    return 0;
}

static int check_layers(const struct config_fields *s)
{
    const json_t *types = json_object_get(s->root, "layer_types");
    const char *act = json_string_value(json_object_get(s->root, "hidden_act"));

    if (!config_absent(s, "hidden_act") && (!act || strcmp(act, "silu")))
        return config_refuse(s, "hidden_act", "\"silu\"");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *type = json_string_value(json_array_get(types, i));
        if (!type || strcmp(type, "full_attention"))
            return config_refuse(s, "layer_types", "\"full_attention\" for every layer");
    }
    return 0;
}

static int get_llama3(struct llama_rope *r, const struct config_fields *s)
{
    if (config_real(s, "low_freq_factor", 1e-3, 1e6, &r->low) ||
        config_real(s, "high_freq_factor", 1e-3, 1e6, &r->high) ||
        config_int(s, "original_max_position_embeddings", 1, MAX_POSITIONS, &r->original))
        return -1;
    if (r->high <= r->low)
        return config_refuse(s, "high_freq_factor", "more than low_freq_factor");
    return 0;
}

static int check_members(const struct config_fields *s)
{
    json_t *o = (json_t *)(uintptr_t)s->root;

    for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at))
        if (json_is_object(json_object_iter_value(at)))
            return config_refuse(s, json_object_iter_key(at), "one set of rotary parameters for every layer");
    return 0;
}

/* The object that says how positions turn; today's files have theta in it, older ones beside it. */
static int get_scaling(struct llama_rope *r, const struct config_fields *s)
{
    const char *field = config_absent(s, "rope_type") ? "type" : "rope_type";
    const char *type = json_string_value(json_object_get(s->root, field));

    if (check_members(s) || config_maybe_real(s, "rope_theta", 1, 1e12, &r->theta))
        return -1;
    if (!lm_config_harmless(json_object_get(s->root, "partial_rotary_factor"), 1))
        return config_refuse(s, "partial_rotary_factor", "1");
    if (config_absent(s, field) || (type && !strcmp(type, "default")))
        return 0;
    if (!type || (strcmp(type, "llama3") && strcmp(type, "linear")))
        return config_refuse(s, field, "\"default\", \"linear\" or \"llama3\"");
    r->kind = strcmp(type, "linear") ? ROPE_LLAMA3 : ROPE_LINEAR;
    if (config_real(s, "factor", 1, 1e6, &r->factor))
        return -1;
    return r->kind == ROPE_LLAMA3 ? get_llama3(r, s) : 0;
}

/* Of two objects transformers takes the older name's. */
static int get_rope(struct llama_config *c, const struct config_fields *s)
{
    const char *field = config_absent(s, "rope_scaling") ? "rope_parameters" : "rope_scaling";
    const json_t *o = json_object_get(s->root, field);
    char where[512];

    c->rope = (struct llama_rope){ .theta = 10000 };
    if (config_maybe_real(s, "rope_theta", 1, 1e12, &c->rope.theta))
        return -1;
    if (config_absent(s, field))
        return 0;
    if (!json_is_object(o))
        return config_refuse(s, field, "an object");
    snprintf(where, sizeof where, "%.400s: %s", s->where, field);
    return get_scaling(&c->rope, &(struct config_fields){ o, where, s->err });
}

int llama_config_parse(struct llama_config *c, const json_t *root, const char *where, struct error *err)
{
    struct config_fields s = { root, where, err };

    *c = (struct llama_config){ .rms_norm_eps = 1e-6f, .initializer_range = 0.02f };
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: not a JSON object", where);
    if (get_kind(c, &s) || lm_config_foreign(&s, foreign) || get_sizes(c, &s) || check_heads(c, &s) ||
        get_biases(c, &s) || check_layers(&s) || get_rope(c, &s) || lm_config_dtype(&s, &c->dtype) ||
        lm_config_stops(&s, c->vocab_size, c->stops, &c->n_stops) ||
        config_maybe_real(&s, "rms_norm_eps", 1e-30, 1, &c->rms_norm_eps) ||
        config_maybe_real(&s, "initializer_range", 0, 1e3, &c->initializer_range))
        return -1;
    lm_config_unknown(&s, own, foreign);
    return 0;
}

int llama_config_read(struct llama_config *c, const char *dir, struct error *err)
{
    char *path;
    json_t *root = config_open(dir, "config.json", &path, err);
    int rc = root ? llama_config_parse(c, root, path, err) : -1;

    if (rc == 0)
        rc = lm_config_more_stops(dir, c->vocab_size, c->stops, &c->n_stops, err);
    json_decref(root);
    free(path);
    return rc;
}

static json_t *rope_to_json(const struct llama_rope *r)
{
    static const char *const names[] = { [ROPE_LINEAR] = "linear", [ROPE_LLAMA3] = "llama3" };

    if (r->kind == ROPE_PLAIN)
        return json_null();
    json_t *o = json_pack("{s:s, s:o}", "rope_type", names[r->kind], "factor", config_short_real(r->factor));
    if (r->kind == ROPE_LLAMA3) {
        json_object_set_new(o, "low_freq_factor", config_short_real(r->low));
        json_object_set_new(o, "high_freq_factor", config_short_real(r->high));
        json_object_set_new(o, "original_max_position_embeddings", json_integer(r->original));
    }
    return o;
}

static void set_rest(json_t *o, const struct llama_config *c)
{
    json_object_set_new(o, "eos_token_id", lm_config_stops_json(c->stops, c->n_stops));
    json_object_set_new(o, "rms_norm_eps", config_short_real(c->rms_norm_eps));
    json_object_set_new(o, "initializer_range", config_short_real(c->initializer_range));
    json_object_set_new(o, "rope_theta", config_short_real(c->rope.theta));
    json_object_set_new(o, "rope_scaling", rope_to_json(&c->rope));
    if (c->kind != QWEN2)
        json_object_set_new(o, "attention_bias", json_boolean(c->qkv_bias));
    if (c->kind == LLAMA)
        json_object_set_new(o, "mlp_bias", json_boolean(c->mlp_bias));
}

int llama_config_write(const struct llama_config *c, const char *dir, enum dtype stored, struct error *err)
{
    char *path = path_in(dir, "config.json");
    json_t *o = json_pack("{s:[s], s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:s}", "architectures",
                          kinds[c->kind].architecture, "model_type", kinds[c->kind].type, "vocab_size", c->vocab_size,
                          "hidden_size", c->hidden_size, "intermediate_size", c->intermediate_size, "num_hidden_layers",
                          c->layers, "num_attention_heads", c->heads, "num_key_value_heads", c->groups, "head_dim",
                          c->head_dim, "max_position_embeddings", c->max_positions, "hidden_act", "silu",
                          "tie_word_embeddings", c->tied, "torch_dtype", stored == BF16 ? "bfloat16" : "float32");

    set_rest(o, c);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    free(path);
    return rc;
}

/* A slow frequency is divided by the factor, a fast one stays, those between are mixed (Llama 3.1's own rule). */
static float stretch(const struct llama_rope *r, float freq)
{
    float wavelength = 6.2831853071795864769f / freq, original = (float)r->original;

    if (wavelength > original / r->low)
        return freq / r->factor;
    if (wavelength < original / r->high)
        return freq;
    float smooth = (original / wavelength - r->low) / (r->high - r->low);
    return (1 - smooth) * freq / r->factor + smooth * freq;
}

void llama_rope_freqs(const struct llama_config *c, float *freqs)
{
    for (int j = 0; j < c->head_dim / 2; j++) {
        float freq = 1.0f / powf(c->rope.theta, (float)(2 * j) / (float)c->head_dim);
        if (c->rope.kind == ROPE_LLAMA3)
            freq = stretch(&c->rope, freq);
        freqs[j] = c->rope.kind == ROPE_LINEAR ? freq / c->rope.factor : freq;
    }
}
