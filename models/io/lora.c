#include "models/io/lora.h"

#include "data/base/json.h"
#include "kernels/base.h"
#include "kernels/workspace.h"
#include "models/io/config_fields.h"
#include "models/io/mismatch.h"
#include "models/io/safetensors.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum { HOST_BYTES = 1 << 16, PIECE = 1 << 24 /* elements of B A that are computed at a time */ };

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
