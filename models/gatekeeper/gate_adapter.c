#include "models/gatekeeper/gate_adapter.h"

#include "data/base/whole_file.h"
#include "models/io/checksum.h"
#include "models/io/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[] = { "threshold", "linear", "layer", "lora", NULL };
static const double LARGEST = 1e6; /* max logit of a shift */

uint64_t gate_model_hash(const struct gate_model *m)
{
    json_t *settings = gate_model_to_json(m);
    char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    float *values = params_buffer(&m->params);
    struct checksum hash;

    checksum_init(&hash);
    checksum_update(&hash, text, strlen(text));
    for (int i = 0; i < m->params.n; i++) {
        const struct param *p = &m->params.list[i];
        param_download(p, m->device, values);
        checksum_update(&hash, p->name, strlen(p->name));
        checksum_update(&hash, values, (size_t)tensor_size(p->t) * sizeof *values);
    }
    free(values);
    free(text);
    json_decref(settings);
    return checksum_final(&hash);
}

void gate_model_hash_text(char text[GATE_HASH_TEXT], const struct gate_model *m)
{
    snprintf(text, GATE_HASH_TEXT, "%016" PRIx64, gate_model_hash(m));
}

int gate_model_check_hash(const struct gate_model *m, const char *hash, const char *what, const char *remedy,
                          const char *path, struct error *err)
{
    char own[GATE_HASH_TEXT];

    gate_model_hash_text(own, m);
    if (hash && strcmp(hash, own) == 0)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected %s of the detector with hash %s, got one of %.32s%s",
                     path, what, own, hash ? hash : "an unnamed one", remedy);
}

/* Declares the parameters in `data`, which may only measure. */
static int declare(struct gate_model *m, struct params *p, struct arena *data, struct error *err)
{
    static const char *const targets[] = { "attention.self.qkv", "attention.output.dense", "attn.Wqkv", "attn.Wo" };
    struct param_arenas arenas = { &m->host, data, OPTIMIZER_NONE };
    struct lora_config config = { 0 };
    struct lora_module *modules;

    int n = bert_modules(&m->net.bert, bert_prefix(&m->net.config.bert), &m->host, &modules);
    int some = n / m->net.config.bert.layers * m->adapter_layers; /* each layer has the same number of maps, in order */
    lora_config_init(&config, ADAPT_RANK, ADAPT_RANK, targets, ARRAY_LEN(targets));
    int rc = lora_declare(&config, p, &arenas, m->dtype, modules + n - some, some, err);
    lora_config_release(&config);
    return rc;
}

int gate_adapter_declare(struct gate_model *m, int layers, uint64_t seed, struct error *err)
{
    struct params measured = { 0 };
    struct arena room;

    CHECK(layers > 0 && layers <= m->net.config.bert.layers && !m->adapters.n, "%d layers with an adapter", layers);
    m->adapter_layers = layers;
    arena_measure(&room);
    int rc = declare(m, &measured, &room, err);
    params_release(&measured);
    if (rc || device_arena(m->device, &m->adapter_data, room.peak, err) ||
        declare(m, &m->adapters, &m->adapter_data, err))
        return -1;
    params_init(&m->adapters, m->device, seed);
    return 0;
}

static bool is_last_linear(const struct gate_model *m, const char *name)
{
    const char *of = m->net.config.classifier == CLASSIFIER_PAIR ? "pair." : "graph.";
    return strncmp(name, of, strlen(of)) == 0 && strstr(name, "score.");
}

/* Whether a parameter belongs to the last layer. For bert-only, that is its hidden layer. */
static bool is_last_layer(const struct gate_model *m, const char *name)
{
    const struct gatekeeper_config *g = &m->net.config;
    char gat[64], gcn[64];

    if (g->classifier == CLASSIFIER_BERT_ONLY)
        return strncmp(name, "graph.dense.", 12) == 0;
    snprintf(gat, sizeof gat, "classifier.gat.%d.", g->gat_layers - 1);
    snprintf(gcn, sizeof gcn, "classifier.gcn.%d.", g->gat_layers - 1);
    return strncmp(name, gat, strlen(gat)) == 0 || strncmp(name, gcn, strlen(gcn)) == 0;
}

struct params gate_adapter_params(const struct gate_model *m, enum gate_adapt method)
{
    const struct params *all = method == ADAPT_LORA ? &m->adapters : &m->params;
    struct params some = { 0 };

    for (int i = 0; method != ADAPT_THRESHOLD && i < all->n; i++) {
        const char *name = all->list[i].name;
        if (method != ADAPT_LORA && !is_last_linear(m, name) && !(method == ADAPT_LAYER && is_last_layer(m, name)))
            continue;
        GROW(some.list, some.n, some.cap);
        some.list[some.n++] = all->list[i];
    }
    return some;
}

struct adapter_spec {
    int method, support, steps, layers;
    double temperature, shift;
};
#define AT(member) offsetof(struct adapter_spec, member)
static const struct spec_field fields[] = {
    { "method", AT(method), SPEC_WORD, methods, 0, 0, false },
    { "support", AT(support), SPEC_INT, NULL, 1, 1 << 20, false },
    { "steps", AT(steps), SPEC_INT, NULL, 0, 1 << 20, false },
    { "layers", AT(layers), SPEC_INT, NULL, 1, 1 << 20, true }, /* of LoRA; missing: all */
    { "temperature", AT(temperature), SPEC_DOUBLE, NULL, 1e-6, 1e6, false },
    { "shift", AT(shift), SPEC_DOUBLE, NULL, -1e6, 1e6, false },
    { 0 },
};

int gate_adapter_save(const struct gate_model *m, const struct gate_adapter *a, const char *dir, struct error *err)
{
    struct adapter_spec spec = { (int)a->method, a->support, a->steps, m->adapter_layers, m->temperature, m->shift };
    struct params some = gate_adapter_params(m, a->method);
    char base[32];
    json_t *o = json_object();

    CHECK(m->shift >= -LARGEST && m->shift <= LARGEST, "a shift of %g", m->shift);
    snprintf(base, sizeof base, "%016" PRIx64, a->base);
    spec_write(o, fields, &spec);
    if (a->method != ADAPT_LORA)
        json_object_del(o, "layers");
    json_object_set_new(o, "base", json_string(base));
    struct checkpoint c = { .params = &some, .device = m->device, .meta = json_pack("{s:o}", "adapter", o) };
    int rc = checkpoint_save(dir, &c, err);
    json_decref(c.meta);
    params_release(&some);
    return rc;
}

static int load(struct gate_model *m, const struct hdf5_reader *r, const json_t *o, struct error *err)
{
    const int all = m->net.config.bert.layers;
    struct adapter_spec spec = { .layers = all };

    if (!json_is_object(o))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected an adapter of ambit-train adapt", r->path);
    if (spec_read(o, fields, &spec, r->path, err) ||
        gate_model_check_hash(m, json_string_value(json_object_get(o, "base")), "an adapter", "", r->path, err))
        return -1;
    if (spec.layers > all)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: field \"layers\": expected 1 to %d, got %d", r->path, all,
                         spec.layers);
    if (spec.method == ADAPT_LORA && gate_adapter_declare(m, spec.layers, 0, err))
        return -1;
    struct params some = gate_adapter_params(m, (enum gate_adapt)spec.method);
    struct checkpoint c = { .params = &some, .device = m->device };
    int rc = checkpoint_load(r, &c, err);
    params_release(&some);
    m->temperature = spec.temperature;
    m->shift = spec.shift;
    return rc;
}

int gate_adapter_apply(struct gate_model *m, const char *path, struct error *err)
{
    struct hdf5_reader r;

    if (checkpoint_open(&r, path, err))
        return -1;
    json_t *meta = checkpoint_meta(&r, err);
    int rc = meta ? load(m, &r, json_object_get(meta, "adapter"), err) : -1;
    const uint64_t hash = hash_file(r.path);
    m->hash = hash_bytes(m->hash, &hash, sizeof hash);
    if (rc && err && err->code != EXIT_CODE_MEMORY)
        err->code = EXIT_CODE_CHECKPOINT;
    json_decref(meta);
    hdf5_close(&r);
    return rc;
}
