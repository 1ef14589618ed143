/* Part of gate_model.h: the model's settings as JSON. */
#include "models/gate/gate_model.h"

#include "data/util/json.h"

#include <string.h>

/* A field of the model's description: an integer or an enum, with what it may be. */
struct spec_field {
    const char *name;
    size_t offset;
    const char *const *words; /* of an enum, else NULL */
    int64_t low, high;
    bool optional; /* where it is missing, the first word is meant */
};

static const char *const encodes[] = { "element", "schema", NULL };
static const char *const classifiers[] = { "pair", "gat-mean", NULL };
static const char *const pools[] = { "attention", "mean", "sum", NULL };
static const char *const graphs[] = { "typed", "paper", "mono", "bi", NULL };
static const char *const dtypes[] = { "f32", "bf16", NULL };
static const char *const precisions[] = { "f32", "tf32", "bf16", NULL };
static const char *const activations[] = { "none", "gelu", "gelu_tanh", "relu", "leaky_relu",
                                           "elu",  "tanh", "sigmoid",   NULL };

#define AT(member) offsetof(struct gate_model_spec, member)

static const struct spec_field fields[] = {
    { "encode", AT(config.encode), encodes, 0, 0, false },
    { "classifier", AT(config.classifier), classifiers, 0, 0, false },
    { "pool", AT(config.pool), pools, 0, 0, false },
    { "graph", AT(graph), graphs, 0, 0, false },
    { "compute", AT(dtype), dtypes, 0, 0, false },
    { "gat_precision", AT(config.gat_precision), precisions, 0, 0, true },
    { "activation", AT(config.bert.activation), activations, 0, 0, false },
    { "vocab_size", AT(config.bert.vocab_size), NULL, 1, 1 << 24, false },
    { "hidden_size", AT(config.bert.hidden_size), NULL, 1, 1 << 16, false },
    { "layers", AT(config.bert.layers), NULL, 1, 128, false },
    { "heads", AT(config.bert.heads), NULL, 1, 1024, false },
    { "intermediate_size", AT(config.bert.intermediate_size), NULL, 1, 1 << 20, false },
    { "max_positions", AT(config.bert.max_positions), NULL, 16, 1 << 20, false },
    { "type_vocab_size", AT(config.bert.type_vocab_size), NULL, 2, 1 << 10, false },
    { "gat_hidden", AT(config.gat_hidden), NULL, 1, 1 << 16, false },
    { "gat_layers", AT(config.gat_layers), NULL, 0, 16, false },
    { "gat_heads", AT(config.gat_heads), NULL, 1, 1024, false },
    { "edge_types", AT(config.edge_types), NULL, SCHEMA_EDGE_TYPES, SCHEMA_EDGE_TYPES, false },
    { "pair_hidden", AT(config.pair_hidden), NULL, 1, 1 << 20, false },
    { "pair_features", AT(config.pair_features), NULL, GATE_PAIR_FEATURES, GATE_PAIR_FEATURES, false },
};

struct spec_real {
    const char *name;
    size_t offset;
    bool is_double;
    double low, high;
};

static const struct spec_real reals[] = {
    { "layer_norm_eps", AT(config.bert.layer_norm_eps), false, 0, 1 },
    { "hidden_dropout", AT(config.bert.hidden_dropout), false, 0, 0.999 },
    { "attention_dropout", AT(config.bert.attention_dropout), false, 0, 0.999 },
    { "dropout", AT(config.dropout), false, 0, 0.999 },
    { "threshold", AT(threshold), true, 0, 1 },
    { "temperature", AT(temperature), true, 1e-6, 1e6 },
};

/* Every enum and int of the description is an int in memory. */
_Static_assert(sizeof(enum gate_encode) == sizeof(int) && sizeof(enum dtype) == sizeof(int), "enums are ints");

static int *int_at(struct gate_model_spec *s, size_t offset)
{
    return (int *)(void *)((char *)s + offset);
}

static double get_real(const struct gate_model_spec *s, const struct spec_real *r)
{
    const char *at = (const char *)s + r->offset;
    return r->is_double ? *(const double *)(const void *)at : (double)*(const float *)(const void *)at;
}

static void set_real(struct gate_model_spec *s, const struct spec_real *r, double x)
{
    void *at = (char *)s + r->offset;
    if (r->is_double)
        *(double *)at = x;
    else
        *(float *)at = (float)x;
}

json_t *gate_model_to_json(const struct gate_model *m)
{
    struct gate_model_spec s = { m->net.config, m->dtype, m->graph, m->threshold, m->temperature };
    json_t *o = json_object();

    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        int x = *int_at(&s, fields[i].offset);
        json_object_set_new(o, fields[i].name, fields[i].words ? json_string(fields[i].words[x]) : json_integer(x));
    }
    for (int i = 0; i < ARRAY_LEN(reals); i++)
        json_object_set_new(o, reals[i].name, json_real(get_real(&s, &reals[i])));
    return o;
}

static int read_word(const json_t *o, const struct spec_field *f, int *out, const char *where, struct error *err)
{
    const char *word = f->words[0];

    if ((!f->optional || json_object_get(o, f->name)) && !(word = json_get_string(o, f->name, where, err)))
        return -1;
    for (int i = 0; f->words[i]; i++)
        if (!strcmp(f->words[i], word)) {
            *out = i;
            return 0;
        }
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: %s: unknown value \"%s\"", where, f->name, word);
}

static int check_heads(const struct gate_model_spec *s, const char *where, struct error *err)
{
    const struct bert_config *b = &s->config.bert;
    int size = b->heads > 0 ? b->hidden_size / b->heads : 0;

    if (b->heads * size == b->hidden_size && size >= 1 && size <= HEAD_DIM_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: model: expected heads of 1 to %d channels, got %d channels in %d heads", where, HEAD_DIM_MAX,
                     b->hidden_size, b->heads);
}

int gate_model_from_json(const json_t *o, struct gate_model_spec *s, const char *where, struct error *err)
{
    memset(s, 0, sizeof *s);
    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        int64_t x;
        int *out = int_at(s, fields[i].offset);
        if (fields[i].words) {
            if (read_word(o, &fields[i], out, where, err))
                return -1;
            continue;
        }
        if (json_get_int(o, fields[i].name, fields[i].low, fields[i].high, &x, where, err))
            return -1;
        *out = (int)x;
    }
    for (int i = 0; i < ARRAY_LEN(reals); i++) {
        double x;
        if (json_get_real(o, reals[i].name, reals[i].low, reals[i].high, &x, where, err))
            return -1;
        set_real(s, &reals[i], x);
    }
    return check_heads(s, where, err);
}
