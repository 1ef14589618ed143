#include "infer/api/request.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_known(const char *name, const char *known)
{
    size_t n = strlen(name);

    for (const char *at = known; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strncmp(at, name, n) == 0 && (at[n] == ' ' || !at[n]))
            return n > 0 && !strchr(name, ' ');
    return false;
}

static int check_fields(const json_t *o, const char *place, const char *known, struct error *err)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)o, name, value)
    {
        if (!is_known(name, known))
            return error_set(err, EXIT_CODE_USAGE, "%s: unknown field \"%.100s\", expected some of: %s", place, name,
                             known);
    }
    return 0;
}

json_t *request_read(const char *text, const char *place, const char *known, struct error *err)
{
    json_error_t why;
    json_t *o = json_loads(text ? text : "{}", JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);

    if (!o)
        error_set(err, EXIT_CODE_USAGE, "%s: line %d, column %d: no JSON: %s", place, why.line, why.column, why.text);
    else if (!json_is_object(o))
        error_set(err, EXIT_CODE_USAGE, "%s: expected an object, got %s", place, json_type_name(o));
    else if (check_fields(o, place, known, err) == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* A wrong value of a request is an error of usage. */
static int as_usage(int rc, struct error *err)
{
    if (rc && err)
        err->code = EXIT_CODE_USAGE;
    return rc ? -1 : 0;
}

int request_string(const json_t *o, const char *field, const char **out, struct error *err)
{
    if (!json_object_get(o, field))
        return 0;
    *out = json_get_string(o, field, "settings", err);
    return as_usage(*out ? 0 : -1, err);
}

int request_int(const json_t *o, const char *field, int64_t low, int64_t high, int64_t *out, struct error *err)
{
    return json_object_get(o, field) ? as_usage(json_get_int(o, field, low, high, out, "settings", err), err) : 0;
}

int request_real(const json_t *o, const char *field, double low, double high, double *out, struct error *err)
{
    return json_object_get(o, field) ? as_usage(json_get_real(o, field, low, high, out, "settings", err), err) : 0;
}

int request_bool(const json_t *o, const char *field, bool *out, struct error *err)
{
    return json_object_get(o, field) ? as_usage(json_get_bool(o, field, out, "request", err), err) : 0;
}

/* Returns the record of question i, with an id. */
static json_t *record_of(const json_t *question, size_t i)
{
    json_t *record =
        json_is_string(question) ? json_pack("{s:O}", "question", question) : json_copy((json_t *)(uintptr_t)question);

    if (!json_object_get(record, "id"))
        json_object_set_new(record, "id", json_integer((json_int_t)i + 1));
    return record;
}

json_t **request_records(const json_t *request, int *n, struct error *err)
{
    const json_t *list = json_get_array(request, "questions", "request", err);
    size_t count = json_array_size(list);

    *n = 0;
    if (!list || count > INT_MAX) {
        if (list)
            error_set(err, EXIT_CODE_USAGE, "request: field \"questions\": expected at most %d, got %zu", INT_MAX,
                      count);
        as_usage(-1, err);
        return NULL;
    }
    json_t **records = xcalloc(count + 1, sizeof(json_t *));
    for (size_t i = 0; i < count; i++) {
        const json_t *question = json_array_get(list, i);
        if (!json_is_string(question) && !json_is_object(question)) {
            error_set(err, EXIT_CODE_USAGE, "request: questions[%zu] is %s, expected a string or an object", i,
                      json_type_name(question));
            request_records_free(records, *n);
            return NULL;
        }
        records[(*n)++] = record_of(question, i);
    }
    return records;
}

void request_records_free(json_t **records, int n)
{
    for (int i = 0; records && i < n; i++)
        json_decref(records[i]);
    free(records);
}
