/* Part of json.h: records, line by line or as the elements of an array. */
#include "data/util/json_impl.h"

#include <stdlib.h>
#include <string.h>

struct json_reader {
    struct text_stream *in;
    char *where;
    size_t where_size, max_line;
    bool array;     /* its elements, not lines */
    bool closed;    /* ']' has come */
    int64_t number; /* of the newest element or line */
};

/* An element and the ',' or ']' behind it. */
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

/* A line that is not blank.  1, 0 at the end, -1. */
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
    /* without its end, so that what is missing there is missed on this line */
    *record = json_loadb(line.text, line.length - line.whole, JSON_REJECT_DUPLICATES, &e);
    return *record ? 1 : json_parse_error(err, text_stream_name(r->in), line.line - 1, &e);
}

/* Nothing but blanks may stand behind the array. */
static int end_array(struct json_reader *r, struct error *err)
{
    int c = text_stream_first(r->in, err);
    if (c < 0)
        return c == -1 ? 0 : -1;
    return text_stream_fail(r->in, err, "%s: expected nothing behind the array, got '%c'", text_stream_name(r->in), c);
}

/* An element without what ends it, which says how the array goes on.  1, 0 in an empty array, -1. */
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

/* The same, with what begins the array and what must stand behind it.  1, 0 at the end, -1. */
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
    return json_parse_error(err, r->where, unit.line - 1, &e);
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
