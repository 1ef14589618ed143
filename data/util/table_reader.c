#include "data/util/table_reader.h"

#include "data/util/strings.h"

#include <stdlib.h>
#include <string.h>

struct table_reader {
    struct text_stream *in;
    struct text_scan scan;
    struct strings header;
    char *field; /* one that is being read, without its quotes */
    size_t cap;
};

/* A row and its newline, which ends it outside of quotes only. */
static size_t end_of_row(struct text_scan *s, const char *text, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        char c = text[i];
        if (s->inside && c == '"')
            s->quoted = !s->quoted;
        else if (s->quoted)
            continue;
        else if (c == '\n')
            return i + 1;
        else if (c == s->separator)
            s->inside = s->bare = false;
        else if (c == '"' && !s->bare)
            s->inside = s->quoted = true;
        else
            s->bare = true;
    }
    return 0;
}

/* The text of the field at p into t->field; returns what follows it. */
static const char *read_field(struct table_reader *t, const char *p, const char *end, size_t *length,
                              const char **wrong)
{
    char *to = t->field;
    bool quoted = p < end && *p == '"';
    if (!quoted) {
        const char *next = memchr(p, t->scan.separator, (size_t)(end - p));
        next = next ? next : end;
        memcpy(to, p, *length = (size_t)(next - p));
        return next;
    }
    for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++)
        *to++ = *(p += *p == '"');
    *length = (size_t)(to - t->field);
    if (p == end)
        *wrong = "a quote that is not closed";
    else if (++p < end && *p != t->scan.separator)
        *wrong = "text behind a closing quote, expected the separator or the end of the row";
    return p;
}

typedef int field_fn(struct table_reader *t, int place, size_t length, void *user, const char *where,
                     struct error *err);

/* Gives each field to the function; the number of them, or -1. */
static int each_field(struct table_reader *t, const struct text_unit *row, field_fn *each, void *user,
                      const char *where, struct error *err)
{
    const char *p = row->text, *end = p + row->length, *wrong = NULL;
    int n = 0;

    end -= end > p && end[-1] == '\n';
    end -= end > p && end[-1] == '\r';
    if (row->length > t->cap)
        t->field = xrealloc(t->field, t->cap = row->length);
    for (;; p++) {
        size_t length = 0;
        p = read_field(t, p, end, &length, &wrong);
        if (wrong)
            return error_set(err, EXIT_CODE_DATA, "%s: field %d: %s", where, n + 1, wrong);
        if (each(t, n++, length, user, where, err))
            return -1;
        if (p == end)
            return n;
    }
}

/* NULL unless the field is text; the caller's. */
static json_t *field_text(const struct table_reader *t, size_t length)
{
    return memchr(t->field, 0, length) ? NULL : json_stringn(t->field, length);
}

static int add_name(struct table_reader *t, int place, size_t length, void *user, const char *where, struct error *err)
{
    (void)user;
    json_t *text = field_text(t, length);
    const char *name = json_string_value(text);
    int rc = 0;
    if (!name)
        rc = error_set(err, EXIT_CODE_DATA, "%s: the header's field %d is no text in UTF-8", where, place + 1);
    else if (text_is_blank(name, length))
        rc = error_set(err, EXIT_CODE_DATA, "%s: the header's field %d has no name", where, place + 1);
    else if (strings_add(&t->header, name) != place)
        rc = error_set(err, EXIT_CODE_DATA, "%s: the header names \"%.100s\" twice", where, name);
    json_decref(text);
    return rc;
}

static int add_value(struct table_reader *t, int place, size_t length, void *user, const char *where, struct error *err)
{
    if (length == 0 || place >= t->header.n) /* too many are told when all are counted */
        return 0;
    json_t *value = field_text(t, length);
    if (!value)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected text in UTF-8", where,
                         t->header.items[place]);
    return json_object_set_new(user, t->header.items[place], value);
}

/* Rows that are not blank. */
static int next_row(struct table_reader *t, struct text_unit *row, struct error *err)
{
    int rc;
    do
        rc = text_stream_next(t->in, &t->scan, TEXT_MAX_UNIT, row, err);
    while (rc > 0 && text_is_blank(row->text, row->length) && !memchr(row->text, t->scan.separator, row->length));
    return rc;
}

static void set_where(char *where, size_t n, const struct table_reader *t, const struct text_unit *row)
{
    snprintf(where, n, "%.800s: line %lld", text_stream_name(t->in), (long long)row->line);
}

/* One field with another separator in it: no record would have a field that anybody asks for. */
static int check_separator(const struct table_reader *t, const char *where, struct error *err)
{
    const char *name = t->header.items[0];
    if (t->header.n > 1 || !strpbrk(name, ",;\t"))
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: the header is one field, \"%.100s\": expected fields apart by %s", where,
                     name, t->scan.separator == '\t' ? "tabs" : "commas");
}

struct table_reader *table_reader_of(struct text_stream *in, char separator, struct error *err)
{
    struct table_reader *t = xcalloc(1, sizeof *t);
    struct text_unit row;
    char where[900];

    t->in = in;
    t->scan = (struct text_scan){ .end = end_of_row, .what = "row", .separator = separator };
    int rc = next_row(t, &row, err);
    if (rc == 0)
        error_set(err, EXIT_CODE_DATA, "%s: is empty, expected a header", text_stream_name(in));
    set_where(where, sizeof where, t, &row);
    if (rc > 0 && each_field(t, &row, add_name, NULL, where, err) > 0 && check_separator(t, where, err) == 0)
        return t;
    table_reader_close(t);
    return NULL;
}

int table_reader_next(struct table_reader *t, json_t **record, int64_t *line, struct error *err)
{
    struct text_unit row;
    char where[900];
    int rc = next_row(t, &row, err);

    *record = NULL;
    *line = row.line;
    if (rc <= 0)
        return rc;
    set_where(where, sizeof where, t, &row);
    json_t *o = json_object();
    int n = each_field(t, &row, add_value, o, where, err);
    if (n == t->header.n) {
        *record = o;
        return 1;
    }
    json_decref(o);
    return n < 0 ? -1
                 : error_set(err, EXIT_CODE_DATA, "%s: expected %d fields, as in the header, got %d", where,
                             t->header.n, n);
}

bool table_reader_failed(const struct table_reader *t)
{
    return text_stream_failed(t->in);
}

bool table_reader_ready(const struct table_reader *t)
{
    return text_stream_ready(t->in, &t->scan);
}

void table_reader_close(struct table_reader *t)
{
    if (!t)
        return;
    text_stream_close(t->in);
    strings_release(&t->header);
    free(t->field);
    free(t);
}

bool table_is_header(const char *line, size_t length, char separator)
{
    static const char *const names[] = { "id", "db_id", "question", "sql", "query", "text", "ambiguous" };
    const char *end = line + length;
    while (length && end > line && text_is_blank(end - 1, 1))
        end--;
    for (const char *p = line, *next; p <= end; p = next + 1) {
        next = memchr(p, separator, (size_t)(end - p));
        next = next ? next : end;
        size_t n = (size_t)(next - p);
        if (n > 2 && *p == '"' && next[-1] == '"')
            p++, n -= 2;
        for (int i = 0; i < ARRAY_LEN(names); i++)
            if (strlen(names[i]) == n && memcmp(names[i], p, n) == 0)
                return true;
    }
    return false;
}
