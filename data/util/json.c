#include "data/util/json.h"

#include "data/util/json_impl.h"

#include <math.h>
#include <string.h>

int json_parse_error(struct error *err, const char *where, int64_t line, const json_error_t *e)
{
    enum json_error_code code = json_error_code(e);
    if (code == json_error_out_of_memory || !*e->text) /* some of its allocations fail without a word */
        return error_set(err, EXIT_CODE_MEMORY, "%s: out of memory", where);
    if (e->line < 1)
        return error_set(err, EXIT_CODE_DATA, "%s: %s", where, e->text);
    if (code == json_error_null_character || code == json_error_null_byte_in_key)
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld, column %d: expected text, got \\u0000 in a %s", where,
                         (long long)(line + e->line), e->column, code == json_error_null_character ? "string" : "key");
    return error_set(err, EXIT_CODE_DATA, "%s: line %lld, column %d: %s", where, (long long)(line + e->line), e->column,
                     e->text);
}

/* The source of json_load_callback, which takes a failure to read for the end of the text. */
struct source {
    struct text_stream *stream;
    size_t bytes;
    bool failed;
    struct error *err;
};

static size_t give_bytes(void *buffer, size_t n, void *user)
{
    struct source *s = user;
    ptrdiff_t got = text_stream_read(s->stream, buffer, n, s->err);
    s->bytes += got > 0 ? (size_t)got : 0;
    if (got >= 0 && s->bytes > JSON_MAX_FILE) {
        error_set(s->err, EXIT_CODE_DATA, "%s: holds more than %d bytes", text_stream_name(s->stream), JSON_MAX_FILE);
        got = -1;
    }
    s->failed |= got < 0;
    return got < 0 ? (size_t)-1 : (size_t)got;
}

static json_t *read_file(const char *path, size_t flags, struct error *err)
{
    struct error own = { 0 };
    struct source s = { .stream = text_stream_open(path, err), .err = err ? err : &own };
    json_error_t e = { 0 };
    if (!s.stream)
        return NULL;
    json_t *value = json_load_callback(give_bytes, &s, JSON_REJECT_DUPLICATES | flags, &e);
    if (!value && !s.failed)
        json_parse_error(err, text_stream_name(s.stream), 0, &e);
    text_stream_close(s.stream);
    if (!s.failed)
        return value;
    json_decref(value);
    return NULL;
}

json_t *json_read_file(const char *path, struct error *err)
{
    return read_file(path, 0, err);
}

json_t *json_read_file_reals(const char *path, struct error *err)
{
    return read_file(path, JSON_DECODE_INT_AS_REAL, err);
}

const char *json_type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_NULL:
        return "null";
    default:
        return "a boolean";
    }
}

static json_t *get(const json_t *o, const char *field, bool (*fits)(const json_t *), const char *expected,
                   const char *where, struct error *err)
{
    json_t *v = NULL;
    if (!json_is_object(o))
        error_set(err, EXIT_CODE_DATA, "%s: expected an object with the field \"%s\", got %s", where, field,
                  o ? json_type_name(o) : "nothing");
    else if (!(v = json_object_get(o, field)))
        error_set(err, EXIT_CODE_DATA, "%s: field \"%s\" is missing, expected %s", where, field, expected);
    else if (!fits(v))
        error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected %s, got %s", where, field, expected,
                  json_type_name(v));
    else
        return v;
    return NULL;
}

static bool is_string(const json_t *v)
{
    return json_is_string(v);
}

static bool is_array(const json_t *v)
{
    return json_is_array(v);
}

static bool is_object(const json_t *v)
{
    return json_is_object(v);
}

static bool is_integer(const json_t *v)
{
    return json_is_integer(v);
}

static bool is_number(const json_t *v)
{
    return json_is_number(v);
}

static bool is_boolean(const json_t *v)
{
    return json_is_boolean(v);
}

const char *json_get_string(const json_t *o, const char *field, const char *where, struct error *err)
{
    return json_string_value(get(o, field, is_string, "a string", where, err));
}

json_t *json_get_array(const json_t *o, const char *field, const char *where, struct error *err)
{
    return get(o, field, is_array, "an array", where, err);
}

json_t *json_get_object(const json_t *o, const char *field, const char *where, struct error *err)
{
    return get(o, field, is_object, "an object", where, err);
}

int json_get_int(const json_t *o, const char *field, int64_t low, int64_t high, int64_t *out, const char *where,
                 struct error *err)
{
    const json_t *v = get(o, field, is_integer, "an integer", where, err);
    if (!v)
        return -1;
    int64_t n = json_integer_value(v);
    if (n < low || n > high)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected %lld to %lld, got %lld", where, field,
                         (long long)low, (long long)high, (long long)n);
    *out = n;
    return 0;
}

int json_get_real(const json_t *o, const char *field, double low, double high, double *out, const char *where,
                  struct error *err)
{
    const json_t *v = get(o, field, is_number, "a number", where, err);
    if (!v)
        return -1;
    double x = json_number_value(v);
    if (!(x >= low && x <= high))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected %.9g to %.9g, got %.9g", where, field, low,
                         high, x);
    *out = x;
    return 0;
}

int json_get_bool(const json_t *o, const char *field, bool *out, const char *where, struct error *err)
{
    const json_t *v = get(o, field, is_boolean, "true or false", where, err);
    if (!v)
        return -1;
    *out = json_is_true(v);
    return 0;
}

json_t *json_finite(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}
