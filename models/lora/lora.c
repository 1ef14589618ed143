#include "models/lora/lora.h"

#include "kernels/workspace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 1 << 16, PIECE = 1 << 24 /* numbers of B A at a time */, MAX_NAME = 256 };

static const struct lora_module *head_of(const struct lora_module *modules, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(modules[i].name, "lm_head") == 0)
            return &modules[i];
    return NULL;
}

/* Ranks and scales of all modules; how many have an adapter, or -1. */
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
        return error_set(err, EXIT_CODE_CHECKPOINT, "target_modules: none of the model's %d linear maps is among them",
                         n);
    if (c->full_head && !head_of(modules, n))
        return error_set(err, EXIT_CODE_CHECKPOINT, "modules_to_save: the model has no lm_head");
    return found;
}

/* The A of all modules that read the same as the i-th, which is the first of them. */
static struct param_stack stack_new(const struct param_arenas *a, enum dtype dtype, const struct lora_module *modules,
                                    int n, const int *rank, int i)
{
    int64_t rows = rank[i];

    for (int k = i + 1; k < n && modules[k].beside; k++)
        rows += rank[k];
    return param_stack_new(a, dtype, rows, modules[i].in, PARAM_DECAY);
}

static void declare_pair(struct params *p, const struct param_arenas *a, struct param_stack *stack, enum dtype dtype,
                         const struct lora_module *m, int rank)
{
    int64_t out[2] = { m->out, rank };

    m->lora->a = param_new_stacked(p, a, stack, rank, "%s.lora_A.weight", m->name);
    p->list[p->n - 1].init_bound = 1 / sqrtf((float)m->in); /* what torch calls kaiming_uniform with a = sqrt(5) */
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
        if (i == 0 || !modules[i].beside)
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

/* A whole head starts as the base's matrix. */
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

static void merge_step(struct ctx *c, void *arg)
{
    const struct lora_update *m = arg;
    int64_t rows = m->module->out, cols = m->module->in, most = PIECE / cols < rows ? PIECE / cols : rows;
    struct tensor *room = tensor_new2(c, F32, most > 0 ? most : 1, cols);
    struct tensor a = tensor_view(m->a, 0, m->a->shape[0]);

    a.frozen = false; /* used once: not worth a packed copy */
    for (int64_t at = 0, k = room->shape[0]; at < rows; at += k) {
        k = k < rows - at ? k : rows - at;
        struct tensor product = tensor_view(room, 0, k), b = tensor_view(m->b, at, k);
        struct tensor w = tensor_view(*m->module->w, at, k);
        struct destination to = { &product, false }, sum = { &w, true };
        RUN(c, matmul, to, &b, false, &a, false);
        RUN(c, scale, sum, &product, m->module->lora->scale);
    }
}

/* A kernel wrote to a matrix that may have been packed: an upload of the same numbers says so. */
static void tell_changed(struct device *d, const struct tensor *w)
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
    tell_changed(w->device, *m->w);
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
