/* Part of gate_model.h: the model's settings as JSON. */
#include "models/gatekeeper/gate_model.h"
#include "models/net/bert_spec.h"

#include <string.h>

static const char *const encodes[] = { "element", "schema", NULL };
static const char *const classifiers[] = { "pair", "gat-mean", "gat-cat", "gcn", "rgcn", "bert-only", NULL };
static const char *const features[] = { "states", "relevance", NULL };
static const char *const texts[] = { "qualified", "relevance-word", "thesis", NULL };
static const char *const pools[] = { "attention", "mean", "sum", NULL };
static const char *const graphs[] = { "typed", "paper", "mono", "bi", "compat", NULL };
static const char *const switches[] = { "off", "on", NULL };
static const char *const precisions[] = { "f32", "tf32", "bf16", NULL };

static const char feature_set[] = "pair_feature_set";

#define AT(member) offsetof(struct gate_model_spec, member)

static const struct spec_field fields[] = {
    { "encode", AT(config.encode), SPEC_WORD, encodes, 0, 0, false },
    { "classifier", AT(config.classifier), SPEC_WORD, classifiers, 0, 0, false },
    { "features", AT(config.features), SPEC_WORD, features, 0, 0, true },
    { "texts", AT(config.texts), SPEC_WORD, texts, 0, 0, true },
    { "embedder", AT(config.embedder), SPEC_WORD, switches, 0, 0, true },
    { "random_edges", AT(config.random_edges), SPEC_FLOAT, NULL, 0, 1000, true },
    { "pool", AT(config.pool), SPEC_WORD, pools, 0, 0, false },
    { "graph", AT(graph), SPEC_WORD, graphs, 0, 0, false },
    { "compute", AT(dtype), SPEC_WORD, spec_dtypes, 0, 0, false },
    { "gat_precision", AT(config.gat_precision), SPEC_WORD, precisions, 0, 0, true },
    { "gat_hidden", AT(config.gat_hidden), SPEC_INT, NULL, 1, 1 << 16, false },
    { "gat_layers", AT(config.gat_layers), SPEC_INT, NULL, 0, 16, false },
    { "gat_heads", AT(config.gat_heads), SPEC_INT, NULL, 1, 1024, false },
    { "edge_types", AT(config.edge_types), SPEC_INT, NULL, SCHEMA_EDGE_TYPES, SCHEMA_EDGE_TYPES, false },
    { "pair_hidden", AT(config.pair_hidden), SPEC_INT, NULL, 1, 1 << 20, false },
    { "pair_features", AT(config.pair_features), SPEC_INT, NULL, GATE_PAIR_FEATURES, GATE_PAIR_FEATURES, false },
    { "dropout", AT(config.dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "linguistic", AT(config.linguistic), SPEC_WORD, switches, 0, 0, true },
    { "linguistic_temperature", AT(linguistic_temperature), SPEC_DOUBLE, NULL, 1e-6, 1e6, true },
    { "threshold", AT(threshold), SPEC_DOUBLE, NULL, 0, 1, false },
    { "temperature", AT(temperature), SPEC_DOUBLE, NULL, 1e-6, 1e6, false },
    { 0 },
};

json_t *gate_model_to_json(const struct gate_model *m)
{
    struct gate_model_spec s = { m->net.config, m->dtype,       m->graph,
                                 m->threshold,  m->temperature, m->linguistic_temperature };
    json_t *o = json_object();

    bert_spec_write(o, &s.config.bert);
    spec_write(o, fields, &s);
    json_object_set_new(o, feature_set, json_integer(SCHEMA_PAIR_FEATURE_SET));
    return o;
}

/* The encoding's two segments want an embedding each, where the encoder has any. */
static int check_segments(const struct bert_config *b, const char *where, struct error *err)
{
    if (b->kind == MODERN_BERT || b->type_vocab_size >= 2)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: type_vocab_size: expected at least 2, got %d", where,
                     b->type_vocab_size);
}

/* The thesis' classifiers do not read pairs. */
static int check_features(const json_t *o, enum gate_classifier classifier, const char *where, struct error *err)
{
    int64_t set = json_integer_value(json_object_get(o, feature_set));

    if (classifier != CLASSIFIER_PAIR || set == SCHEMA_PAIR_FEATURE_SET)
        return 0;
    return error_set(
        err, EXIT_CODE_CHECKPOINT,
        "%s: model: %s: expected %d, got %lld: what a model is told of two elements has another meaning now, "
        "so it must be trained anew",
        where, feature_set, SCHEMA_PAIR_FEATURE_SET, (long long)(set ? set : 1));
}

int gate_model_from_json(const json_t *o, struct gate_model_spec *s, const char *where, struct error *err)
{
    memset(s, 0, sizeof *s);
    s->linguistic_temperature = 1;
    return bert_spec_read(o, &s->config.bert, where, err) || spec_read(o, fields, s, where, err) ||
                   check_segments(&s->config.bert, where, err) || check_features(o, s->config.classifier, where, err)
               ? -1
               : 0;
}
