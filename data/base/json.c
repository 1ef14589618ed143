#include "data/base/json.h"

#include "data/base/real_text.h"
#include "kernels/base.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reports a parse error of jansson. line is added to jansson's own line number.  Returns -1. */
static int parse_error(struct error *err, const char *where, int64_t line, const json_error_t *e)
{
    enum json_error_code code = json_error_code(e);
    if (code == json_error_out_of_memory || !*e->text) /* some failed allocations of jansson leave no message */
        return error_set(err, EXIT_CODE_MEMORY, "%s: out of memory", where);
    if (e->line < 1)
        return error_set(err, EXIT_CODE_DATA, "%s: %s", where, e->text);
    if (code == json_error_null_character || code == json_error_null_byte_in_key)
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld, column %d: expected text, got \\u0000 in a %s", where,
                         (long long)(line + e->line), e->column, code == json_error_null_character ? "string" : "key");
    return error_set(err, EXIT_CODE_DATA, "%s: line %lld, column %d: %s", where, (long long)(line + e->line), e->column,
                     e->text);
}

/* State of the callback of json_load_callback, which takes a failed read for the end of the text. */
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

static json_t *read_stream(struct text_stream *in, size_t flags, struct error *err)
{
    struct error own = { 0 };
    struct source s = { .stream = in, .err = err ? err : &own };
    json_error_t e = { 0 };

    json_t *value = json_load_callback(give_bytes, &s, JSON_REJECT_DUPLICATES | flags, &e);
    if (!value && !s.failed)
        parse_error(err, text_stream_name(in), 0, &e);
    if (!s.failed)
        return value;
    json_decref(value);
    return NULL;
}

static json_t *read_file(const char *path, size_t flags, struct error *err)
{
    struct text_stream *in = text_stream_open(path, err);
    json_t *value = in ? read_stream(in, flags, err) : NULL;

    text_stream_close(in);
    return value;
}

json_t *json_read_stream(struct text_stream *in, struct error *err)
{
    return read_stream(in, 0, err);
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

struct json_reader {
    struct text_stream *in;
    char *where;
    size_t where_size, max_line;
    bool array;     /* reads elements of an array, not lines */
    bool closed;    /* the ']' has been read */
    int64_t number; /* of the last element or line */
};

/* Finds an element with the ',' or ']' behind it. */
static size_t end_of_element(struct text_scan *s, const char *text, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        char c = text[i];
        if (s->quoted) {
            s->quoted = s->escaped || c != '"';
            s->escaped = !s->escaped && c == '\\';
        } else if (c == '"') {
            s->quoted = true;
        } else if (c == '{' || c == '[') {
            s->depth++;
        } else if ((c == ',' || c == ']' || c == '}') && s->depth == 0) {
            return i + 1;
        } else if (c == '}' || c == ']') {
            s->depth--;
        }
    }
    return 0;
}

static const struct text_scan scan_element = { .end = end_of_element, .what = "record" };

struct json_reader *json_reader_of(struct text_stream *stream, bool array, size_t max_line)
{
    struct json_reader *r = xcalloc(1, sizeof *r);
    r->in = stream;
    r->array = array;
    r->max_line = max_line;
    r->where_size = strlen(text_stream_name(stream)) + 64;
    r->where = xcalloc(1, r->where_size);
    return r;
}

struct json_reader *json_reader_open_lines(const char *path, size_t max_line, struct error *err)
{
    struct text_stream *s = text_stream_open(path, err);
    return s ? json_reader_of(s, false, max_line) : NULL;
}

struct json_reader *json_reader_open(const char *path, struct error *err)
{
    struct text_stream *s = text_stream_open(path, err);
    int first = s ? text_stream_first(s, err) : -2;
    if (first != -2)
        return json_reader_of(s, first == '[', JSONL_MAX_LINE);
    text_stream_close(s);
    return NULL;
}

static void set_where(struct json_reader *r, const char *unit, int64_t number)
{
    r->number = number;
    snprintf(r->where, r->where_size, "%s: %s %lld", text_stream_name(r->in), unit, (long long)number);
}

/* Reads the next line that is not blank.  Returns 1, 0 at the end, or -1. */
static int next_line(struct json_reader *r, struct text_unit *line, struct error *err)
{
    int rc;
    do {
        rc = text_stream_next(r->in, &scan_line, r->max_line, line, err);
        set_where(r, "line", line->line);
    } while (rc > 0 && text_is_blank(line->text, line->length));
    return rc;
}

static int read_line(struct json_reader *r, json_t **record, struct error *err)
{
    struct text_unit line;
    json_error_t e = { 0 };
    int rc = next_line(r, &line, err);
    if (rc <= 0)
        return rc;
    /* without its line feed, so that an error at its end is reported on this line */
    *record = json_loadb(line.text, line.length - line.whole, JSON_REJECT_DUPLICATES, &e);
    return *record ? 1 : parse_error(err, text_stream_name(r->in), line.line - 1, &e);
}

/* Checks that only white space follows the array. */
static int end_array(struct json_reader *r, struct error *err)
{
    int c = text_stream_first(r->in, err);
    if (c < 0)
        return c == -1 ? 0 : -1;
    return text_stream_fail(r->in, err, "%s: expected nothing after the array, got '%c'", text_stream_name(r->in), c);
}

/* Reads an element without its terminator, which tells how the array goes on.  Returns 1, 0 in an empty array, or
 * -1. */
static int next_text(struct json_reader *r, struct text_unit *unit, struct error *err)
{
    if (text_stream_next(r->in, &scan_element, r->max_line, unit, err) < 0)
        return -1;
    if (!unit->whole)
        return text_stream_fail(r->in, err, "%s: line %lld: expected ']' at the end of the array", r->where,
                                (long long)unit->line);
    char end = unit->text[--unit->length];
    r->closed = end == ']';
    if (end == '}')
        return text_stream_fail(r->in, err, "%s: line %lld: got '}' without its '{'", r->where, (long long)unit->line);
    if (!text_is_blank(unit->text, unit->length))
        return 1;
    if (r->closed && r->number == 1)
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: line %lld: expected an object, got '%c'", r->where,
                     (long long)unit->line, end);
}

/* The same, including the start of the array and the text behind it.  Returns 1, 0 at the end, or -1. */
static int next_element(struct json_reader *r, struct text_unit *unit, struct error *err)
{
    if (r->closed)
        return end_array(r, err);
    if (r->number == 0 && text_stream_first(r->in, err) == '[')
        text_stream_take(r->in, 1);
    set_where(r, "record", r->number + 1);
    int rc = next_text(r, unit, err);
    return rc ? rc : end_array(r, err);
}

static int read_element(struct json_reader *r, json_t **record, struct error *err)
{
    struct text_unit unit = { 0 };
    json_error_t e = { 0 };
    int rc = next_element(r, &unit, err);
    if (rc <= 0)
        return rc;
    *record = json_loadb(unit.text, unit.length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    if (*record)
        return 1;
    e.column += e.line == 1 ? unit.column : 0;
    return parse_error(err, r->where, unit.line - 1, &e);
}

int json_reader_next(struct json_reader *r, json_t **record, struct error *err)
{
    *record = NULL;
    int rc = r->array ? read_element(r, record, err) : read_line(r, record, err);
    if (rc > 0 && !json_is_object(*record)) {
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected an object, got %s", r->where, json_type_name(*record));
        json_decref(*record);
        *record = NULL;
    }
    return rc;
}

int json_reader_skip(struct json_reader *r, struct error *err)
{
    struct text_unit unit;
    return r->array ? next_element(r, &unit, err) : next_line(r, &unit, err);
}

bool json_reader_is_array(const struct json_reader *r)
{
    return r->array;
}

const char *json_reader_where(const struct json_reader *r)
{
    return r->where;
}

int64_t json_reader_number(const struct json_reader *r)
{
    return r->number;
}

bool json_reader_failed(const struct json_reader *r)
{
    return text_stream_failed(r->in);
}

bool json_reader_ready(const struct json_reader *r)
{
    struct text_scan scan = r->array ? scan_element : scan_line;
    scan.depth = r->number == 0 ? -1 : 0; /* before the '[' */
    return r->closed || text_stream_ready(r->in, &scan);
}

void json_reader_close(struct json_reader *r)
{
    if (!r)
        return;
    text_stream_close(r->in);
    free(r->where);
    free(r);
}

struct json_writer {
    FILE *f;
    int indent, digits;
    bool failed;
};

/* jansson writes exponents as "1e16" and "3e-7", printf as "1e+16" and "3e-07". */
static void put_exact(FILE *f, double x)
{
    char text[REAL_TEXT];
    char *e = strchr(real_literal(text, x), 'e');

    fprintf(f, "%.*s", (int)(e ? e - text : (ptrdiff_t)strlen(text)), text);
    if (e)
        fprintf(f, "e%ld", strtol(e + 1, NULL, 10));
}

static void put_leaf(struct json_writer *w, const json_t *value, bool exact)
{
    if (json_is_real(value) && exact)
        put_exact(w->f, json_real_value(value));
    else
        w->failed |= json_dumpf(value, w->f, JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)w->digits)) != 0;
}

static void put_key(struct json_writer *w, const char *key)
{
    json_t *text = json_string_nocheck(key);

    CHECK(text, "no memory for a key");
    w->failed |= json_dumpf(text, w->f, JSON_ENCODE_ANY) != 0;
    json_decref(text);
}

static void put_value(struct json_writer *w, const json_t *value, int depth, bool exact);

/* Writes the separator before item i of a list, or with i = 0 the line break before the first item or the end. */
static void put_gap(const struct json_writer *w, size_t i, int depth)
{
    if (i)
        fputc(',', w->f);
    if (w->indent)
        fprintf(w->f, "\n%*s", w->indent * depth, "");
}

static void put_array(struct json_writer *w, const json_t *array, int depth, bool exact)
{
    size_t n = json_array_size(array);

    fputc('[', w->f);
    for (size_t i = 0; i < n; i++) {
        put_gap(w, i, depth + 1);
        put_value(w, json_array_get(array, i), depth + 1, exact);
    }
    if (n)
        put_gap(w, 0, depth);
    fputc(']', w->f);
}

static void put_object(struct json_writer *w, const json_t *object, int depth, bool exact)
{
    const char *key;
    json_t *value;
    size_t i = 0;

    fputc('{', w->f);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        put_gap(w, i++, depth + 1);
        put_key(w, key);
        fputs(w->indent ? ": " : ":", w->f);
        put_value(w, value, depth + 1, exact || strcmp(key, "result") == 0);
    }
    if (i)
        put_gap(w, 0, depth);
    fputc('}', w->f);
}

static void put_value(struct json_writer *w, const json_t *value, int depth, bool exact)
{
    if (json_is_object(value))
        put_object(w, value, depth, exact);
    else if (json_is_array(value))
        put_array(w, value, depth, exact);
    else
        put_leaf(w, value, exact);
}

bool json_put(FILE *f, const json_t *value, int indent, int digits)
{
    struct json_writer w = { .f = f, .indent = indent, .digits = digits };

    put_value(&w, value, 0, digits == JSON_EXACT);
    return !w.failed && !ferror(f);
}

char *json_text(const json_t *value, int digits)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    CHECK(f, "no memory for a text");
    bool whole = json_put(f, value, 0, digits);
    CHECK(fclose(f) == 0, "no memory for a text");
    if (whole)
        return text;
    free(text);
    return NULL;
}

json_t *json_message(const char *text)
{
    size_t n = strlen(text);
    json_t *message = json_stringn(text, n);
    while (!message && n)
        message = json_stringn(text, --n);
    return message;
}

static int cannot_write(struct error *err, const char *path)
{
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
}

/* fwrite may succeed although flushing its buffer failed.  Only ferror reports that, while errno is still valid. */
static bool dump(const json_t *value, FILE *f, int indent, int digits)
{
    return json_put(f, value, indent, digits) && putc('\n', f) != EOF && !ferror(f);
}

int json_write_line(struct out_file *o, const json_t *value, struct error *err)
{
    if (!dump(value, o->f, 0, 9))
        return cannot_write(err, o->path ? o->path : "standard output");
    return 0;
}

static int write_file(const char *path, const json_t *value, int digits, struct error *err)
{
    struct out_file o;
    if (out_file_open(&o, path, err))
        return -1;
    if (!dump(value, o.f, 2, digits)) {
        cannot_write(err, path);
        out_file_abort(&o);
        return -1;
    }
    return out_file_commit(&o, err);
}

int json_write_file(const char *path, const json_t *value, struct error *err)
{
    return write_file(path, value, 9, err);
}

int json_write_file_exact(const char *path, const json_t *value, struct error *err)
{
    return write_file(path, value, JSON_EXACT, err);
}
