#include "models/io/lora_config.h"

#include "data/base/json.h"
#include "kernels/base.h"
#include "models/io/config_fields.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Regular expressions that match the whole name of a module, as Python's re.fullmatch. They are untrusted, so the cost
 * of a match is bounded. */

enum { MAX_PATTERN = 4096, MAX_STEPS = 100000, MAX_HEAP_KIB = 1024, MAX_DIGITS = 9 };

struct name_pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *found;
    char *text; /* the pattern as in the file */
};

static char *joined(const char *before, const char *pattern, const char *after)
{
    size_t n = strlen(before) + strlen(pattern) + strlen(after) + 1;
    char *text = xmalloc(n);

    snprintf(text, n, "%s%s%s", before, pattern, after);
    return text;
}

static int compile_pattern(struct name_pattern *p, const char *before, const char *after, struct error *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C;
    char *text = joined(before, p->text, after);
    unsigned char why[128];
    PCRE2_SIZE at;
    int code;

    p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    free(text);
    if (!p->code) {
        pcre2_get_error_message(code, why, sizeof why);
        return error_set(err, EXIT_CODE_CHECKPOINT, "pattern \"%.80s\": %s", p->text, (char *)why);
    }
    p->limits = pcre2_match_context_create(NULL);
    p->found = pcre2_match_data_create_from_pattern(p->code, NULL);
    CHECK(p->limits && p->found, "out of memory");
    pcre2_set_match_limit(p->limits, MAX_STEPS);
    pcre2_set_heap_limit(p->limits, MAX_HEAP_KIB);
    return 0;
}

static void name_pattern_close(struct name_pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->found);
    free(p->text);
    free(p);
}

/* Compiles before + pattern + after. Returns NULL with EXIT_CODE_CHECKPOINT if the pattern is too long or invalid. */
static struct name_pattern *name_pattern_open(const char *before, const char *pattern, const char *after,
                                              struct error *err)
{
    if (strlen(pattern) > MAX_PATTERN) {
        error_set(err, EXIT_CODE_CHECKPOINT, "pattern: expected at most %d bytes, got %zu", MAX_PATTERN,
                  strlen(pattern));
        return NULL;
    }
    struct name_pattern *p = xcalloc(1, sizeof *p);
    p->text = xstrdup(pattern);
    if (compile_pattern(p, before, after, err) == 0)
        return p;
    name_pattern_close(p);
    return NULL;
}

/* Returns 1 if the whole name matches, 0 if not, -1 with EXIT_CODE_CHECKPOINT if the match takes too many steps. */
static int name_pattern_match(const struct name_pattern *p, const char *name, struct error *err)
{
    int rc = pcre2_match(p->code, (PCRE2_SPTR)name, PCRE2_ZERO_TERMINATED, 0, 0, p->found, p->limits);

    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "pattern \"%.80s\": gave up on %s after %d steps", p->text, name,
                     MAX_STEPS);
}

/* name_pattern_match that also returns the number matched by the group idx, or -1. */
static int name_pattern_number(const struct name_pattern *p, const char *name, int64_t *number, struct error *err)
{
    unsigned char digits[MAX_DIGITS + 1];
    PCRE2_SIZE size = sizeof digits;
    int rc = name_pattern_match(p, name, err);

    *number = -1;
    if (rc == 1 && pcre2_substring_copy_byname(p->found, (PCRE2_SPTR) "idx", digits, &size) == 0)
        *number = strtoll((char *)digits, NULL, 10);
    return rc;
}

/* Reading of adapter_config.json. */

enum { MAX_NAMES = 1 << 16, MAX_EXCEPTIONS = 4096, MAX_NAME = 256, MAX_LAYERS = 1 << 16 };

#define LAYER_NUMBER ")\\.(?P<idx>\\d+)\\..*"

/* Settings for initialisation, sharding and serving. They do not change the adapter's function. */
static const char *const harmless[] = { "eva_config",      "corda_config",   "lora_ga_config", "loftq_config",
                                        "megatron_config", "runtime_config", "use_rslora" };
/* Settings that change the adapter's function unless they are false or empty. is_variant finds more. */
static const char *const refused[] = { "lora_bias",
                                       "layer_replication",
                                       "target_parameters",
                                       "alora_invocation_tokens",
                                       "trainable_token_indices",
                                       "ensure_weight_tying" };
/* Settings that are read here, or that do not change the function of an adapter on a linear map. */
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
/* Initialisations that leave the base's weights unchanged. */
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

/* PEFT names its variants use_NAME and NAME_config, including variants that are newer than this list. */
static bool is_variant(const char *field)
{
    size_t n = strlen(field), ending = strlen("_config");

    return (strncmp(field, "use_", 4) == 0 || (n > ending && strcmp(field + n - ending, "_config") == 0)) &&
           !among(field, harmless, ARRAY_LEN(harmless));
}

static int check_type(const struct config_fields *s)
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

/* Returns a name in a list, or NULL with err set. */
static const char *name_at(const struct config_fields *s, const char *field, const json_t *v)
{
    const char *text = json_string_value(v);

    if (text && *text && strlen(text) <= MAX_NAME)
        return text;
    config_refuse(s, field, "names of at most 256 bytes");
    return NULL;
}

/* Reads a list of names, or a pattern. */
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

/* Reads an object that maps patterns to numbers; integers if `whole`. */
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

/* Without layers_pattern, the first number counts that has at least two names before it. */
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
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a JSON object", where);
    if (check_type(&s) || config_maybe_int(&s, "r", 1, LORA_MAX_RANK, &c->r) ||
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

/* PEFT's rules: the modules that have an adapter, with rank and scale. */

static bool ends_in(const char *name, const char *item)
{
    size_t n = strlen(name), k = strlen(item);

    return n > k && name[n - k - 1] == '.' && strcmp(name + n - k, item) == 0;
}

/* Returns whether a list contains the name (`whole`) or a suffix of it. */
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

/* A full name counts in every layer, so layers_to_transform does not apply to it. */
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

/* Sets *value to the first exception that matches. It keeps its value if none does. */
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
