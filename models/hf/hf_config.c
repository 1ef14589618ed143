#include "models/hf/hf_config.h"

#include "data/base/json.h"
#include "models/io/config_fields.h"
#include "models/net/lm_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ModernBERT (Warner et al. 2024). */

enum { MAX_WINDOW = 1 << 20 };
static const double MIN_THETA = 1, MAX_THETA = 1e12;
static const char FULL[] = "full_attention", LOCAL[] = "sliding_attention";

/* Settings of ModernBERT, ends with NULL. Those of the classifier's and the masked language model's heads concern
 * tensors that an encoder does not read. */
static const char *const modern_fields[] = {
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

/* Refuses settings that change the meaning of the weights. */
static int check_modern(const struct config_fields *s)
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

/* Reads layer_types of version 5: global attention in layer 0 and every n-th layer after it. */
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

/* Version 5 has the RoPE base in rope_parameters. */
static int get_theta(const struct config_fields *s, const char *type, const char *older, float *theta)
{
    const json_t *all = json_object_get(s->root, "rope_parameters"), *own = json_object_get(all, type);
    struct config_fields in = { own, s->where, s->err };

    if (!json_is_object(own))
        return config_maybe_real(s, older, MIN_THETA, MAX_THETA, theta);
    const char *form = json_string_value(json_object_get(own, "rope_type"));
    if (!config_absent(&in, "rope_type") && (!form || strcmp(form, "default")))
        return config_refuse(&in, "rope_type", "\"default\"");
    return config_maybe_real(&in, "rope_theta", MIN_THETA, MAX_THETA, theta);
}

static int get_modern_reals(struct bert_config *b, const struct config_fields *s)
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

/* Reads the settings that differ from BERT's. */
static int parse_modern(struct bert_config *b, const struct config_fields *s)
{
    b->kind = MODERN_BERT;
    b->activation = ACT_GELU;
    b->window = 128;
    b->global_every = 3;
    if (check_modern(s) || config_maybe_int(s, "local_attention", 2, MAX_WINDOW, &b->window) ||
        config_maybe_int(s, "global_attn_every_n_layers", 1, MAX_WINDOW, &b->global_every) || get_modern_reals(b, s))
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

/* Writes the settings with the names of versions 4 and 5. */
static void set_modern(json_t *o, const struct bert_config *b)
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

enum { MAX_WIDTH = 1 << 20, MAX_LAYERS = 1000, MAX_LABELS = 1 << 20 };

static const struct {
    const char *name;
    enum activation activation;
} activations[] = {
    { "gelu", ACT_GELU }, { "gelu_new", ACT_GELU_TANH }, { "relu", ACT_RELU },
    { "tanh", ACT_TANH }, { "gelu_python", ACT_GELU },   { "gelu_pytorch_tanh", ACT_GELU_TANH },
};

/* Settings that are read here, or that do not change the numbers of an encoder. ambit does not use Hugging Face's
 * pooler. */
static const char *const own[] = {
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "hidden_act",
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "layer_norm_eps",
    "position_embedding_type",
    "classifier_dropout",
    "quantization_config",
    "num_labels",
    "gradient_checkpointing",
    "output_past",
    "directionality",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "pooler_type",
    "mask_token_id",
    "cls_token_id",
    "unk_token_id",
    NULL,
};

static int get_sizes(struct bert_config *b, const struct config_fields *s)
{
    b->max_positions = b->kind == MODERN_BERT ? 8192 : 512;
    b->type_vocab_size = b->kind == MODERN_BERT ? 1 : 2;
    if (config_int(s, "vocab_size", 1, MAX_WIDTH * 16, &b->vocab_size) ||
        config_int(s, "hidden_size", 1, MAX_WIDTH, &b->hidden_size) ||
        config_int(s, "num_hidden_layers", 1, MAX_LAYERS, &b->layers) ||
        config_int(s, "num_attention_heads", 1, MAX_WIDTH, &b->heads) ||
        config_int(s, "intermediate_size", 1, MAX_WIDTH, &b->intermediate_size) ||
        config_maybe_int(s, "max_position_embeddings", 1, MAX_WIDTH, &b->max_positions))
        return -1;
    return b->kind == MODERN_BERT ? 0 : config_maybe_int(s, "type_vocab_size", 1, MAX_WIDTH, &b->type_vocab_size);
}

/* The attention kernels support heads up to HEAD_DIM_MAX. */
static int check_heads(const struct bert_config *b, const struct config_fields *s)
{
    int width = b->hidden_size / b->heads;

    if (b->hidden_size % b->heads)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: hidden_size %d is not a multiple of num_attention_heads %d",
                         s->where, b->hidden_size, b->heads);
    if (width <= HEAD_DIM_MAX)
        return 0;
    return error_set(s->err, EXIT_CODE_CHECKPOINT,
                     "%s: expected heads of at most %d channels, got %d (hidden_size %d, num_attention_heads %d)",
                     s->where, HEAD_DIM_MAX, width, b->hidden_size, b->heads);
}

static int get_activation(struct bert_config *b, const struct config_fields *s)
{
    const char *name =
        config_absent(s, "hidden_act") ? "gelu" : json_string_value(json_object_get(s->root, "hidden_act"));

    for (int i = 0; name && i < ARRAY_LEN(activations); i++)
        if (!strcmp(name, activations[i].name)) {
            b->activation = activations[i].activation;
            return 0;
        }
    return config_refuse(s, "hidden_act", "gelu, gelu_new, gelu_pytorch_tanh, relu or tanh");
}

static int get_reals(struct bert_config *b, const struct config_fields *s)
{
    b->layer_norm_eps = 1e-12f;
    b->hidden_dropout = b->attention_dropout = 0.1f;
    if (config_maybe_real(s, "layer_norm_eps", 1e-30, 1, &b->layer_norm_eps) ||
        config_maybe_real(s, "hidden_dropout_prob", 0, 0.99, &b->hidden_dropout) ||
        config_maybe_real(s, "attention_probs_dropout_prob", 0, 0.99, &b->attention_dropout))
        return -1;
    return 0;
}

/* Reads the settings other than sizes. */
static int get_rest(struct hf_config *c, const struct config_fields *s)
{
    struct bert_config *b = &c->bert;

    if (b->kind == MODERN_BERT ? parse_modern(b, s) : get_activation(b, s) || get_reals(b, s))
        return -1;
    c->classifier_dropout = b->hidden_dropout;
    return config_maybe_real(s, "classifier_dropout", 0, 0.99, &c->classifier_dropout);
}

/* Refuses settings that change the meaning of the weights. */
static int check_type(struct bert_config *b, const struct config_fields *s)
{
    const json_t *type = json_object_get(s->root, "model_type");
    const json_t *positions = json_object_get(s->root, "position_embedding_type");
    static const char *const false_ones[] = { "is_decoder", "add_cross_attention", "is_encoder_decoder" };

    if (!json_is_string(type))
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: model_type: expected \"bert\" or \"modernbert\"", s->where);
    b->kind = strcmp(json_string_value(type), "modernbert") ? CLASSIC_BERT : MODERN_BERT;
    if (b->kind == CLASSIC_BERT && strcmp(json_string_value(type), "bert"))
        return config_refuse(s, "model_type", "\"bert\" or \"modernbert\"");
    if (!config_absent(s, "position_embedding_type") &&
        (!json_is_string(positions) || strcmp(json_string_value(positions), "absolute")))
        return config_refuse(s, "position_embedding_type", "\"absolute\"");
    for (int i = 0; i < ARRAY_LEN(false_ones); i++)
        if (!config_absent(s, false_ones[i]) && !json_is_false(json_object_get(s->root, false_ones[i])))
            return config_refuse(s, false_ones[i], "false");
    if (!config_absent(s, "quantization_config"))
        return config_refuse(s, "quantization_config", "none (quantised weights are not read)");
    if (!config_absent(s, "pruned_heads") && json_object_size(json_object_get(s->root, "pruned_heads")))
        return config_refuse(s, "pruned_heads", "none");
    return 0;
}

/* Reads num_labels, else the length of id2label, else 2. */
static int get_labels(struct hf_config *c, const struct config_fields *s)
{
    const json_t *names = json_object_get(s->root, "id2label");

    c->n_labels = 2;
    if (!config_absent(s, "id2label")) {
        size_t n = json_object_size(names);
        if (n < 1 || n > MAX_LABELS)
            return config_refuse(s, "id2label", "an object with a name for each label");
        c->n_labels = (int)n;
    }
    return config_maybe_int(s, "num_labels", 1, MAX_LABELS, &c->n_labels);
}

static void warn_unknown(const struct hf_config *c, const struct config_fields *s)
{
    const char *field;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)s->root, field, v)
    {
        bool known = lm_config_common(field) || config_named(own, field) ||
                     (c->bert.kind == MODERN_BERT && config_named(modern_fields, field));
        if (!known && !lm_config_harmless(v, 0))
            config_unknown(s, field);
    }
}

int hf_config_parse(struct hf_config *c, const json_t *root, const char *where, struct error *err)
{
    struct config_fields s = { root, where, err };
    const json_t *architectures = json_object_get(root, "architectures");

    *c = (struct hf_config){ 0 };
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a JSON object", where);
    if (check_type(&c->bert, &s) || get_sizes(&c->bert, &s) || check_heads(&c->bert, &s) || get_rest(c, &s) ||
        get_labels(c, &s) || config_maybe_int(&s, "pad_token_id", 0, c->bert.vocab_size - 1, &c->pad_token_id))
        return -1;
    warn_unknown(c, &s);
    return config_text(&s, "architectures", json_array_get(architectures, 0), c->architecture,
                       sizeof c->architecture) ||
                   config_text(&s, "problem_type", json_object_get(root, "problem_type"), c->problem_type,
                               sizeof c->problem_type)
               ? -1
               : 0;
}

int hf_config_read(struct hf_config *c, const char *dir, struct error *err)
{
    char *path;
    json_t *root = config_open(dir, "config.json", &path, err);
    int rc = root ? hf_config_parse(c, root, path, err) : -1;

    json_decref(root);
    free(path);
    return rc;
}

static const char *activation_name(enum activation a)
{
    for (int i = 0; i < ARRAY_LEN(activations); i++)
        if (activations[i].activation == a)
            return activations[i].name;
    CHECK(false, "activation %d has no Hugging Face name", (int)a);
}

static void set_labels(json_t *o, int n)
{
    json_t *names = json_object(), *ids = json_object();
    char id[16], label[32];

    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%d", i);
        snprintf(label, sizeof label, "LABEL_%d", i);
        json_object_set_new(names, id, json_string(label));
        json_object_set_new(ids, label, json_integer(i));
    }
    json_object_set_new(o, "id2label", names);
    json_object_set_new(o, "label2id", ids);
}

static void set_classic(json_t *o, const struct bert_config *b)
{
    json_object_set_new(o, "type_vocab_size", json_integer(b->type_vocab_size));
    json_object_set_new(o, "hidden_act", json_string(activation_name(b->activation)));
    json_object_set_new(o, "position_embedding_type", json_string("absolute"));
    json_object_set_new(o, "layer_norm_eps", config_short_real(b->layer_norm_eps));
    json_object_set_new(o, "hidden_dropout_prob", config_short_real(b->hidden_dropout));
    json_object_set_new(o, "attention_probs_dropout_prob", config_short_real(b->attention_dropout));
}

int hf_config_write(const struct hf_config *c, const char *dir, enum dtype stored, struct error *err)
{
    const struct bert_config *b = &c->bert;
    bool modern = b->kind == MODERN_BERT;
    const char *plain = modern ? "ModernBertModel" : "BertModel";
    char *path = path_in(dir, "config.json");
    json_t *o = json_pack("{s:[s], s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s}", "architectures",
                          *c->architecture ? c->architecture : plain, "model_type", modern ? "modernbert" : "bert",
                          "vocab_size", b->vocab_size, "hidden_size", b->hidden_size, "num_hidden_layers", b->layers,
                          "num_attention_heads", b->heads, "intermediate_size", b->intermediate_size,
                          "max_position_embeddings", b->max_positions, "pad_token_id", c->pad_token_id, "torch_dtype",
                          stored == BF16 ? "bfloat16" : "float32");

    CHECK(o, "config.json: %s is not UTF-8", c->architecture);
    (modern ? set_modern : set_classic)(o, b);
    json_object_set_new(o, "classifier_dropout", config_short_real(c->classifier_dropout));
    set_labels(o, c->n_labels);
    if (*c->problem_type)
        json_object_set_new(o, "problem_type", json_string(c->problem_type));
    int rc = json_write_file(path, o, err);
    json_decref(o);
    free(path);
    return rc;
}
