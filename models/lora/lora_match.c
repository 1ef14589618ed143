/* Part of lora.h: which modules an adapter sits on, and how strong it is there: PEFT's rules. */
#include "models/lora/lora.h"
#include "models/lora/name_pattern.h"

#include <math.h>
#include <string.h>

static bool ends_in(const char *name, const char *item)
{
    size_t n = strlen(name), k = strlen(item);

    return n > k && name[n - k - 1] == '.' && strcmp(name + n - k, item) == 0;
}

/* Whether a list has the name itself, or its ending. */
static bool listed(const struct lora_names *names, const char *module, bool whole)
{
    for (int i = 0; i < names->n; i++)
        if (whole ? strcmp(names->list[i], module) == 0 : ends_in(module, names->list[i]))
            return true;
    return false;
}

static int is_excluded(const struct lora_config *c, const char *module, struct error *err)
{
    if (c->full_head && strcmp(module, "lm_head") == 0)
        return 1;
    if (c->excluded.pattern)
        return name_pattern_match(c->excluded.pattern, module, err);
    return listed(&c->excluded, module, true) || listed(&c->excluded, module, false);
}

static int in_layers(const struct lora_config *c, const char *module, struct error *err)
{
    int64_t number = -1;
    int found = 0;

    for (int i = 0; i < c->n_layer_lists && found == 0; i++)
        found = name_pattern_number(c->layer_lists[i], module, &number, err);
    if (found < 0)
        return -1;
    for (int i = 0; i < c->n_layers && found; i++)
        if (c->layers[i] == number)
            return 1;
    return 0;
}

/* A name given in full counts in every layer. */
static int is_targeted(const struct lora_config *c, const char *module, struct error *err)
{
    if (c->targets.all_linear)
        return strcmp(module, "lm_head") != 0;
    if (c->targets.pattern)
        return name_pattern_match(c->targets.pattern, module, err);
    if (listed(&c->targets, module, true))
        return 1;
    if (!listed(&c->targets, module, false))
        return 0;
    return c->some_layers ? in_layers(c, module, err) : 1;
}

/* The value of the first exception that matches; *value stays when none does. */
static int find_exception(const struct lora_exceptions *e, const char *module, float *value, struct error *err)
{
    int found = 0;

    for (int i = 0; i < e->n && found == 0; i++) {
        found = name_pattern_match(e->list[i].pattern, module, err);
        if (found > 0)
            *value = e->list[i].value;
    }
    return found < 0 ? -1 : 0;
}

int lora_config_rank(const struct lora_config *c, const char *module, float *scale, struct error *err)
{
    float rank = (float)c->r, alpha = c->alpha;
    int excluded = is_excluded(c, module, err), targeted = excluded ? 0 : is_targeted(c, module, err);

    if (excluded < 0 || targeted < 0)
        return -1;
    if (!targeted)
        return 0;
    if (find_exception(&c->ranks, module, &rank, err) || find_exception(&c->alphas, module, &alpha, err))
        return -1;
    *scale = alpha / (c->rslora ? sqrtf(rank) : rank);
    return (int)rank;
}
