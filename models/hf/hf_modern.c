/* Part of hf_config.h: the fields of a ModernBERT. */
#include "models/hf/hf_config_impl.h"

#include <string.h>

enum { MAX_WINDOW = 1 << 20 };
static const double LEAST_THETA = 1, MOST_THETA = 1e12;
static const char FULL[] = "full_attention", LOCAL[] = "sliding_attention";

/* Those of the classifier's and the masked language model's heads are of tensors that an encoder does not read. */
const char *const hf_modern_fields[] = {
    "hidden_activation",
    "norm_eps",
    "norm_bias",
    "attention_bias",
    "mlp_bias",
    "mlp_dropout",
    "embedding_dropout",
    "attention_dropout",
    "global_attn_every_n_layers",
    "local_attention",
    "global_rope_theta",
    "local_rope_theta",
    "rope_parameters",
    "rope_scaling",
    "layer_types",
    "initializer_cutoff_factor",
    "classifier_pooling",
    "classifier_bias",
    "classifier_activation",
    "decoder_bias",
    "sparse_prediction",
    "sparse_pred_ignore_index",
    "deterministic_flash_attn",
    "reference_compile",
    "repad_logits_with_grad",
    NULL,
};

/* What would make the same weights mean something else. */
static int check_kind(const struct config_fields *s)
{
    static const char *const false_ones[] = { "norm_bias", "attention_bias", "mlp_bias" };
    const char *activation = json_string_value(json_object_get(s->root, "hidden_activation"));

    for (int i = 0; i < ARRAY_LEN(false_ones); i++)
        if (!config_absent(s, false_ones[i]) && !json_is_false(json_object_get(s->root, false_ones[i])))
            return config_refuse(s, false_ones[i], "false");
    if (!config_absent(s, "hidden_activation") && (!activation || strcmp(activation, "gelu")))
        return config_refuse(s, "hidden_activation", "\"gelu\"");
    if (!config_absent(s, "rope_scaling"))
        return config_refuse(s, "rope_scaling", "none");
    return 0;
}

/* Of version 5: the first layer whole, and every so many after it. */
static int get_layer_types(struct bert_config *b, const struct config_fields *s)
{
    const json_t *types = json_object_get(s->root, "layer_types");
    int n = (int)json_array_size(types);

    if (!json_is_array(types) || n != b->layers)
        return config_refuse(s, "layer_types", "a list with a word for each layer");
    b->global_every = n;
    for (int i = n - 1; i > 0; i--) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        b->global_every = type && !strcmp(type, FULL) ? i : b->global_every;
    }
    for (int i = 0; i < n; i++) {
        const char *type = json_string_value(json_array_get(types, (size_t)i));
        if (!type || strcmp(type, i % b->global_every ? LOCAL : FULL))
            return config_refuse(s, "layer_types",
                                 "full_attention first and every so many layers, else sliding_attention");
    }
    return 0;
}

/* Version 5 has the base within rope_parameters. */
static int get_theta(const struct config_fields *s, const char *type, const char *older, float *theta)
{
    const json_t *all = json_object_get(s->root, "rope_parameters"), *own = json_object_get(all, type);
    struct config_fields in = { own, s->where, s->err };

    if (!json_is_object(own))
        return config_maybe_real(s, older, LEAST_THETA, MOST_THETA, theta);
    const char *form = json_string_value(json_object_get(own, "rope_type"));
    if (!config_absent(&in, "rope_type") && (!form || strcmp(form, "default")))
        return config_refuse(&in, "rope_type", "\"default\"");
    return config_maybe_real(&in, "rope_theta", LEAST_THETA, MOST_THETA, theta);
}

static int get_reals(struct bert_config *b, const struct config_fields *s)
{
    b->layer_norm_eps = 1e-5f;
    b->theta = 160000;
    if (get_theta(s, FULL, "global_rope_theta", &b->theta))
        return -1;
    b->local_theta = json_is_null(json_object_get(s->root, "local_rope_theta")) ? b->theta : 10000;
    return get_theta(s, LOCAL, "local_rope_theta", &b->local_theta) ||
                   config_maybe_real(s, "norm_eps", 1e-30, 1, &b->layer_norm_eps) ||
                   config_maybe_real(s, "mlp_dropout", 0, 0.99, &b->hidden_dropout) ||
                   config_maybe_real(s, "embedding_dropout", 0, 0.99, &b->embedding_dropout) ||
                   config_maybe_real(s, "attention_dropout", 0, 0.99, &b->attention_dropout)
               ? -1
               : 0;
}

int hf_modern_parse(struct bert_config *b, const struct config_fields *s)
{
    b->kind = MODERN_BERT;
    b->activation = ACT_GELU;
    b->window = 128;
    b->global_every = 3;
    if (check_kind(s) || config_maybe_int(s, "local_attention", 2, MAX_WINDOW, &b->window) ||
        config_maybe_int(s, "global_attn_every_n_layers", 1, MAX_WINDOW, &b->global_every) || get_reals(b, s))
        return -1;
    if (!config_absent(s, "layer_types") && get_layer_types(b, s))
        return -1;
    if (b->hidden_size / b->heads % 2)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: expected an even number of channels a head, got %d",
                         s->where, b->hidden_size / b->heads);
    return 0;
}

static json_t *rope_of(float theta)
{
    return json_pack("{s:s, s:o}", "rope_type", "default", "rope_theta", config_short_real(theta));
}

void hf_modern_write(json_t *o, const struct bert_config *b)
{
    json_t *types = json_array(), *rope = json_object();

    for (int i = 0; i < b->layers; i++)
        json_array_append_new(types, json_string(i % b->global_every ? LOCAL : FULL));
    json_object_set_new(rope, FULL, rope_of(b->theta));
    json_object_set_new(rope, LOCAL, rope_of(b->local_theta));
    json_object_set_new(o, "layer_types", types);
    json_object_set_new(o, "rope_parameters", rope);
    json_object_set_new(o, "global_attn_every_n_layers", json_integer(b->global_every));
    json_object_set_new(o, "global_rope_theta", config_short_real(b->theta));
    json_object_set_new(o, "local_rope_theta", config_short_real(b->local_theta));
    json_object_set_new(o, "local_attention", json_integer(b->window));
    json_object_set_new(o, "hidden_activation", json_string("gelu"));
    json_object_set_new(o, "norm_eps", config_short_real(b->layer_norm_eps));
    json_object_set_new(o, "norm_bias", json_false());
    json_object_set_new(o, "attention_bias", json_false());
    json_object_set_new(o, "mlp_bias", json_false());
    json_object_set_new(o, "mlp_dropout", config_short_real(b->hidden_dropout));
    json_object_set_new(o, "embedding_dropout", config_short_real(b->embedding_dropout));
    json_object_set_new(o, "attention_dropout", config_short_real(b->attention_dropout));
    json_object_set_new(o, "classifier_pooling", json_string("cls"));
    json_object_set_new(o, "classifier_activation", json_string("gelu"));
    json_object_set_new(o, "classifier_bias", json_false());
}
