#include "models/gatekeeper/gate_model.h"
#include "data/base/stats.h"
#include "data/base/whole_file.h"
#include "kernels/module_path.h"
#include "models/gatekeeper/gate_band.h"
#include "models/io/model_folder.h"
#include "models/net/bert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char *const encodes[] = { "element", "schema", NULL };
static const char *const classifiers[] = { "pair", "gat-mean", "gat-cat", "gcn", "rgcn", "bert-only", NULL };
static const char *const features[] = { "states", "relevance", NULL };
static const char *const texts[] = { "qualified", "relevance-word", "published", NULL };
static const char *const pools[] = { "attention", "mean", "sum", NULL };
static const char *const graphs[] = { "typed", "paper", "mono", "bi", "reproduction", NULL };
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

/* The form with two segments needs two segment embeddings, if the encoder has segments. */
static int check_segments(const struct bert_config *b, const char *where, struct error *err)
{
    if (b->kind == MODERN_BERT || b->type_vocab_size >= 2)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: type_vocab_size: expected at least 2, got %d", where,
                     b->type_vocab_size);
}

/* The published classifiers do not read pairs. */
static int check_features(const json_t *o, enum gate_classifier classifier, const char *where, struct error *err)
{
    int64_t set = json_integer_value(json_object_get(o, feature_set));

    if (classifier != CLASSIFIER_PAIR || set == SCHEMA_PAIR_FEATURE_SET)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: model: %s: expected version %d, got %lld: the features of pairs have changed; "
                     "train the model again",
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

enum { HOST_BYTES = 8 << 20 }; /* headers of the parameters */

/* Declares the parameters in arenas that only measure. */
size_t gate_model_bytes(const struct gatekeeper_config *config, enum dtype dtype, enum optimizer optimizer)
{
    struct params params = { 0 };
    struct arena host = { 0 }, data;
    struct gatekeeper net;

    if (arena_init(&host, HOST_BYTES, NULL))
        return 0;
    arena_measure(&data);
    struct param_arenas arenas = { &host, &data, optimizer };
    gatekeeper_init(&net, config, dtype, &params, &arenas);
    params_release(&params);
    arena_release(&host);
    return data.peak;
}

int gate_model_init(struct gate_model *m, struct device *device, const struct gatekeeper_config *config,
                    enum dtype dtype, enum graph_mode graph, enum optimizer optimizer, struct tokenizer *tokenizer,
                    struct error *err)
{
    size_t bytes = gate_model_bytes(config, dtype, optimizer) + GATE_MODEL_EXTRA;

    *m = (struct gate_model){
        .device = device, .dtype = dtype, .graph = graph, .tokenizer = tokenizer, .threshold = 0.5, .temperature = 1
    };
    m->linguistic_temperature = 1;
    if (arena_init(&m->host, HOST_BYTES, err) || device_arena(device, &m->data, bytes, err) ||
        gate_layout_init(&m->layout, tokenizer, config->bert.max_positions, config->encode, err)) {
        gate_model_release(m);
        return -1;
    }
    m->layout.asks = config->linguistic;
    if (gatekeeper_says_word(config))
        gate_layout_words(&m->layout, tokenizer, config->texts);
    struct param_arenas arenas = { &m->host, &m->data, optimizer };
    gatekeeper_init(&m->net, config, dtype, &m->params, &arenas);
    return 0;
}

void gate_model_release(struct gate_model *m)
{
    tokenizer_close(m->tokenizer);
    gate_validation_release(&m->validation);
    params_release(&m->params);
    params_release(&m->adapters);
    arena_release(&m->host);
    if (m->adapter_data.base)
        device_arena_release(m->device, &m->adapter_data);
    if (m->data.base)
        device_arena_release(m->device, &m->data);
    *m = (struct gate_model){ 0 };
}

struct schema_input_settings gate_model_input(const struct gate_model *m, bool pairs)
{
    return (struct schema_input_settings){ .graph = m->graph,
                                           .pairs = pairs,
                                           .bare = m->net.config.texts == TEXTS_PUBLISHED };
}

double gate_probability(const struct gate_model *m, double logit)
{
    return 1 / (1 + exp((m->shift - logit) / m->temperature));
}

double gate_join_logits(const struct gate_model *m, double score, double linguistic)
{
    double a = (score - m->shift) / m->temperature, b = linguistic / m->linguistic_temperature;

    if (isinf(linguistic))
        return score;
    double neither = stats_softplus(a) + stats_softplus(b);    /* -log of the probability of neither, */
    double odds = neither + log(-expm1(-neither));             /* log odds of the complement, */
    return m->shift + m->temperature * fmax(odds, fmax(a, b)); /* at least the larger of the two, despite rounding */
}

bool gate_words_likelier(const struct gate_model *m, double score, double linguistic)
{
    return linguistic / m->linguistic_temperature > (score - m->shift) / m->temperature;
}

static int load(void *model, const struct model_file *f, struct device *device, struct error *err)
{
    struct gate_model *m = model;
    struct gate_model_spec spec;

    if (gate_model_from_json(f->model, &spec, f->reader.path, err))
        return -1;
    struct tokenizer *tokenizer = tokenizer_open_encoder(f->dir, spec.config.bert.vocab_size, err);
    if (!tokenizer || gate_model_init(m, device, &spec.config, spec.dtype, spec.graph, OPTIMIZER_NONE, tokenizer, err))
        return -1;
    m->hash = hash_folder(HASH_START, f->dir);
    m->threshold = spec.threshold;
    m->temperature = spec.temperature;
    m->linguistic_temperature = spec.linguistic_temperature;
    const char *note = json_string_value(json_object_get(f->meta, "note"));
    snprintf(m->note, sizeof m->note, "%s", note ? note : "");
    if (gate_validation_read(m, json_object_get(f->meta, "validation"), f->reader.path, err) == 0 &&
        model_file_load(f, &m->params, device, err) == 0)
        return 0;
    gate_model_release(m);
    return -1;
}

int gate_model_open(struct gate_model *m, struct device *device, const char *dir, struct error *err)
{
    *m = (struct gate_model){ 0 };
    return model_file_read(dir, "gatekeeper", load, m, device, err);
}

bool gate_model_has_room(void)
{
    const rlim_t needed = (rlim_t)2 << 30;
    struct rlimit space;

    return getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY || space.rlim_cur >= needed;
}

char *gate_model_default(const char *option, struct error *err)
{
    char *looked = NULL, *path = share_path("detector", &looked);

    if (!path)
        error_set(err, EXIT_CODE_CHECKPOINT,
                  "the default detector is missing: %s has no folder detector; install ambit completely, "
                  "or give a folder of ambit-train gatekeeper with %s",
                  looked, option);
    free(looked);
    return path;
}
