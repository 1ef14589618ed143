#include "models/io/config_fields.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "models/io/model_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *config_open(const char *dir, const char *name, char **path, struct error *err)
{
    json_t *root = json_read_file(*path = path_in(dir, name), err);

    if (!root && err && err->code == EXIT_CODE_DATA)
        err->code = EXIT_CODE_CHECKPOINT;
    if (!root && access(*path, F_OK) != 0)
        model_folder_explain(dir, name, err);
    return root;
}

bool config_absent(const struct config_fields *s, const char *field)
{
    const json_t *v = json_object_get(s->root, field);
    return !v || json_is_null(v);
}

bool config_named(const char *const *list, const char *field)
{
    while (*list && strcmp(*list, field))
        list++;
    return *list != NULL;
}

void config_unknown(const struct config_fields *s, const char *field)
{
    log_warn("%s: %.60s: unknown field, ignored", s->where, field);
}

int config_refuse(const struct config_fields *s, const char *field, const char *expected)
{
    char *value = json_dumps(json_object_get(s->root, field), JSON_ENCODE_ANY | JSON_COMPACT);
    error_set(s->err, EXIT_CODE_CHECKPOINT, "%s: %s: expected %s, got %.100s", s->where, field, expected,
              value ? value : "?");
    free(value);
    return -1;
}

static int as_checkpoint_error(const struct config_fields *s)
{
    if (s->err)
        s->err->code = EXIT_CODE_CHECKPOINT;
    return -1;
}

int config_int(const struct config_fields *s, const char *field, int64_t low, int64_t high, int *out)
{
    int64_t v;

    if (json_get_int(s->root, field, low, high, &v, s->where, s->err))
        return as_checkpoint_error(s);
    *out = (int)v;
    return 0;
}

int config_real(const struct config_fields *s, const char *field, double low, double high, float *out)
{
    double v;

    if (json_get_real(s->root, field, low, high, &v, s->where, s->err))
        return as_checkpoint_error(s);
    *out = (float)v;
    return 0;
}

int config_maybe_int(const struct config_fields *s, const char *field, int64_t low, int64_t high, int *out)
{
    return config_absent(s, field) ? 0 : config_int(s, field, low, high, out);
}

int config_maybe_real(const struct config_fields *s, const char *field, double low, double high, float *out)
{
    return config_absent(s, field) ? 0 : config_real(s, field, low, high, out);
}

int config_maybe_bool(const struct config_fields *s, const char *field, bool *out)
{
    return config_absent(s, field) || json_get_bool(s->root, field, out, s->where, s->err) == 0
               ? 0
               : as_checkpoint_error(s);
}

int config_text(const struct config_fields *s, const char *field, const json_t *v, char *out, size_t size)
{
    const char *text = json_string_value(v);

    out[0] = '\0';
    if (!v || json_is_null(v))
        return 0;
    if (!text || strlen(text) >= size)
        return config_refuse(s, field, "a short string");
    snprintf(out, size, "%s", text);
    return 0;
}

json_t *config_short_real(float x)
{
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x);
        if (strtof(text, NULL) == x)
            break;
    }
    return json_real(strtod(text, NULL));
}
