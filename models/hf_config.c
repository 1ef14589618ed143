#include "models/hf_config.h"

#include "data/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 1 << 20, MAX_LAYERS = 1000, MAX_LABELS = 1 << 20 };

static const struct {
    const char *name;
    enum activation activation;
} activations[] = {
    { "gelu", ACT_GELU }, { "gelu_new", ACT_GELU_TANH }, { "relu", ACT_RELU },
    { "tanh", ACT_TANH }, { "gelu_python", ACT_GELU },   { "gelu_pytorch_tanh", ACT_GELU_TANH },
};

/* Where fields are read from, and how messages about them begin. */
struct source {
    const json_t *root;
    const char *where;
    struct error *err;
};

static bool absent(const struct source *s, const char *field)
{
    const json_t *v = json_object_get(s->root, field);
    return !v || json_is_null(v);
}

static int refuse(const struct source *s, const char *field, const char *wanted)
{
    char *value = json_dumps(json_object_get(s->root, field), JSON_ENCODE_ANY | JSON_COMPACT);
    error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: %s: %.100s, wanted %s", s->where, field, value ? value : "?", wanted);
    free(value);
    return -1;
}

static int get_int(const struct source *s, const char *field, int64_t low, int64_t high, int *out)
{
    int64_t v;

    if (json_get_int(s->root, field, low, high, &v, s->where, s->err)) {
        if (s->err)
            s->err->code = EXIT_CODE_CHECKPOINT;
        return -1;
    }
    *out = (int)v;
    return 0;
}

/* Leaves *out as it is when the file does not have the field. */
static int maybe_int(const struct source *s, const char *field, int64_t low, int64_t high, int *out)
{
    return absent(s, field) ? 0 : get_int(s, field, low, high, out);
}

static int maybe_real(const struct source *s, const char *field, double low, double high, float *out)
{
    double v;

    if (absent(s, field))
        return 0;
    if (json_get_real(s->root, field, low, high, &v, s->where, s->err)) {
        if (s->err)
            s->err->code = EXIT_CODE_CHECKPOINT;
        return -1;
    }
    *out = (float)v;
    return 0;
}

static int get_sizes(struct bert_config *b, const struct source *s)
{
    b->max_positions = 512;
    b->type_vocab_size = 2;
    if (get_int(s, "vocab_size", 1, MAX_WIDTH * 16, &b->vocab_size) ||
        get_int(s, "hidden_size", 1, MAX_WIDTH, &b->hidden_size) ||
        get_int(s, "num_hidden_layers", 1, MAX_LAYERS, &b->layers) ||
        get_int(s, "num_attention_heads", 1, MAX_WIDTH, &b->heads) ||
        get_int(s, "intermediate_size", 1, MAX_WIDTH, &b->intermediate_size) ||
        maybe_int(s, "max_position_embeddings", 1, MAX_WIDTH, &b->max_positions) ||
        maybe_int(s, "type_vocab_size", 1, MAX_WIDTH, &b->type_vocab_size))
        return -1;
    if (b->hidden_size % b->heads)
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: hidden_size %d is not a multiple of num_attention_heads %d",
                         s->where, b->hidden_size, b->heads);
    return 0;
}

static int get_activation(struct bert_config *b, const struct source *s)
{
    const char *name = absent(s, "hidden_act") ? "gelu" : json_string_value(json_object_get(s->root, "hidden_act"));

    for (int i = 0; name && i < ARRAY_LEN(activations); i++)
        if (!strcmp(name, activations[i].name)) {
            b->activation = activations[i].activation;
            return 0;
        }
    return refuse(s, "hidden_act", "gelu, gelu_new, gelu_pytorch_tanh, relu or tanh");
}

static int get_reals(struct hf_config *c, const struct source *s)
{
    struct bert_config *b = &c->bert;

    b->layer_norm_eps = 1e-12f;
    b->hidden_dropout = b->attention_dropout = 0.1f;
    if (maybe_real(s, "layer_norm_eps", 1e-30, 1, &b->layer_norm_eps) ||
        maybe_real(s, "hidden_dropout_prob", 0, 0.99, &b->hidden_dropout) ||
        maybe_real(s, "attention_probs_dropout_prob", 0, 0.99, &b->attention_dropout))
        return -1;
    c->classifier_dropout = b->hidden_dropout;
    return maybe_real(s, "classifier_dropout", 0, 0.99, &c->classifier_dropout);
}

/* What would make the same weights mean something else. */
static int check_kind(const struct source *s)
{
    const json_t *type = json_object_get(s->root, "model_type");
    const json_t *positions = json_object_get(s->root, "position_embedding_type");
    static const char *const false_ones[] = { "is_decoder", "add_cross_attention", "is_encoder_decoder" };

    if (!json_is_string(type))
        return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: no string \"model_type\", wanted \"bert\"", s->where);
    if (strcmp(json_string_value(type), "bert"))
        return refuse(s, "model_type", "\"bert\"");
    if (!absent(s, "position_embedding_type") &&
        (!json_is_string(positions) || strcmp(json_string_value(positions), "absolute")))
        return refuse(s, "position_embedding_type", "\"absolute\"");
    for (int i = 0; i < ARRAY_LEN(false_ones); i++)
        if (!absent(s, false_ones[i]) && !json_is_false(json_object_get(s->root, false_ones[i])))
            return refuse(s, false_ones[i], "false");
    if (!absent(s, "quantization_config"))
        return refuse(s, "quantization_config", "none: quantised weights are not read");
    if (!absent(s, "pruned_heads") && json_object_size(json_object_get(s->root, "pruned_heads")))
        return refuse(s, "pruned_heads", "none");
    return 0;
}

/* num_labels, else the length of id2label, else 2. */
static int get_labels(struct hf_config *c, const struct source *s)
{
    const json_t *names = json_object_get(s->root, "id2label");

    c->n_labels = 2;
    if (!absent(s, "id2label")) {
        size_t n = json_object_size(names);
        if (n < 1 || n > MAX_LABELS)
            return refuse(s, "id2label", "an object with a name for each label");
        c->n_labels = (int)n;
    }
    return maybe_int(s, "num_labels", 1, MAX_LABELS, &c->n_labels);
}

static int get_text(char *out, size_t size, const json_t *v, const char *field, const struct source *s)
{
    const char *text = json_string_value(v);

    out[0] = '\0';
    if (!v || json_is_null(v))
        return 0;
    if (!text || strlen(text) >= size)
        return refuse(s, field, "a short string");
    snprintf(out, size, "%s", text);
    return 0;
}

int hf_config_parse(struct hf_config *c, const json_t *root, const char *where, struct error *err)
{
    struct source s = { root, where, err };
    const json_t *architectures = json_object_get(root, "architectures");

    *c = (struct hf_config){ 0 };
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: not a JSON object", where);
    if (check_kind(&s) || get_sizes(&c->bert, &s) || get_activation(&c->bert, &s) || get_reals(c, &s) ||
        get_labels(c, &s) || maybe_int(&s, "pad_token_id", 0, c->bert.vocab_size - 1, &c->pad_token_id))
        return -1;
    return get_text(c->architecture, sizeof c->architecture, json_array_get(architectures, 0), "architectures", &s) ||
                   get_text(c->problem_type, sizeof c->problem_type, json_object_get(root, "problem_type"),
                            "problem_type", &s)
               ? -1
               : 0;
}

static char *config_path(const char *dir)
{
    size_t n = strlen(dir) + sizeof "/config.json";
    char *path = xmalloc(n);
    snprintf(path, n, "%s/config.json", dir);
    return path;
}

int hf_config_read(struct hf_config *c, const char *dir, struct error *err)
{
    char *path = config_path(dir);
    json_t *root = json_read_file(path, err);
    int rc = -1;

    if (root)
        rc = hf_config_parse(c, root, path, err);
    else if (err && err->code == EXIT_CODE_DATA)
        err->code = EXIT_CODE_CHECKPOINT;
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

/* A float as its shortest decimal: 0.1, not 0.10000000149011612. */
static json_t *short_real(float x)
{
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    return json_real(strtod(text, NULL));
}

int hf_config_write(const struct hf_config *c, const char *dir, enum dtype stored, struct error *err)
{
    const struct bert_config *b = &c->bert;
    char *path = config_path(dir);
    json_t *o = json_pack("{s:[s], s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:i, s:s}", "architectures",
                          *c->architecture ? c->architecture : "BertModel", "model_type", "bert", "vocab_size",
                          b->vocab_size, "hidden_size", b->hidden_size, "num_hidden_layers", b->layers,
                          "num_attention_heads", b->heads, "intermediate_size", b->intermediate_size,
                          "max_position_embeddings", b->max_positions, "type_vocab_size", b->type_vocab_size,
                          "hidden_act", activation_name(b->activation), "position_embedding_type", "absolute",
                          "pad_token_id", c->pad_token_id, "torch_dtype", stored == BF16 ? "bfloat16" : "float32");

    CHECK(o, "config.json: %s is not UTF-8", c->architecture);
    json_object_set_new(o, "layer_norm_eps", short_real(b->layer_norm_eps));
    json_object_set_new(o, "hidden_dropout_prob", short_real(b->hidden_dropout));
    json_object_set_new(o, "attention_probs_dropout_prob", short_real(b->attention_dropout));
    json_object_set_new(o, "classifier_dropout", short_real(c->classifier_dropout));
    set_labels(o, c->n_labels);
    if (*c->problem_type)
        json_object_set_new(o, "problem_type", json_string(c->problem_type));
    int rc = json_write_file(path, o, err);
    json_decref(o);
    free(path);
    return rc;
}
