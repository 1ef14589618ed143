/* Part of lora.h: adapter_config.json as PEFT writes it. */
#include "models/lora/lora.h"

#include "data/util/json.h"
#include "models/lora/config_fields.h"
#include "models/lora/name_pattern.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1 << 16, MAX_EXCEPTIONS = 4096, MAX_NAME = 256, MAX_LAYERS = 1 << 16 };

#define LAYER_NUMBER ")\\.(?P<idx>\\d+)\\..*"

/* Settings of how an adapter was started, split or served, which leave alone what it computes. */
static const char *const harmless[] = { "eva_config",      "corda_config",   "lora_ga_config", "loftq_config",
                                        "megatron_config", "runtime_config", "use_rslora" };
/* Others that mean another computation unless they are false or empty; see also is_variant. */
static const char *const refused[] = { "lora_bias",
                                       "layer_replication",
                                       "target_parameters",
                                       "alora_invocation_tokens",
                                       "trainable_token_indices",
                                       "ensure_weight_tying" };
/* Fields that are read here, or that leave alone what a linear map's adapter computes. */
static const char *const known[] = { "peft_type",
                                     "task_type",
                                     "base_model_name_or_path",
                                     "revision",
                                     "target_modules",
                                     "exclude_modules",
                                     "layers_pattern",
                                     "r",
                                     "layers_to_transform",
                                     "lora_alpha",
                                     "lora_dropout",
                                     "use_rslora",
                                     "rank_pattern",
                                     "alpha_pattern",
                                     "bias",
                                     "modules_to_save",
                                     "auto_mapping",
                                     "init_lora_weights",
                                     "fan_in_fan_out",
                                     "inference_mode",
                                     "peft_version",
                                     "qalora_group_size",
                                     "unsloth_fixed",
                                     "megatron_core",
                                     NULL };
/* Ways to start; all others take something away from the base's weights. */
static const char *const starts[] = { "gaussian", "eva", "orthogonal" };

static bool among(const char *name, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

static bool is_empty(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) ||
           ((json_is_array(v) || json_is_object(v)) && !json_array_size(v) && !json_object_size(v));
}

/* PEFT names its variants use_NAME and NAME_config, those that are not known here too. */
static bool is_variant(const char *field)
{
    size_t n = strlen(field), ending = strlen("_config");

    return (strncmp(field, "use_", 4) == 0 || (n > ending && strcmp(field + n - ending, "_config") == 0)) &&
           !among(field, harmless, ARRAY_LEN(harmless));
}

static int check_kind(const struct config_fields *s)
{
    const char *type = json_string_value(json_object_get(s->root, "peft_type"));
    const json_t *start = json_object_get(s->root, "init_lora_weights"), *bias = json_object_get(s->root, "bias");
    const char *field;
    json_t *v;

    if (!type || strcmp(type, "LORA"))
        return config_refuse(s, "peft_type", "\"LORA\"");
    json_object_foreach((json_t *)(uintptr_t)s->root, field, v)
    {
        if ((is_variant(field) || among(field, refused, ARRAY_LEN(refused))) && !is_empty(v))
            return config_refuse(s, field, "none (it changes what the adapter computes)");
        if (!is_empty(v) && !config_named(known, field) && !among(field, harmless, ARRAY_LEN(harmless)))
            config_unknown(s, field);
    }
    if (!config_absent(s, "bias") && (!json_is_string(bias) || strcmp(json_string_value(bias), "none")))
        return config_refuse(s, "bias", "\"none\"");
    if (!config_absent(s, "init_lora_weights") && !json_is_boolean(start) &&
        (!json_is_string(start) || !among(json_string_value(start), starts, ARRAY_LEN(starts))))
        return config_refuse(s, "init_lora_weights",
                             "true, false, \"gaussian\", \"eva\" or \"orthogonal\" (others change the base's weights)");
    return 0;
}

static struct name_pattern *open_pattern(const struct config_fields *s, const char *field, const char *before,
                                         const char *pattern, const char *after)
{
    struct name_pattern *p = name_pattern_open(before, pattern, after, s->err);

    if (!p)
        error_prefix(s->err, "%s: %s", s->where, field);
    return p;
}

static void add_name(struct lora_names *names, const char *text)
{
    GROW(names->list, names->n, names->cap);
    names->list[names->n++] = xstrdup(text);
}

/* A string of the list, or NULL with the field refused. */
static const char *name_at(const struct config_fields *s, const char *field, const json_t *v)
{
    const char *text = json_string_value(v);

    if (text && *text && strlen(text) <= MAX_NAME)
        return text;
    config_refuse(s, field, "names of at most 256 bytes");
    return NULL;
}

/* A list of names, or a pattern. */
static int get_names(struct lora_names *names, const struct config_fields *s, const char *field)
{
    const json_t *v = json_object_get(s->root, field), *item;
    size_t i;

    if (config_absent(s, field))
        return 0;
    if (json_is_string(v)) {
        names->pattern = open_pattern(s, field, "", json_string_value(v), "");
        return names->pattern ? 0 : -1;
    }
    if (!json_is_array(v) || json_array_size(v) > MAX_NAMES)
        return config_refuse(s, field, "a list of names or a pattern");
    json_array_foreach((json_t *)(uintptr_t)v, i, item)
    {
        const char *name = name_at(s, field, item);
        if (!name)
            return -1;
        add_name(names, name);
    }
    return 0;
}

static int get_targets(struct lora_config *c, const struct config_fields *s)
{
    const json_t *v = json_object_get(s->root, "target_modules");

    if (json_is_string(v) && !strcmp(json_string_value(v), "all-linear"))
        c->targets.all_linear = true;
    else if (get_names(&c->targets, s, "target_modules"))
        return -1;
    if (!c->targets.all_linear && !c->targets.pattern && !c->targets.n)
        return config_refuse(s, "target_modules", "a list of names, a pattern or \"all-linear\"");
    return get_names(&c->excluded, s, "exclude_modules");
}

/* An object from patterns to numbers, whole ones for ranks. */
static int get_exceptions(struct lora_exceptions *e, const struct config_fields *s, const char *field, double low,
                          double high, bool whole)
{
    const json_t *v = json_object_get(s->root, field);
    const char *key;
    json_t *value;

    if (config_absent(s, field))
        return 0;
    if (!json_is_object(v) || json_object_size(v) > MAX_EXCEPTIONS)
        return config_refuse(s, field, "an object of at most 4,096 patterns");
    json_object_foreach((json_t *)(uintptr_t)v, key, value)
    {
        double x = json_number_value(value);
        if (!(whole ? json_is_integer(value) : json_is_number(value)) || !(x >= low && x <= high))
            return error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: %s: \"%.80s\": expected %s from %g to %g", s->where,
                             field, key, whole ? "an integer" : "a number", low, high);
        struct name_pattern *p = open_pattern(s, field, "(.*\\.)?(", key, ")");
        if (!p)
            return -1;
        GROW(e->list, e->n, e->cap);
        e->list[e->n++] = (struct lora_exception){ xstrdup(key), p, (float)x };
    }
    return 0;
}

static int add_layer(struct lora_config *c, const struct config_fields *s, const json_t *v)
{
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > MAX_LAYERS)
        return config_refuse(s, "layers_to_transform", "numbers of layers");
    GROW(c->layers, c->n_layers, c->cap_layers);
    c->layers[c->n_layers++] = (int)json_integer_value(v);
    return 0;
}

static int add_layer_list(struct lora_config *c, const struct config_fields *s, const char *before, const char *pattern)
{
    struct name_pattern *p = open_pattern(s, "layers_pattern", before, pattern, LAYER_NUMBER);

    if (!p)
        return -1;
    GROW(c->layer_lists, c->n_layer_lists, c->cap_layer_lists);
    c->layer_lists[c->n_layer_lists++] = p;
    return 0;
}

/* Without layers_pattern the first number counts that has two names before it. */
static int get_layer_lists(struct lora_config *c, const struct config_fields *s)
{
    struct lora_names names = { 0 };
    const json_t *v = json_object_get(s->root, "layers_pattern");
    int rc = 0;

    if (json_is_string(v) && json_string_length(v))
        return add_layer_list(c, s, "(?:^|.*?\\.)(?:", json_string_value(v));
    if (is_empty(v) || config_absent(s, "layers_pattern") || json_is_string(v))
        return add_layer_list(c, s, ".*?\\.(?:", "[^.]*");
    rc = get_names(&names, s, "layers_pattern");
    for (int i = 0; i < names.n; i++) {
        if (rc == 0)
            rc = add_layer_list(c, s, "(?:^|.*?\\.)(?:", names.list[i]);
        free(names.list[i]);
    }
    free(names.list);
    return rc;
}

static int get_layers(struct lora_config *c, const struct config_fields *s)
{
    const json_t *v = json_object_get(s->root, "layers_to_transform"), *item;
    size_t i;

    if (config_absent(s, "layers_to_transform") || (json_is_array(v) && !json_array_size(v)))
        return 0;
    if (c->targets.pattern || c->targets.all_linear)
        return config_refuse(s, "layers_to_transform", "none beside a target_modules that is no list");
    c->some_layers = true;
    if (json_is_array(v) && json_array_size(v) > MAX_LAYERS)
        return config_refuse(s, "layers_to_transform", "numbers of layers");
    if (!json_is_array(v) && add_layer(c, s, v))
        return -1;
    json_array_foreach((json_t *)(uintptr_t)v, i, item)
    {
        if (add_layer(c, s, item))
            return -1;
    }
    return get_layer_lists(c, s);
}

static int get_saved_modules(struct lora_config *c, const struct config_fields *s)
{
    const json_t *v = json_object_get(s->root, "modules_to_save");
    const char *only = json_string_value(json_array_get(v, 0));

    if (config_absent(s, "modules_to_save") || (json_is_array(v) && !json_array_size(v)))
        return 0;
    if (json_array_size(v) != 1 || !only || strcmp(only, "lm_head"))
        return config_refuse(s, "modules_to_save", "[\"lm_head\"] or null");
    c->full_head = true;
    return 0;
}

static int get_base(struct lora_config *c, const struct config_fields *s)
{
    const json_t *v = json_object_get(s->root, "base_model_name_or_path");

    if (config_absent(s, "base_model_name_or_path"))
        return 0;
    if (!json_is_string(v))
        return config_refuse(s, "base_model_name_or_path", "a string");
    c->base = xstrdup(json_string_value(v));
    return 0;
}

int lora_config_parse(struct lora_config *c, const json_t *root, const char *where, struct error *err)
{
    struct config_fields s = { root, where, err };

    *c = (struct lora_config){ .r = 8, .alpha = 8 };
    if (!json_is_object(root))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: not a JSON object", where);
    if (check_kind(&s) || config_maybe_int(&s, "r", 1, LORA_MAX_RANK, &c->r) ||
        config_maybe_real(&s, "lora_alpha", -1e6, 1e6, &c->alpha) ||
        config_maybe_real(&s, "lora_dropout", 0, 0.99, &c->dropout) ||
        config_maybe_bool(&s, "use_rslora", &c->rslora) || get_targets(c, &s) ||
        get_exceptions(&c->ranks, &s, "rank_pattern", 1, LORA_MAX_RANK, true) ||
        get_exceptions(&c->alphas, &s, "alpha_pattern", -1e6, 1e6, false) || get_layers(c, &s) ||
        get_saved_modules(c, &s) || get_base(c, &s)) {
        lora_config_release(c);
        return -1;
    }
    return 0;
}

int lora_config_read(struct lora_config *c, const char *dir, struct error *err)
{
    char *path;
    json_t *root = config_open(dir, "adapter_config.json", &path, err);

    *c = (struct lora_config){ 0 };
    int rc = root ? lora_config_parse(c, root, path, err) : -1;
    json_decref(root);
    free(path);
    return rc;
}

void lora_config_init(struct lora_config *c, int r, float alpha, const char *const *targets, int n)
{
    *c = (struct lora_config){ .r = r, .alpha = alpha };
    for (int i = 0; i < n; i++)
        add_name(&c->targets, targets[i]);
}

static void release_names(struct lora_names *names)
{
    for (int i = 0; i < names->n; i++)
        free(names->list[i]);
    free(names->list);
    name_pattern_close(names->pattern);
}

static void release_exceptions(struct lora_exceptions *e)
{
    for (int i = 0; i < e->n; i++) {
        free(e->list[i].text);
        name_pattern_close(e->list[i].pattern);
    }
    free(e->list);
}

void lora_config_release(struct lora_config *c)
{
    release_names(&c->targets);
    release_names(&c->excluded);
    release_exceptions(&c->ranks);
    release_exceptions(&c->alphas);
    for (int i = 0; i < c->n_layer_lists; i++)
        name_pattern_close(c->layer_lists[i]);
    free(c->layer_lists);
    free(c->layers);
    free(c->base);
    *c = (struct lora_config){ 0 };
}
