/* Part of lora.h: an adapter's folder, read and written. */
#include "models/lora/lora.h"

#include "data/util/json.h"
#include "models/checkpoint/mismatch.h"
#include "models/checkpoint/safetensors.h"
#include "models/lora/config_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 512 };

#define PREFIX "base_model.model."
#define WEIGHTS "adapter_model.safetensors"

static void file_name(char out[NAME], const char *name, const char *ending)
{
    int n = snprintf(out, NAME, PREFIX "%s%s", name, ending);
    CHECK(n > 0 && n < NAME, "parameter name %s", name);
}

/* One file being read. */
struct lora_reader {
    struct safetensors s;
    const struct params *p;
    struct device *device;
    bool *used; /* per entry */
    float *room;
    struct mismatch mismatch;
};

static const struct safetensors_entry *entry_of(const struct lora_reader *l, const struct param *p)
{
    char name[NAME];

    file_name(name, p->name, "");
    return safetensors_find(&l->s, name);
}

static void match_param(struct lora_reader *l, const struct param *p)
{
    const struct safetensors_entry *e = entry_of(l, p);
    char a[128], b[128];

    if (!e) {
        name_list_add(&l->mismatch.missing, PREFIX "%.150s", p->name);
        return;
    }
    l->used[e - l->s.entries] = true;
    if (e->dtype == ST_OTHER || !shape_equal(e->ndim, e->shape, p->t->ndim, p->t->shape))
        name_list_add(&l->mismatch.wrong_shape, "%.150s: expected floats %s, got %s %s", e->name,
                      shape_text(b, p->t->ndim, p->t->shape), e->dtype_name, shape_text(a, e->ndim, e->shape));
}

/* The file's numbers in l->room, of which none may be infinite or none at all. */
static int read_entry(struct lora_reader *l, const struct safetensors_entry *e, struct error *err)
{
    l->room = xrealloc(l->room, (size_t)(e->size ? e->size : 1) * sizeof *l->room);
    if (safetensors_read_f32(&l->s, e, l->room, 0, e->size, err))
        return -1;
    for (int64_t i = 0; i < e->size; i++)
        if (!isfinite(l->room[i]))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: element %lld is %g", l->s.path, e->name, (long long)i,
                             (double)l->room[i]);
    return 0;
}

/* PEFT writes the base's own matrix beside a pair for lm_head.  One that is not the base's would have to replace it. */
static int check_base(struct lora_reader *l, const struct lora_module *m, struct error *err)
{
    const struct tensor *w = m->base;
    char name[NAME];

    file_name(name, m->name, ".base_layer.weight");
    const struct safetensors_entry *e = safetensors_find(&l->s, name);
    if (!e)
        return 0;
    l->used[e - l->s.entries] = true;
    bool same = e->dtype != ST_OTHER && shape_equal(e->ndim, e->shape, w->ndim, w->shape);
    if (same && read_entry(l, e, err))
        return -1;
    struct param base = { .t = m->base };
    float *values = xmalloc((size_t)tensor_size(w) * sizeof *values);
    param_download(&base, l->device, values);
    for (int64_t i = 0; i < e->size && same; i++) /* but for the rounding of either type */
        same = fabsf(l->room[i] - values[i]) <= 0x1p-8f * fabsf(values[i]) + 0x1p-24f;
    free(values);
    if (!same)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s is not the base's matrix: made for another base", l->s.path,
                         name);
    return 0;
}

static int match(struct lora_reader *l, const struct lora_module *modules, int n, struct error *err)
{
    for (int i = 0; i < l->p->n; i++)
        match_param(l, &l->p->list[i]);
    for (int i = 0; i < n; i++)
        if (check_base(l, &modules[i], err))
            return -1;
    for (int i = 0; i < l->s.n; i++)
        if (!l->used[i])
            name_list_add(&l->mismatch.unexpected, "%.150s", l->s.entries[i].name);
    return mismatch_report(&l->mismatch, l->s.path, err);
}

static int read_params(struct lora_reader *l, bool upload, struct error *err)
{
    for (int i = 0; i < l->p->n; i++) {
        if (read_entry(l, entry_of(l, &l->p->list[i]), err))
            return -1;
        if (upload)
            param_upload(&l->p->list[i], l->device, l->room);
    }
    return 0;
}

static int open_weights(struct safetensors *s, const char *dir, struct error *err)
{
    char *path = path_in(dir, WEIGHTS), *pickle = path_in(dir, "adapter_model.bin");
    int rc = -1;

    if (access(path, F_OK) != 0 && access(pickle, F_OK) == 0)
        error_set(err, EXIT_CODE_CHECKPOINT,
                  "%s: pickles are not read; in Python: from safetensors.torch import save_file; "
                  "save_file(torch.load(\"%s\"), \"%s\")",
                  pickle, pickle, path);
    else
        rc = safetensors_open(s, path, err);
    free(path);
    free(pickle);
    return rc;
}

int lora_load(const struct params *p, struct device *d, const struct lora_module *modules, int n, const char *dir,
              struct error *err)
{
    struct lora_reader l = { .p = p, .device = d };
    int rc = -1;

    if (open_weights(&l.s, dir, err))
        return -1;
    l.used = xcalloc((size_t)(l.s.n ? l.s.n : 1), sizeof *l.used);
    if (match(&l, modules, n, err) == 0 && read_params(&l, false, err) == 0)
        rc = read_params(&l, true, err);
    free(l.room);
    free(l.used);
    safetensors_close(&l.s);
    return rc;
}

/* A number as PEFT writes it: whole ones without a point. */
static json_t *number(float x)
{
    return x == truncf(x) && fabsf(x) < 1e9f ? json_integer((json_int_t)x) : config_short_real(x);
}

static json_t *exceptions(const struct lora_exceptions *e)
{
    json_t *o = json_object();

    for (int i = 0; i < e->n; i++)
        json_object_set_new(o, e->list[i].text, number(e->list[i].value));
    return o;
}

/* Lists of endings as they are; otherwise the modules that the adapter is on, which every reader understands. */
static json_t *targets(const struct lora_config *c, const struct params *p)
{
    const char *ending = ".lora_A.weight";
    bool as_given = c->targets.n && !c->excluded.n && !c->excluded.pattern && !c->some_layers;
    json_t *list = json_array();

    for (int i = 0; i < c->targets.n && as_given; i++)
        json_array_append_new(list, json_string(c->targets.list[i]));
    for (int i = 0; i < p->n && !as_given; i++) {
        const char *name = p->list[i].name, *at = strstr(name, ending);
        if (at && !at[strlen(ending)])
            json_array_append_new(list, json_stringn(name, (size_t)(at - name)));
    }
    return list;
}

static int write_config(const struct lora_config *c, const struct params *p, const char *dir, struct error *err)
{
    char *path = path_in(dir, "adapter_config.json");
    json_t *o = json_pack("{s:s, s:s, s:s?, s:n, s:o, s:n, s:n, s:n, s:i, s:o, s:o, s:b, s:o, s:o, s:s, s:b, s:b, s:b, "
                          "s:b, s:b}",
                          "peft_type", "LORA", "task_type", "CAUSAL_LM", "base_model_name_or_path", c->base, "revision",
                          "target_modules", targets(c, p), "exclude_modules", "layers_to_transform", "layers_pattern",
                          "r", c->r, "lora_alpha", number(c->alpha), "lora_dropout", config_short_real(c->dropout),
                          "use_rslora", c->rslora, "rank_pattern", exceptions(&c->ranks), "alpha_pattern",
                          exceptions(&c->alphas), "bias", "none", "fan_in_fan_out", false, "inference_mode", true,
                          "init_lora_weights", true, "use_dora", false, "lora_bias", false);

    CHECK(o, "adapter_config.json: a name is not UTF-8");
    json_object_set_new(o, "modules_to_save", c->full_head ? json_pack("[s]", "lm_head") : json_null());
    int rc = json_write_file(path, o, err);
    json_decref(o);
    free(path);
    return rc;
}

static struct safetensors_spec *make_specs(const struct params *p, char (*names)[NAME])
{
    struct safetensors_spec *specs = xcalloc((size_t)p->n, sizeof *specs);

    for (int i = 0; i < p->n; i++) {
        const struct tensor *t = p->list[i].t;
        file_name(names[i], p->list[i].name, "");
        specs[i] = (struct safetensors_spec){ .name = names[i], .ndim = t->ndim };
        memcpy(specs[i].shape, t->shape, (size_t)t->ndim * sizeof *t->shape);
    }
    return specs;
}

static int put_params(struct safetensors_writer *w, const struct params *p, struct device *d, struct error *err)
{
    float *room = NULL;
    int rc = 0;

    for (int i = 0; i < p->n && rc == 0; i++) {
        int64_t n = tensor_size(p->list[i].t);
        room = xrealloc(room, (size_t)n * sizeof *room);
        param_download(&p->list[i], d, room);
        rc = safetensors_put(w, i, room, 0, n, err);
    }
    free(room);
    return rc;
}

static int write_weights(const struct params *p, struct device *d, const char *dir, enum dtype stored,
                         struct error *err)
{
    char(*names)[NAME] = xmalloc((size_t)p->n * sizeof *names), *path = path_in(dir, WEIGHTS);
    struct safetensors_spec *specs = make_specs(p, names);
    struct safetensors_writer *w = safetensors_create(path, specs, p->n, stored == BF16 ? ST_BF16 : ST_F32, err);
    int rc = safetensors_finish(w, w ? put_params(w, p, d, err) : -1, err);

    free(path);
    free(names);
    free(specs);
    return rc;
}

int lora_save(const struct params *p, struct device *d, const struct lora_config *c, const char *dir, enum dtype stored,
              struct error *err)
{
    CHECK(p->n > 0, "an adapter without parameters");
    if (make_dirs(dir, err) || write_weights(p, d, dir, stored, err))
        return -1;
    return write_config(c, p, dir, err);
}
