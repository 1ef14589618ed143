#include "models/gate/gate_model.h"

#include "data/util/json.h"
#include "data/util/sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 8 << 20 }; /* headers of parameters */

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
    if (arena_init(&m->host, HOST_BYTES, err) || device_arena(device, &m->data, bytes, err) ||
        gate_layout_init(&m->layout, tokenizer, config->bert.max_positions, config->encode, err)) {
        gate_model_release(m);
        return -1;
    }
    struct param_arenas arenas = { &m->host, &m->data, optimizer };
    gatekeeper_init(&m->net, config, dtype, &m->params, &arenas);
    return 0;
}

void gate_model_release(struct gate_model *m)
{
    tokenizer_close(m->tokenizer);
    params_release(&m->params);
    arena_release(&m->host);
    if (m->data.base)
        device_arena_release(m->device, &m->data);
    *m = (struct gate_model){ 0 };
}

double gate_probability(const struct gate_model *m, double logit)
{
    return 1 / (1 + exp(-logit / m->temperature));
}

/* The folder of a file, without the slash at its end; the caller frees. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    int n = slash && slash > path ? (int)(slash - path) : 1;
    char *dir = NULL;

    CHECK(asprintf(&dir, "%.*s", n, slash ? path : ".") >= 0, "%s", path);
    return dir;
}

static int load(struct gate_model *m, const struct hdf5_reader *r, struct device *device, struct error *err)
{
    char *dir = folder_of(r->path);
    json_t *meta = checkpoint_meta(r, err), *model;
    struct gate_model_spec spec;
    int rc = -1;

    if (!meta || !(model = json_get_object(meta, "model", r->path, err)) ||
        gate_model_from_json(model, &spec, r->path, err))
        goto out;
    struct tokenizer *tokenizer = tokenizer_open_encoder(dir, spec.config.bert.vocab_size, err);
    if (!tokenizer || gate_model_init(m, device, &spec.config, spec.dtype, spec.graph, false, tokenizer, err))
        goto out;
    m->sum = sum_folder(HASH_START, dir);
    m->threshold = spec.threshold;
    m->temperature = spec.temperature;
    const char *note = json_string_value(json_object_get(meta, "note"));
    snprintf(m->note, sizeof m->note, "%s", note ? note : "");
    struct checkpoint c = { .params = &m->params, .device = device };
    rc = checkpoint_load(r, &c, err);
    if (rc)
        gate_model_release(m);
out:
    free(dir);
    json_decref(meta);
    if (rc && err)
        err->code = err->code == EXIT_CODE_MEMORY ? EXIT_CODE_MEMORY : EXIT_CODE_CHECKPOINT;
    return rc;
}

int gate_model_open(struct gate_model *m, struct device *device, const char *dir, struct error *err)
{
    struct hdf5_reader r;

    *m = (struct gate_model){ 0 };
    if (checkpoint_open(&r, dir, err))
        return -1;
    int rc = load(m, &r, device, err);
    hdf5_close(&r);
    return rc;
}
