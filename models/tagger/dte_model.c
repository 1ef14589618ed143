#include "models/tagger/dte_model.h"

#include "data/base/whole_file.h"
#include "models/io/model_folder.h"
#include "models/net/bert_spec.h"

enum { HOST_BYTES = 8 << 20 }; /* headers of parameters */

#define AT(member) offsetof(struct dte_spec, member)

static const char *const forms[] = { "spans", "compat", NULL };
_Static_assert(sizeof(enum dtype) == sizeof(int), "enums are ints");

/* `compat` is a bool in memory and apart. */
static const struct spec_field fields[] = {
    { "compute", AT(dtype), SPEC_WORD, spec_dtypes, 0, 0, false },
    { "hidden", AT(config.hidden), SPEC_INT, NULL, 1, 1 << 16, false },
    { "dropout", AT(config.dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "temperature", AT(temperature), SPEC_DOUBLE, NULL, 1e-6, 1e6, false },
    { "threshold", AT(threshold), SPEC_DOUBLE, NULL, 0, 1, false },
    { 0 },
};
static const struct spec_field tags_field[] = { { "tags", 0, SPEC_WORD, forms, 0, 0, false }, { 0 } };

json_t *dte_spec_to_json(const struct dte_spec *s)
{
    json_t *o = json_object();
    int form = s->config.compat;

    bert_spec_write(o, &s->config.bert);
    spec_write(o, fields, s);
    spec_write(o, tags_field, &form);
    return o;
}

int dte_spec_from_json(const json_t *o, struct dte_spec *s, const char *where, struct error *err)
{
    int form = 0;

    *s = (struct dte_spec){ 0 };
    if (bert_spec_read(o, &s->config.bert, where, err) || spec_read(o, fields, s, where, err) ||
        spec_read(o, tags_field, &form, where, err))
        return -1;
    s->config.compat = form;
    if (s->config.bert.kind == CLASSIC_BERT)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: encoder: expected \"bert\" of a tagger", where);
}

/* Declares the parameters in arenas that only measure. */
size_t dte_model_bytes(const struct dte_spec *spec, enum optimizer optimizer)
{
    struct params params = { 0 };
    struct arena host = { 0 }, data;
    struct dte net;

    if (arena_init(&host, HOST_BYTES, NULL))
        return 0;
    arena_measure(&data);
    struct param_arenas arenas = { &host, &data, optimizer };
    dte_init(&net, &spec->config, spec->dtype, &params, &arenas);
    params_release(&params);
    arena_release(&host);
    return data.peak;
}

int dte_model_init(struct dte_model *m, struct device *device, const struct dte_spec *spec, enum optimizer optimizer,
                   struct tokenizer *tokenizer, struct error *err)
{
    size_t bytes = dte_model_bytes(spec, optimizer) + DTE_MODEL_EXTRA;

    *m = (struct dte_model){ .device = device, .spec = *spec, .tokenizer = tokenizer };
    if (arena_init(&m->host, HOST_BYTES, err) || device_arena(device, &m->data, bytes, err)) {
        dte_model_release(m);
        return -1;
    }
    struct param_arenas arenas = { &m->host, &m->data, optimizer };
    dte_init(&m->net, &spec->config, spec->dtype, &m->params, &arenas);
    return 0;
}

void dte_model_release(struct dte_model *m)
{
    tokenizer_close(m->tokenizer);
    params_release(&m->params);
    arena_release(&m->host);
    if (m->data.base)
        device_arena_release(m->device, &m->data);
    *m = (struct dte_model){ 0 };
}

static int load(void *model, const struct model_file *f, struct device *device, struct error *err)
{
    struct dte_model *m = model;
    struct dte_spec spec;

    if (dte_spec_from_json(f->model, &spec, f->reader.path, err))
        return -1;
    struct tokenizer *tokenizer = tokenizer_open_encoder(f->dir, spec.config.bert.vocab_size, err);
    if (!tokenizer || dte_model_init(m, device, &spec, OPTIMIZER_NONE, tokenizer, err))
        return -1;
    m->sum = sum_folder(HASH_START, f->dir);
    if (model_file_load(f, &m->params, device, err) == 0)
        return 0;
    dte_model_release(m);
    return -1;
}

int dte_model_open(struct dte_model *m, struct device *device, const char *dir, struct error *err)
{
    *m = (struct dte_model){ 0 };
    return model_file_read(dir, "tag", load, m, device, err);
}
