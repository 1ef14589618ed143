#include "models/io/lora.h"

#include "data/base/json.h"
#include "kernels/workspace.h"
#include "models/io/config_fields.h"
#include "models/io/mismatch.h"
#include "models/io/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 1 << 16, PIECE = 1 << 24 /* elements of B A that are computed at a time */, MAX_NAME = 256 };

static const struct lora_module *head_of(const struct lora_module *modules, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(modules[i].name, "lm_head") == 0)
            return &modules[i];
    return NULL;
}

/* Fills ranks and scales of all modules. Returns the number of modules with an adapter, or -1. */
static int find_ranks(const struct lora_config *c, const struct lora_module *modules, int n, int *rank, float *scale,
                      struct error *err)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        rank[i] = lora_config_rank(c, modules[i].name, &scale[i], err);
        if (rank[i] < 0)
            return -1;
        found += rank[i] > 0;
    }
    if (!found && c->targets.n + c->targets.all_linear + (c->targets.pattern != NULL))
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "target_modules: expected at least one of the model's %d linear maps", n);
    if (c->full_head && !head_of(modules, n))
        return error_set(err, EXIT_CODE_CHECKPOINT, "modules_to_save: the model has no lm_head");
    return found;
}

/* Allocates the A matrices of the i-th module and the modules after it that share its input, as one matrix. */
static struct param_stack stack_new(const struct param_arenas *a, enum dtype dtype, const struct lora_module *modules,
                                    int n, const int *rank, int i)
{
    int64_t rows = rank[i];

    for (int k = i + 1; k < n && modules[k].shares_input; k++)
        rows += rank[k];
    return param_stack_new(a, dtype, rows, modules[i].in, PARAM_DECAY);
}

static void declare_pair(struct params *p, const struct param_arenas *a, struct param_stack *stack, enum dtype dtype,
                         const struct lora_module *m, int rank)
{
    int64_t out[2] = { m->out, rank };

    m->lora->a = param_new_stacked(p, a, stack, rank, "%s.lora_A.weight", m->name);
    p->list[p->n - 1].init_bound = 1 / sqrtf((float)m->in); /* torch's kaiming_uniform with a = sqrt(5) */
    m->lora->b = param_new(p, a, dtype, 2, out, 0, PARAM_DECAY, "%s.lora_B.weight", m->name);
}

int lora_declare(const struct lora_config *c, struct params *p, const struct param_arenas *a, enum dtype dtype,
                 const struct lora_module *modules, int n, struct error *err)
{
    int *rank = xcalloc((size_t)n, sizeof *rank), found;
    float *scale = xcalloc((size_t)n, sizeof *scale);
    struct param_stack stack = { 0 };

    found = find_ranks(c, modules, n, rank, scale, err);
    for (int i = 0; i < n && found >= 0; i++) {
        if (i == 0 || !modules[i].shares_input)
            stack = stack_new(a, dtype, modules, n, rank, i);
        if (!rank[i])
            continue;
        declare_pair(p, a, &stack, dtype, &modules[i], rank[i]);
        modules[i].lora->scale = scale[i];
        modules[i].lora->dropout = c->dropout;
    }
    if (found >= 0 && c->full_head) {
        const struct lora_module *head = head_of(modules, n);
        *head->w =
            param_new(p, a, dtype, 2, (int64_t[]){ head->out, head->in }, 0, PARAM_DECAY, "%s.weight", head->name);
    }
    free(rank);
    free(scale);
    return found < 0 ? -1 : 0;
}

/* Copies the base's matrix to a trained head. */
struct head_copy {
    const struct tensor *from;
    struct param *to;
};

static void copy_step(struct ctx *c, void *arg)
{
    const struct head_copy *copy = arg;

    RUN(c, cast, copy->to->t, copy->from);
    if (copy->to->master)
        RUN(c, cast, copy->to->master, copy->from);
}

int lora_init_values(struct params *p, struct device *d, const struct lora_module *modules, int n, uint64_t seed,
                     struct error *err)
{
    const struct lora_module *head = head_of(modules, n);
    struct param *whole = params_find(p, "lm_head.weight");
    struct workspace w;

    params_init(p, d, seed);
    if (!whole)
        return 0;
    CHECK(head && *head->w == whole->t, "a whole head that the network does not use");
    if (workspace_init(&w, d, HOST_BYTES, err))
        return -1;
    int rc = workspace_run(&w, copy_step, &(struct head_copy){ head->base, whole }, err);
    d->driver->sync(d);
    workspace_release(&w);
    return rc;
}

static const struct tensor *factor_of(const struct params *p, const char *module, const char *which)
{
    char name[MAX_NAME];

    snprintf(name, sizeof name, "%s.lora_%s.weight", module, which);
    const struct param *found = params_find(p, name);
    CHECK(found, "no parameter %s", name);
    return found->master ? found->master : found->t;
}

struct lora_update {
    const struct lora_module *module;
    const struct tensor *a, *b;
};

/* Adds scale B A to the weights in pieces of rows, so that the product never needs more than PIECE elements. */
static void merge_step(struct ctx *c, void *arg)
{
    const struct lora_update *m = arg;
    int64_t rows = m->module->out, cols = m->module->in, max_rows = PIECE / cols < rows ? PIECE / cols : rows;
    struct tensor *space = tensor_new2(c, F32, max_rows > 0 ? max_rows : 1, cols);
    struct tensor a = tensor_view(m->a, 0, m->a->shape[0]);

    a.frozen = false; /* used once, so packing it would not pay */
    for (int64_t at = 0, k = space->shape[0]; at < rows; at += k) {
        k = k < rows - at ? k : rows - at;
        struct tensor product = tensor_view(space, 0, k), b = tensor_view(m->b, at, k);
        struct tensor w = tensor_view(*m->module->w, at, k);
        struct destination to = { &product, false }, sum = { &w, true };
        RUN(c, matmul, to, &b, false, &a, false);
        RUN(c, scale, sum, &product, m->module->lora->scale);
    }
}

/* Uploads one row again. This tells the device that a kernel changed a matrix of which it may keep a packed copy. */
static void mark_changed(struct device *d, const struct tensor *w)
{
    struct tensor row = tensor_view(w, 0, 1);
    void *numbers = xmalloc(tensor_bytes(&row));

    device_download(d, numbers, &row);
    device_upload(d, &row, numbers);
    free(numbers);
}

static int merge_module(struct workspace *w, const struct params *p, const struct lora_module *m, struct error *err)
{
    struct lora_update arg = { m, factor_of(p, m->name, "A"), factor_of(p, m->name, "B") };

    if (workspace_run(w, merge_step, &arg, err))
        return -1;
    mark_changed(w->device, *m->w);
    m->lora->a = m->lora->b = NULL;
    return 0;
}

int lora_merge(const struct params *p, struct device *d, const struct lora_module *modules, int n, struct error *err)
{
    struct workspace w;
    int rc = 0;

    if (workspace_init(&w, d, HOST_BYTES, err))
        return -1;
    for (int i = 0; i < n && rc == 0; i++)
        if (modules[i].lora->a)
            rc = merge_module(&w, p, &modules[i], err);
    workspace_release(&w);
    return rc;
}

/* Reading and writing of an adapter's folder. */

enum { NAME = 512 };

#define PREFIX "base_model.model."
#define WEIGHTS "adapter_model.safetensors"

static void file_name(char out[NAME], const char *name, const char *ending)
{
    int n = snprintf(out, NAME, PREFIX "%s%s", name, ending);
    CHECK(n > 0 && n < NAME, "parameter name %s", name);
}

/* State of reading one file. */
struct lora_reader {
    struct safetensors s;
    const struct params *p;
    struct device *device;
    bool *used; /* [s.n] entries that a parameter took */
    float *buffer;
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

/* Reads a tensor into l->buffer. Infinity and NaN are errors. */
static int read_entry(struct lora_reader *l, const struct safetensors_entry *e, struct error *err)
{
    l->buffer = xrealloc(l->buffer, (size_t)(e->size ? e->size : 1) * sizeof *l->buffer);
    if (safetensors_read_f32(&l->s, e, l->buffer, 0, e->size, err))
        return -1;
    for (int64_t i = 0; i < e->size; i++)
        if (!isfinite(l->buffer[i]))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: element %lld: expected a finite number, got %g",
                             l->s.path, e->name, (long long)i, (double)l->buffer[i]);
    return 0;
}

/* PEFT stores the base's matrix next to an adapter of lm_head. It must equal the matrix of this base. */
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
    for (int64_t i = 0; i < e->size && same; i++) /* up to the rounding of either type */
        same = fabsf(l->buffer[i] - values[i]) <= 0x1p-8f * fabsf(values[i]) + 0x1p-24f;
    free(values);
    if (!same)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: %s differs from the base's matrix: the adapter was trained on another base", l->s.path,
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
            param_upload(&l->p->list[i], l->device, l->buffer);
    }
    return 0;
}

static int open_weights(struct safetensors *s, const char *dir, struct error *err)
{
    char *path = path_in(dir, WEIGHTS), *pickle = path_in(dir, "adapter_model.bin");
    int rc = -1;

    if (access(path, F_OK) != 0 && access(pickle, F_OK) == 0)
        error_set(
            err, EXIT_CODE_CHECKPOINT,
            "%s: pickled weights are not supported; convert them in Python: from safetensors.torch import save_file; "
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
    free(l.buffer);
    free(l.used);
    safetensors_close(&l.s);
    return rc;
}

/* Writes a number as PEFT does: integers without a decimal point. */
static json_t *number(float x)
{
    return x == truncf(x) && fabsf(x) < 1e9f ? json_integer((json_int_t)x) : config_short_real(x);
}

static json_t *exceptions_json(const struct lora_exceptions *e)
{
    json_t *o = json_object();

    for (int i = 0; i < e->n; i++)
        json_object_set_new(o, e->list[i].text, number(e->list[i].value));
    return o;
}

/* Returns the target_modules. A plain list of names is kept. Otherwise the modules with an adapter are listed by their
 * full names, which every reader supports. */
static json_t *targets_json(const struct lora_config *c, const struct params *p)
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
    json_t *o = json_pack(
        "{s:s, s:s, s:s?, s:n, s:o, s:n, s:n, s:n, s:i, s:o, s:o, s:b, s:o, s:o, s:s, s:b, s:b, s:b, "
        "s:b, s:b}",
        "peft_type", "LORA", "task_type", "CAUSAL_LM", "base_model_name_or_path", c->base, "revision", "target_modules",
        targets_json(c, p), "exclude_modules", "layers_to_transform", "layers_pattern", "r", c->r, "lora_alpha",
        number(c->alpha), "lora_dropout", config_short_real(c->dropout), "use_rslora", c->rslora, "rank_pattern",
        exceptions_json(&c->ranks), "alpha_pattern", exceptions_json(&c->alphas), "bias", "none", "fan_in_fan_out",
        false, "inference_mode", true, "init_lora_weights", true, "use_dora", false, "lora_bias", false);

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
    float *buffer = NULL;
    int rc = 0;

    for (int i = 0; i < p->n && rc == 0; i++) {
        int64_t n = tensor_size(p->list[i].t);
        buffer = xrealloc(buffer, (size_t)n * sizeof *buffer);
        param_download(&p->list[i], d, buffer);
        rc = safetensors_put(w, i, buffer, 0, n, err);
    }
    free(buffer);
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
