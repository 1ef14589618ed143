#include "data/util/json.h"

#include "data/util/xz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct json_reader {
    FILE *f;
    char *path, *where;
    size_t where_size;
    json_t *array; /* the whole file when it is an array, else NULL */
    size_t next;   /* next element of array */
    int64_t line;
    bool failed; /* the file cannot be read any further */
    char *text;  /* the newest line */
    size_t length, cap, max_line;
};

static FILE *open_input(const char *path, struct error *err)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return stdin;
    if (xz_is_name(path))
        return xz_open(path, err);
    FILE *f = fopen(path, "rbe");
    if (f && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(f);
        f = NULL;
        errno = EISDIR;
    }
    if (!f)
        error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno));
    return f;
}

static const char *shown(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* jansson's word for what went wrong, as ours.  line is added to its own count of lines. */
static int parse_error(struct error *err, const char *path, int64_t line, const json_error_t *e)
{
    if (json_error_code(e) == json_error_out_of_memory || !*e->text) /* some of its allocations fail without a word */
        return error_set(err, EXIT_CODE_MEMORY, "%s: out of memory", shown(path));
    if (e->line < 1)
        return error_set(err, EXIT_CODE_DATA, "%s: %s", shown(path), e->text);
    if (json_error_code(e) == json_error_null_character)
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld, column %d: expected text, got \\u0000 in a string",
                         shown(path), (long long)(line + e->line), e->column);
    return error_set(err, EXIT_CODE_DATA, "%s: line %lld, column %d: %s", shown(path), (long long)(line + e->line),
                     e->column, e->text);
}

static json_t *load_stream(FILE *f, const char *path, size_t flags, struct error *err)
{
    json_error_t e = { 0 };
    json_t *value = json_loadf(f, JSON_REJECT_DUPLICATES | flags, &e);
    if (ferror(f)) {
        error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", shown(path), strerror(errno));
        json_decref(value);
        return NULL;
    }
    if (!value)
        parse_error(err, path, 0, &e);
    return value;
}

static json_t *read_file(const char *path, size_t flags, struct error *err)
{
    FILE *f = open_input(path, err);
    if (!f)
        return NULL;
    json_t *value = load_stream(f, path, flags, err);
    if (f != stdin)
        fclose(f);
    return value;
}

json_t *json_read_file(const char *path, struct error *err)
{
    return read_file(path, 0, err);
}

json_t *json_read_file_reals(const char *path, struct error *err)
{
    return read_file(path, JSON_DECODE_INT_AS_REAL, err);
}

static const char *type_name(const json_t *v)
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
                  o ? type_name(o) : "nothing");
    else if (!(v = json_object_get(o, field)))
        error_set(err, EXIT_CODE_DATA, "%s: field \"%s\" is missing, expected %s", where, field, expected);
    else if (!fits(v))
        error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected %s, got %s", where, field, expected, type_name(v));
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

/* The first byte that is not white space decides; the lines before it are counted. */
static int reader_start(struct json_reader *r, struct error *err)
{
    int c;
    while ((c = getc(r->f)) == ' ' || c == '\t' || c == '\r' || c == '\n')
        r->line += c == '\n';
    if (c == EOF && ferror(r->f))
        return error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", shown(r->path), strerror(errno));
    if (c == EOF)
        return 0;
    if (c == 0x1f) /* which begins no JSON */
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected plain JSON, or xz in a file called .xz, got what gzip compressed",
                         shown(r->path));
    ungetc(c, r->f);
    if (c != '[')
        return 0;
    r->array = load_stream(r->f, r->path, JSON_ALLOW_NUL, err); /* a record that has one fails alone */
    return r->array ? 0 : -1;
}

struct json_reader *json_reader_open_lines(const char *path, size_t max_line, struct error *err)
{
    FILE *f = open_input(path, err);
    if (!f)
        return NULL;
    struct json_reader *r = xcalloc(1, sizeof *r);
    r->f = f;
    r->path = xstrdup(path);
    r->where_size = strlen(path) + 64;
    r->where = xcalloc(1, r->where_size);
    r->max_line = max_line;
    return r;
}

struct json_reader *json_reader_open(const char *path, struct error *err)
{
    struct json_reader *r = json_reader_open_lines(path, JSONL_MAX_LINE, err);
    if (!r || reader_start(r, err) == 0)
        return r;
    json_reader_close(r);
    return NULL;
}

/* Reads up to and with the newline.  1, 0 at the end, -1 when the line is longer than the limit (it is skipped). */
static int read_line(struct json_reader *r)
{
    int c;
    r->length = 0;
    while ((c = getc_unlocked(r->f)) != EOF) {
        if (r->length == r->cap) {
            r->cap = r->cap ? 2 * r->cap : 4096;
            r->text = xrealloc(r->text, r->cap);
        }
        if (r->length < r->max_line)
            r->text[r->length] = (char)c;
        r->length += r->length <= r->max_line;
        if (c == '\n')
            break;
    }
    r->line += r->length > 0;
    return r->length > r->max_line ? -1 : r->length > 0;
}

static bool blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]) || !text[i])
            return false;
    return true;
}

static int next_line(struct json_reader *r, json_t **record, struct error *err)
{
    json_error_t e = { 0 };
    int rc;
    do
        rc = read_line(r);
    while (rc > 0 && blank(r->text, r->length));
    snprintf(r->where, r->where_size, "%s: line %lld", shown(r->path), (long long)r->line);
    if (ferror(r->f)) {
        r->failed = true;
        return error_set(err, EXIT_CODE_DATA, "%s: cannot read: %s", r->where, strerror(errno));
    }
    if (rc < 0)
        return error_set(err, EXIT_CODE_DATA, "%s: longer than %zu bytes", r->where, r->max_line);
    if (rc == 0)
        return 0;
    size_t length =
        r->length - (r->text[r->length - 1] == '\n'); /* what is missing at its end is missed on this line */
    *record = json_loadb(r->text, length, JSON_REJECT_DUPLICATES, &e);
    return *record ? 1 : parse_error(err, r->path, r->line - 1, &e);
}

static bool holds_nul(json_t *v)
{
    const char *key;
    json_t *part;
    size_t i;

    if (json_is_string(v))
        return memchr(json_string_value(v), 0, json_string_length(v));
    json_array_foreach(v, i, part) if (holds_nul(part)) return true;
    json_object_foreach(v, key, part) if (holds_nul(part)) return true;
    return false;
}

static int next_element(struct json_reader *r, json_t **record, struct error *err)
{
    json_t *element = json_array_get(r->array, r->next);
    if (!element)
        return 0;
    snprintf(r->where, r->where_size, "%s: record %zu", shown(r->path), ++r->next);
    if (holds_nul(element))
        return error_set(err, EXIT_CODE_DATA, "%s: expected text, got \\u0000 in a string", r->where);
    *record = json_incref(element);
    return 1;
}

int json_reader_next(struct json_reader *r, json_t **record, struct error *err)
{
    *record = NULL;
    if (r->failed)
        return 0;
    int rc = r->array ? next_element(r, record, err) : next_line(r, record, err);
    if (rc > 0 && !json_is_object(*record)) {
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected an object, got %s", r->where, type_name(*record));
        json_decref(*record);
        *record = NULL;
    }
    return rc;
}

const char *json_reader_where(const struct json_reader *r)
{
    return r->where;
}

void json_reader_close(struct json_reader *r)
{
    if (!r)
        return;
    if (r->f != stdin)
        fclose(r->f);
    json_decref(r->array);
    free(r->path);
    free(r->where);
    free(r->text);
    free(r);
}
