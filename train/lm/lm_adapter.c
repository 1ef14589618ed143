#include "train/lm/lm_adapter.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TARGETS = 8 };

static const struct {
    const char *word, *module;
} targets[] = {
    { "q", "q_proj" },       { "k", "k_proj" },   { "v", "v_proj" },       { "o", "o_proj" },
    { "gate", "gate_proj" }, { "up", "up_proj" }, { "down", "down_proj" },
};

static const char *module_of(const char *word, size_t n)
{
    for (int i = 0; i < ARRAY_LEN(targets); i++)
        if (strlen(targets[i].word) == n && !strncmp(word, targets[i].word, n))
            return targets[i].module;
    return NULL;
}

/* "q,v" as names of modules; returns how many. */
static int read_targets(const char *text, const char **modules, struct error *err)
{
    int n = 0;

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        const char *module = module_of(at, length);
        for (int i = 0; i < n && module; i++)
            if (modules[i] == module)
                module = NULL;
        if (!module)
            return error_set(err, EXIT_CODE_USAGE,
                             "targets: expected q, k, v, o, gate, up, down, each once, got '%.*s'",
                             length > 40 ? 40 : (int)length, at);
        modules[n++] = module;
        at += length + (at[length] == ',');
    }
    return n;
}

int lm_lora_config(struct lora_config *c, const struct lm_settings *s, const char *base, struct error *err)
{
    const char *modules[MAX_TARGETS];
    int n = read_targets(s->targets, modules, err);

    if (n < 0)
        return -1;
    if (n == 0 && s->head == HEAD_NONE)
        return error_set(err, EXIT_CODE_USAGE, "targets: none, and head: none; there is nothing to train");
    if (s->head == HEAD_LORA)
        modules[n++] = "lm_head";
    lora_config_init(c, (int)s->rank, (float)s->alpha, modules, n);
    c->dropout = (float)s->lora_dropout;
    c->rslora = s->rslora;
    c->full_head = s->head == HEAD_FULL;
    if (base)
        c->base = xstrdup(base);
    return 0;
}

int lm_add_adapter(struct lm_trainer *t, enum optimizer optimizer, size_t extra, struct error *err)
{
    struct llama_model *m = &t->model;

    if (lm_lora_config(&m->lora, t->set, t->request->base, err))
        return -1;
    if (m->lora.full_head && m->net.config.tied)
        return error_set(err, EXIT_CODE_USAGE,
                         "head: this model's head is its embedding table, expected lora or none, got full");
    struct adapter_plan plan = { .config = &m->lora, .optimizer = optimizer, .extra = extra };
    return llama_model_add_adapter(m, &plan, err);
}
