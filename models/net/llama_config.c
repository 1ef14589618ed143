#include "models/net/llama_config.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "models/net/lm_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "model.embed_tokens.weight"

enum { MAX_WIDTH = 1 << 20, MAX_VOCAB = 1 << 24, MAX_POSITIONS = 1 << 27 };

/* The parts of a family's networks, and the fields that its config.json may have. */
enum trait {
    READS_ATTENTION_BIAS = 1 << 0,
    READS_MLP_BIAS = 1 << 1,
    HAS_QKV_BIAS = 1 << 2,    /* always on the products of q, k and v, and never on the output's */
    HAS_WINDOW = 1 << 3,      /* unless sliding_window is null */
    ASKS_FOR_WINDOW = 1 << 4, /* use_sliding_window decides */
    LISTS_LAYERS = 1 << 5,    /* layer_types may say which layers have the window */
    IS_TIED = 1 << 6,         /* by default */
    HAS_QK_NORM = 1 << 7,
    HAS_GELU = 1 << 8,             /* its tanh formula, in place of silu */
    HAS_SCALED_EMBEDDING = 1 << 9, /* by the root of the width; norms multiply by 1 + weight */
    HAS_OUT_NORMS = 1 << 10,       /* norms after attention and feed-forward */
    HAS_SOFTCAPS = 1 << 11,        /* of scores and logits, and a divisor of scores */
};

/* A family has one row: all differences from another family are in its columns.  Numbers are the defaults of missing
 * fields, as in transformers. */
static const struct kind {
    const char *type, *architecture, *gguf; /* gguf: in files of llama.cpp */
    int head_dim;                           /* 0: hidden_size / heads */
    int groups;                             /* 0: heads */
    int max_positions;
    int window_first, window_step; /* without a list, every step-th layer from the first one on has the window */
    int traits;                    /* of enum trait */
} kinds[] = {
    [LLAMA] = { "llama", "LlamaForCausalLM", "llama", 0, 0, 2048, 0, 1,
                READS_ATTENTION_BIAS | READS_MLP_BIAS | LISTS_LAYERS },
    [QWEN2] = { "qwen2", "Qwen2ForCausalLM", "qwen2", 0, 0, 32768, 28, 1,
                READS_ATTENTION_BIAS | HAS_QKV_BIAS | ASKS_FOR_WINDOW | LISTS_LAYERS },
    [QWEN3] = { "qwen3", "Qwen3ForCausalLM", "qwen3", 128, 0, 32768, 28, 1,
                READS_ATTENTION_BIAS | ASKS_FOR_WINDOW | LISTS_LAYERS | HAS_QK_NORM },
    [MISTRAL] = { "mistral", "MistralForCausalLM", "llama", 0, 8, 131072, 0, 1, HAS_WINDOW },
    [GEMMA2] = { "gemma2", "Gemma2ForCausalLM", "gemma2", 256, 4, 8192, 0, 2,
                 READS_ATTENTION_BIAS | HAS_WINDOW | LISTS_LAYERS | IS_TIED | HAS_GELU | HAS_SCALED_EMBEDDING |
                     HAS_OUT_NORMS | HAS_SOFTCAPS },
};

static bool has(const struct llama_config *c, int traits)
{
    return (kinds[c->kind].traits & traits) != 0;
}

/* Fields that are read here, or that have no effect here. */
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
    "hidden_activation",
    "attention_dropout",
    "sliding_window",
    "use_sliding_window",
    "layer_types",
    "quantization_config",
    "partial_rotary_factor",
    "pretraining_tp",
    "max_window_layers",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "cache_implementation",
    NULL,
};

static const struct foreign_field foreign[] = {
    { "quantization_config", 0 },
    { "attention_dropout", 0 },
    { "num_experts", 0 },
    { "num_local_experts", 0 },
    { "kv_lora_rank", 0 },
    { "attention_multiplier", 1 },
    { "embedding_multiplier", 1 },
    { "residual_multiplier", 1 },
    { "logits_scaling", 1 },
    { "logit_scale", 1 },
    { "clip_qkv", 0 },
    { "partial_rotary_factor", 1 },
    { "no_rope_layers", 0 },
    { "attention_chunk_size", 0 },
    { "is_encoder_decoder", 0 },
    { "use_mrope", 0 },
    { "add_cross_attention", 0 },
    { "use_bidirectional_attention", 0 },
    { 0 },
};

/* Fields of networks with softcaps. Other networks with these fields are unsupported. */
static const struct foreign_field softcap_only[] = {
    { "query_pre_attn_scalar", 0 },
    { "attn_logit_softcapping", 0 },
    { "final_logit_softcapping", 0 },
    { 0 },
};

static int get_kind(struct llama_config *c, const struct config_fields *s)
{
    const char *type = json_string_value(json_object_get(s->root, "model_type"));
    const json_t *list = json_object_get(s->root, "architectures");
    const char *architecture = json_string_value(json_array_get(list, 0));
    char known[256];

    for (int i = 0; type && i < ARRAY_LEN(kinds); i++)
        if (!strcmp(type, kinds[i].type)) {
            c->kind = (enum llama_kind)i;
            if (architecture && strcmp(architecture, kinds[i].architecture))
                return config_refuse(s, "architectures", kinds[i].architecture);
            return 0;
        }
    snprintf(known, sizeof known, "one of");
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s \"%s\"", i ? "," : "", kinds[i].type);
    return config_refuse(s, "model_type", known);
}

static int get_sizes(struct llama_config *c, const struct config_fields *s)
{
    if (config_int(s, "vocab_size", 1, MAX_VOCAB, &c->vocab_size) ||
        config_int(s, "hidden_size", 1, MAX_WIDTH, &c->hidden_size) ||
        config_int(s, "intermediate_size", 1, MAX_WIDTH, &c->intermediate_size) ||
        config_int(s, "num_hidden_layers", 1, LLAMA_MAX_LAYERS, &c->layers) ||
        config_int(s, "num_attention_heads", 1, MAX_WIDTH, &c->heads))
        return -1;
    c->groups = kinds[c->kind].groups ? kinds[c->kind].groups : c->heads;
    c->head_dim = kinds[c->kind].head_dim ? kinds[c->kind].head_dim : c->hidden_size / c->heads;
    c->max_positions = kinds[c->kind].max_positions;
    return config_maybe_int(s, "num_key_value_heads", 1, c->heads, &c->groups) ||
                   config_maybe_int(s, "head_dim", 1, MAX_WIDTH, &c->head_dim) ||
                   config_maybe_int(s, "max_position_embeddings", 1, MAX_POSITIONS, &c->max_positions)
               ? -1
               : 0;
}

static int check_heads(const struct llama_config *c, const struct config_fields *s)
{
    if (config_absent(s, "head_dim") && !kinds[c->kind].head_dim && c->hidden_size % c->heads)
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

    c->tied = has(c, IS_TIED);
    if ((has(c, READS_ATTENTION_BIAS) && config_maybe_bool(s, "attention_bias", &attention)) ||
        (has(c, READS_MLP_BIAS) && config_maybe_bool(s, "mlp_bias", &c->mlp_bias)) ||
        config_maybe_bool(s, "tie_word_embeddings", &c->tied))
        return -1;
    c->qkv_bias = has(c, HAS_QKV_BIAS) || attention;
    c->out_bias = !has(c, HAS_QKV_BIAS) && attention;
    c->qk_norm = has(c, HAS_QK_NORM);
    return 0;
}

static int get_gate(struct llama_config *c, const struct config_fields *s)
{
    bool gelu = has(c, HAS_GELU);
    const char *field = gelu && !config_absent(s, "hidden_activation") ? "hidden_activation" : "hidden_act";
    const char *act = json_string_value(json_object_get(s->root, field));

    c->gate = gelu ? GATE_GELU : GATE_SILU;
    if (config_absent(s, field) || (act && !strcmp(act, gelu ? "gelu_pytorch_tanh" : "silu")))
        return 0;
    return config_refuse(s, field, gelu ? "\"gelu_pytorch_tanh\"" : "\"silu\"");
}

/* Sets the layers with a window if the file does not list them. */
static int window_layers(struct llama_config *c, const struct config_fields *s)
{
    int from = kinds[c->kind].window_first;

    if (has(c, ASKS_FOR_WINDOW) && config_maybe_int(s, "max_window_layers", 0, INT32_MAX, &from))
        return -1;
    for (int i = from; i < c->layers; i += kinds[c->kind].window_step)
        c->windowed[i] = true;
    return 0;
}

/* layer_types: one of two words for each layer. */
static int name_layers(struct llama_config *c, const struct config_fields *s)
{
    const json_t *types = json_object_get(s->root, "layer_types");

    if (json_array_size(types) != (size_t)c->layers)
        return config_refuse(s, "layer_types", "a word for each of num_hidden_layers");
    for (int i = 0; i < c->layers; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        c->windowed[i] = type && !strcmp(type, "sliding_attention");
        if (!type || (!c->windowed[i] && strcmp(type, "full_attention")))
            return config_refuse(s, "layer_types", "\"full_attention\" or \"sliding_attention\" for every layer");
        if (c->windowed[i] && c->window == 0)
            return config_refuse(s, "layer_types", "\"full_attention\" for every layer of a model without a window");
    }
    return 0;
}

static int get_windows(struct llama_config *c, const struct config_fields *s)
{
    bool used = has(c, HAS_WINDOW), asks = has(c, ASKS_FOR_WINDOW);

    if (asks && config_maybe_bool(s, "use_sliding_window", &used))
        return -1;
    if (!asks && !lm_config_harmless(json_object_get(s->root, "use_sliding_window"), 0))
        return config_refuse(s, "use_sliding_window", "none or false");
    if (used && !json_is_null(json_object_get(s->root, "sliding_window"))) {
        c->window = 4096;
        if (config_maybe_int(s, "sliding_window", 1, MAX_POSITIONS, &c->window) || window_layers(c, s))
            return -1;
    }
    return config_absent(s, "layer_types") || !has(c, LISTS_LAYERS) ? 0 : name_layers(c, s);
}

/* A missing softcap has the given value; null means none. */
static int get_cap(const struct config_fields *s, const char *field, float usual, float *cap)
{
    *cap = json_is_null(json_object_get(s->root, field)) ? 0 : usual;
    return config_maybe_real(s, field, 1e-3, 1e9, cap);
}

static int get_scales(struct llama_config *c, const struct config_fields *s)
{
    c->out_norms = has(c, HAS_OUT_NORMS);
    c->norms_less_one = has(c, HAS_SCALED_EMBEDDING);
    c->embedding_scale = has(c, HAS_SCALED_EMBEDDING) ? sqrtf((float)c->hidden_size) : 0;
    if (!has(c, HAS_SOFTCAPS))
        return lm_config_foreign(s, softcap_only);
    c->query_scalar = 256;
    return config_maybe_real(s, "query_pre_attn_scalar", 1e-3, 1e9, &c->query_scalar) ||
                   get_cap(s, "attn_logit_softcapping", 50, &c->score_cap) ||
                   get_cap(s, "final_logit_softcapping", 30, &c->logit_cap)
               ? -1
               : 0;
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

/* Reads the object with RoPE settings. New files have theta in it, old ones beside it. */
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

/* Of two objects, transformers uses the one with the older name. */
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

/* Warns about fields that another architecture reads. transformers ignores them silently. */
static void tell_passed_over(const struct llama_config *c, const struct config_fields *s)
{
    static const struct {
        const char *field;
        int traits; /* a family with one of them reads the field */
    } fields[] = {
        { "mlp_bias", READS_MLP_BIAS },
        { "attention_bias", READS_ATTENTION_BIAS },
        { "sliding_window", HAS_WINDOW | ASKS_FOR_WINDOW },
        { "max_window_layers", ASKS_FOR_WINDOW },
        { "layer_types", LISTS_LAYERS },
        { "hidden_activation", HAS_GELU },
    };

    for (int i = 0; i < ARRAY_LEN(fields); i++)
        if (!has(c, fields[i].traits) && !lm_config_harmless(json_object_get(s->root, fields[i].field), 0))
            log_warn("%s: %s: a field that model_type %s does not have; ignored", s->where, fields[i].field,
                     kinds[c->kind].type);
}

const char *llama_config_gguf(const struct llama_config *c)
{
    return kinds[c->kind].gguf;
}

int llama_config_parse(struct llama_config *c, const json_t *root, const char *where, struct error *err)
{
    struct config_fields s = { root, where, err };

    *c = (struct llama_config){ .rms_norm_eps = 1e-6f, .initializer_range = 0.02f };
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: not a JSON object", where);
    if (get_kind(c, &s) || lm_config_foreign(&s, foreign) || get_sizes(c, &s) || check_heads(c, &s) ||
        get_biases(c, &s) || get_gate(c, &s) || get_windows(c, &s) || get_scales(c, &s) || get_rope(c, &s) ||
        lm_config_dtype(&s, &c->dtype) || lm_config_stops(&s, c->vocab_size, c->stops, &c->n_stops) ||
        config_maybe_real(&s, "rms_norm_eps", 1e-30, 1, &c->rms_norm_eps) ||
        config_maybe_real(&s, "initializer_range", 0, 1e3, &c->initializer_range))
        return -1;
    lm_config_unknown(&s, own, foreign);
    tell_passed_over(c, &s);
    return 0;
}

/* Unties the head if the weights contain a different one. Without weights, config.json decides. */
static int look_at_head(struct llama_config *c, const struct config_fields *s, const char *dir)
{
    struct safetensors weights;

    if (!c->tied || !safetensors_in(dir))
        return 0;
    if (safetensors_open(&weights, dir, s->err))
        return -1;
    c->tied = !lm_config_own_head(&weights, safetensors_find(&weights, TABLE));
    if (!c->tied)
        log_warn("%s: the head is tied to " TABLE ", but %s has a different lm_head.weight, which is used as in "
                 "transformers 5",
                 s->where, weights.path);
    safetensors_close(&weights);
    return 0;
}

int llama_config_read(struct llama_config *c, const char *dir, struct error *err)
{
    char *path;
    json_t *root = config_open(dir, "config.json", &path, err);
    const struct config_fields s = { root, path, err };
    int rc = root ? llama_config_parse(c, root, path, err) : -1;

    if (rc == 0)
        rc = lm_config_more_stops(dir, c->vocab_size, c->stops, &c->n_stops, err);
    if (rc == 0)
        rc = look_at_head(c, &s, dir);
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

static json_t *cap_to_json(float cap)
{
    return cap > 0 ? config_short_real(cap) : json_null();
}

static void set_windows(json_t *o, const struct llama_config *c)
{
    json_t *types = json_array();

    for (int i = 0; i < c->layers; i++)
        json_array_append_new(types, json_string(c->windowed[i] ? "sliding_attention" : "full_attention"));
    json_object_set_new(o, "sliding_window", c->window ? json_integer(c->window) : json_null());
    if (has(c, ASKS_FOR_WINDOW))
        json_object_set_new(o, "use_sliding_window", json_boolean(c->window > 0));
    if (has(c, LISTS_LAYERS))
        json_object_set(o, "layer_types", types);
    json_decref(types);
}

static void set_softcaps(json_t *o, const struct llama_config *c)
{
    bool whole = c->query_scalar == rintf(c->query_scalar); /* transformers 5 expects an integer */

    json_object_set_new(o, "query_pre_attn_scalar",
                        whole ? json_integer((json_int_t)c->query_scalar) : config_short_real(c->query_scalar));
    json_object_set_new(o, "attn_logit_softcapping", cap_to_json(c->score_cap));
    json_object_set_new(o, "final_logit_softcapping", cap_to_json(c->logit_cap));
}

static void set_rest(json_t *o, const struct llama_config *c)
{
    json_object_set_new(o, "eos_token_id", lm_config_stops_json(c->stops, c->n_stops));
    json_object_set_new(o, "rms_norm_eps", config_short_real(c->rms_norm_eps));
    json_object_set_new(o, "initializer_range", config_short_real(c->initializer_range));
    json_object_set_new(o, "rope_theta", config_short_real(c->rope.theta));
    json_object_set_new(o, "rope_scaling", rope_to_json(&c->rope));
    if (has(c, READS_ATTENTION_BIAS) && !has(c, HAS_QKV_BIAS))
        json_object_set_new(o, "attention_bias", json_boolean(c->qkv_bias));
    if (has(c, READS_MLP_BIAS))
        json_object_set_new(o, "mlp_bias", json_boolean(c->mlp_bias));
    if (has(c, HAS_WINDOW | ASKS_FOR_WINDOW))
        set_windows(o, c);
    if (has(c, HAS_GELU))
        json_object_set_new(o, "hidden_activation", json_string("gelu_pytorch_tanh"));
    if (has(c, HAS_SOFTCAPS))
        set_softcaps(o, c);
}

int llama_config_write(const struct llama_config *c, const char *dir, enum dtype stored, struct error *err)
{
    char *path = path_in(dir, "config.json");
    json_t *o = json_pack("{s:[s], s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:s}", "architectures",
                          kinds[c->kind].architecture, "model_type", kinds[c->kind].type, "vocab_size", c->vocab_size,
                          "hidden_size", c->hidden_size, "intermediate_size", c->intermediate_size, "num_hidden_layers",
                          c->layers, "num_attention_heads", c->heads, "num_key_value_heads", c->groups, "head_dim",
                          c->head_dim, "max_position_embeddings", c->max_positions, "hidden_act",
                          c->gate == GATE_GELU ? "gelu_pytorch_tanh" : "silu", "tie_word_embeddings", c->tied,
                          "torch_dtype", stored == BF16 ? "bfloat16" : "float32");

    set_rest(o, c);
    int rc = json_write_file(path, o, err);
    json_decref(o);
    free(path);
    return rc;
}

/* Llama 3.1's rule: slow frequencies are divided by the factor, fast ones are kept, the others are interpolated. */
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
