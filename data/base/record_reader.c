#include "data/base/record_reader.h"

#include "data/base/compression.h"
#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/strings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Reads a CSV or TSV with a header: each row becomes an object of strings, named by the header.
 *
 * Quoting follows RFC 4180: a field that starts with a quote may contain separators, line feeds and "" for a quote.  An
 * empty field is left out of the object.  A row with more or fewer fields than the header is an error.
 */
struct table_reader {
    struct text_stream *in;
    struct text_scan scan;
    struct strings header;
    char *field; /* the current field without its quotes */
    size_t cap;
};

/* Finds the end of a row: a line feed outside quotes. */
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

/* Copies the field at p to t->field and returns the rest of the row. */
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

/* Calls `each` for every field.  Returns the number of fields, or -1. */
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

/* NULL if the field is not text.  The caller owns the result. */
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
        rc = error_set(err, EXIT_CODE_DATA, "%s: the header's field %d is not UTF-8 text", where, place + 1);
    else if (text_is_blank(name, length))
        rc = error_set(err, EXIT_CODE_DATA, "%s: the header's field %d has no name", where, place + 1);
    else if (strings_add(&t->header, name) != place)
        rc = error_set(err, EXIT_CODE_DATA, "%s: the header names \"%.100s\" twice", where, name);
    json_decref(text);
    return rc;
}

static int add_value(struct table_reader *t, int place, size_t length, void *user, const char *where, struct error *err)
{
    if (length == 0 || place >= t->header.n) /* too many fields are reported when all are counted */
        return 0;
    json_t *value = field_text(t, length);
    if (!value)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected text in UTF-8", where,
                         t->header.items[place]);
    return json_object_set_new(user, t->header.items[place], value);
}

/* Reads the next row that is not blank. */
static int next_row(struct table_reader *t, struct text_unit *row, struct error *err)
{
    int rc;
    do
        rc = text_stream_next(t->in, &t->scan, TEXT_MAX_UNIT, row, err);
    while (rc > 0 && text_is_blank(row->text, row->length) && !memchr(row->text, t->scan.separator, row->length));
    return rc;
}

static void set_table_where(char *where, size_t n, const struct table_reader *t, const struct text_unit *row)
{
    snprintf(where, n, "%.800s: line %lld", text_stream_name(t->in), (long long)row->line);
}

/* A header of one field that contains another separator: the file has another format than its name says. */
static int check_separator(const struct table_reader *t, const char *where, struct error *err)
{
    const char *name = t->header.items[0];
    if (t->header.n > 1 || !strpbrk(name, ",;\t"))
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: the header is one field, \"%.100s\": expected fields separated by %s",
                     where, name, t->scan.separator == '\t' ? "tabs" : "commas");
}

static void table_reader_close(struct table_reader *t)
{
    if (!t)
        return;
    text_stream_close(t->in);
    strings_release(&t->header);
    free(t->field);
    free(t);
}

/* Takes ownership of the stream, also on failure, and reads the header.  NULL with EXIT_CODE_DATA. */
static struct table_reader *table_reader_of(struct text_stream *in, char separator, struct error *err)
{
    struct table_reader *t = xcalloc(1, sizeof *t);
    struct text_unit row;
    char where[900];

    t->in = in;
    t->scan = (struct text_scan){ .end = end_of_row, .what = "row", .separator = separator };
    int rc = next_row(t, &row, err);
    if (rc == 0)
        error_set(err, EXIT_CODE_DATA, "%s: expected a header, got an empty file", text_stream_name(in));
    set_table_where(where, sizeof where, t, &row);
    if (rc > 0 && each_field(t, &row, add_name, NULL, where, err) > 0 && check_separator(t, where, err) == 0)
        return t;
    table_reader_close(t);
    return NULL;
}

/* Returns 1 and sets *record, which the caller owns; 0 at the end; -1 with EXIT_CODE_DATA on a bad row, after which
 * reading may continue. *line is the line where the row starts. */
static int table_reader_next(struct table_reader *t, json_t **record, int64_t *line, struct error *err)
{
    struct text_unit row;
    char where[900];
    int rc = next_row(t, &row, err);

    *record = NULL;
    *line = row.line;
    if (rc <= 0)
        return rc;
    set_table_where(where, sizeof where, t, &row);
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

/* After -1: whether reading cannot continue. */
static bool table_reader_failed(const struct table_reader *t)
{
    return text_stream_failed(t->in);
}

static bool table_reader_ready(const struct table_reader *t)
{
    return text_stream_ready(t->in, &t->scan);
}

/* Whether a line is a header: one of its fields has the name of a field of ambit's records. */
static bool table_is_header(const char *line, size_t length, char separator)
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

struct record_reader {
    struct json_reader *json; /* at most one of json, table and text is set; none: a single question */
    struct table_reader *table;
    struct text_stream *text;
    json_t *question;
    char *name, *where;
    size_t where_size;
    int64_t number, count; /* number of the last record, such as its line; records so far */
    struct record_range range;
    bool leave_ids, by_place;
    bool logged_id; /* has logged that records have no id */
};

bool record_file_ends(const char *path, const char *ending)
{
    const char *compressed = coding_ending(coding_of_name(path));
    size_t n = strlen(path) - strlen(compressed), e = strlen(ending);
    return n > e && memcmp(path + n - e, ending, e) == 0;
}

/* RECORDS_AUTO if the name does not decide. */
static enum record_format format_of_name(const char *path)
{
    return record_file_ends(path, ".csv")   ? RECORDS_CSV
           : record_file_ends(path, ".tsv") ? RECORDS_TSV
           : record_file_ends(path, ".txt") ? RECORDS_TEXT
                                            : RECORDS_AUTO;
}

/* Advice about a file whose first line, of n bytes, is binary. */
static const char *binary_advice(const char *line, size_t n)
{
    static const struct {
        const char *start, *advice;
    } known[] = {
        { "SQLite format 3", "; it is a SQLite database, which --db takes" },
        { "PK", "; it is a spreadsheet or an archive: export the questions as CSV in UTF-8" },
        { "PAR1", "; it is a Parquet file: export the questions as CSV or JSONL" },
    };

    for (int i = 0; i < ARRAY_LEN(known); i++)
        if (n >= strlen(known[i].start) && memcmp(line, known[i].start, strlen(known[i].start)) == 0)
            return known[i].advice;
    return "";
}

/* -1 with err if the first line is binary. */
static int format_of_line(struct text_stream *in, enum record_format *format, struct error *err)
{
    struct text_unit line;
    int rc = text_stream_peek(in, &scan_line, TEXT_MAX_UNIT, &line, err);
    if (rc < 0)
        return -1;
    if (memchr(line.text, 0, line.length))
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld: expected text, got zero bytes%s", text_stream_name(in),
                         (long long)line.line, binary_advice(line.text, line.length));
    char separator = memchr(line.text, '\t', line.length) ? '\t' : ',';
    *format = RECORDS_TEXT;
    if (table_is_header(line.text, line.length, separator))
        *format = separator == '\t' ? RECORDS_TSV : RECORDS_CSV;
    return 0;
}

static int decide(struct text_stream *in, const char *path, enum record_format *format, struct error *err)
{
    if (*format == RECORDS_AUTO)
        *format = format_of_name(path);
    if (*format != RECORDS_AUTO)
        return 0;
    int first = text_stream_first(in, err);
    *format = first == '[' ? RECORDS_JSON : RECORDS_JSONL;
    if (first < 0 || first == '[' || first == '{' || record_file_ends(path, ".jsonl") ||
        record_file_ends(path, ".json"))
        return first == -2 ? -1 : 0;
    return format_of_line(in, format, err);
}

/* Detects an object that spans lines, which would cause an error on each of its lines. */
static int check_first_line(struct text_stream *in, struct error *err)
{
    struct text_unit line;
    int first = text_stream_first(in, err);
    if (first != '{')
        return first == -2 ? -1 : 0;
    if (text_stream_peek(in, &scan_line, TEXT_MAX_UNIT, &line, err) < 0)
        return -1;
    size_t n = line.length;
    while (text_is_blank(line.text + n - 1, 1))
        n--;
    if (line.whole && strchr("{[,:", line.text[n - 1]))
        return error_set(err, EXIT_CODE_DATA,
                         "%s: line %lld: the object spans lines: expected one object on each line, or an array of "
                         "objects",
                         text_stream_name(in), (long long)line.line);
    return 0;
}

/* Passes ownership of the stream, also on failure, to the reader of its format. */
static int open_format(struct record_reader *r, struct text_stream *in, enum record_format format, struct error *err)
{
    if (format == RECORDS_CSV || format == RECORDS_TSV)
        return (r->table = table_reader_of(in, format == RECORDS_CSV ? ',' : '\t', err)) ? 0 : -1;
    if (format == RECORDS_TEXT) {
        r->text = in;
        return 0;
    }
    r->json = json_reader_of(in, format == RECORDS_JSON, JSONL_MAX_LINE);
    if (format == RECORDS_JSONL)
        return check_first_line(in, err);
    int first = text_stream_first(in, err);
    if (first >= 0 && first != '[')
        return error_set(err, EXIT_CODE_DATA, "%s: expected an array, got '%c'", r->name, first);
    return first == -2 ? -1 : 0;
}

static struct record_reader *reader_new(const char *name)
{
    struct record_reader *r = xcalloc(1, sizeof *r);
    r->name = xstrdup(name);
    r->where_size = strlen(name) + 64;
    r->where = xcalloc(1, r->where_size);
    return r;
}

struct record_reader *record_reader_open(const char *path, enum record_format format, struct error *err)
{
    struct text_stream *in = text_stream_open(path, err);
    if (!in)
        return NULL;
    struct record_reader *r = reader_new(text_stream_name(in));
    if (decide(in, path, &format, err))
        text_stream_close(in);
    else if (open_format(r, in, format, err) == 0)
        return r;
    record_reader_close(r);
    return NULL;
}

struct record_reader *record_reader_open_question(const char *question, struct error *err)
{
    json_t *text = json_string(question);
    if (!text || text_is_blank(question, strlen(question))) {
        error_set(err, EXIT_CODE_USAGE, "the question: expected text%s", text ? ", got blanks" : " in UTF-8");
        json_decref(text);
        return NULL;
    }
    struct record_reader *r = reader_new("the question");
    r->question = json_pack("{s:i, s:o}", "id", 1, "question", text);
    return r;
}

/* Reads the next line that is not blank.  Returns 1, 0 at the end, or -1. */
static int next_line(struct record_reader *r, struct text_unit *line, struct error *err)
{
    int rc;
    do
        rc = text_stream_next(r->text, &scan_line, TEXT_MAX_UNIT, line, err);
    while (rc > 0 && text_is_blank(line->text, line->length));
    r->number = line->line;
    return rc;
}

static int next_question(struct record_reader *r, json_t **record, struct error *err)
{
    struct text_unit line;
    int rc = next_line(r, &line, err);
    if (rc <= 0)
        return rc;
    while (text_is_blank(line.text + line.length - 1, 1))
        line.length--;
    for (; text_is_blank(line.text, 1); line.length--)
        line.text++;
    json_t *text = memchr(line.text, 0, line.length) ? NULL : json_stringn(line.text, line.length);
    if (!text)
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld: expected text in UTF-8", r->name, (long long)line.line);
    *record = json_object();
    json_object_set_new(*record, "question", text);
    return 1;
}

/* Reads the next record unchanged and sets its number and place. */
static int next(struct record_reader *r, json_t **record, struct error *err)
{
    int rc;
    if (r->json) {
        rc = json_reader_next(r->json, record, err);
        r->number = json_reader_number(r->json);
        return rc;
    }
    if (r->table)
        return table_reader_next(r->table, record, &r->number, err);
    if (r->text)
        return next_question(r, record, err);
    r->number = 1;
    *record = r->question;
    r->question = NULL;
    return *record ? 1 : 0;
}

void record_reader_leave_ids(struct record_reader *r)
{
    r->leave_ids = true;
}

void record_reader_by_place(struct record_reader *r)
{
    r->by_place = true;
}

static const char *numbered_by(const struct record_reader *r)
{
    return r->by_place || (r->json && json_reader_is_array(r->json)) ? "numbered by position" : "numbered by line";
}

static int set_id(struct record_reader *r, json_t *o, struct error *err)
{
    const json_t *id = json_object_get(o, "id");
    if (json_is_string(id) || json_is_integer(id))
        return 0;
    if (id && !json_is_null(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a string or an integer, got %s",
                         record_reader_where(r), json_type_name(id));
    if (!r->logged_id)
        log_info("%s: no \"id\": records without an id are %s", record_reader_where(r), numbered_by(r));
    r->logged_id = true;
    return json_object_set_new(o, "id", json_integer(record_reader_number(r)));
}

static void set_db_id(json_t *o)
{
    json_t *db = json_object_get(o, "db");

    if (json_is_string(db) && !json_object_get(o, "db_id"))
        json_object_set(o, "db_id", db);
}

int record_reader_next(struct record_reader *r, json_t **record, struct error *err)
{
    *record = NULL;
    if (r->range.some && r->count >= r->range.end)
        return 0;
    int rc = next(r, record, err);
    if (rc == 0 && r->count == 0)
        log_warn("%s: expected records, got an empty file", r->name);
    r->count += rc != 0;
    if (!r->json)
        snprintf(r->where, r->where_size, "%s: line %lld", r->name, (long long)r->number);
    if (rc <= 0 || r->leave_ids)
        return rc;
    set_db_id(*record);
    if (set_id(r, *record, err) == 0)
        return rc;
    json_decref(*record);
    *record = NULL;
    return -1;
}

int record_reader_skip(struct record_reader *r, struct error *err)
{
    struct text_unit line;
    json_t *record = NULL;
    int rc = r->json   ? json_reader_skip(r->json, err)
             : r->text ? next_line(r, &line, err)
                       : next(r, &record, err); /* the end of a table's row depends on its fields */
    r->count += rc != 0;
    json_decref(record);
    return rc;
}

/* Skips the records before the range. */
static int find_range(struct record_reader *r, struct error *err)
{
    while (r->range.some && r->count < r->range.first) {
        int rc = record_reader_skip(r, err);
        if (rc < 0 && record_reader_failed(r))
            return -1;
        if (rc == 0)
            return error_set(err, EXIT_CODE_DATA, "%s: expected more than %lld records, got %lld", r->name,
                             (long long)r->range.first, (long long)r->count);
    }
    return 0;
}

struct record_reader *record_reader_open_range(const char *path, enum record_format format,
                                               const struct record_range *range, struct error *err)
{
    struct record_reader *r = record_reader_open(path, format, err);
    if (!r)
        return NULL;
    r->range = *range;
    if (find_range(r, err) == 0)
        return r;
    record_reader_close(r);
    return NULL;
}

int64_t record_reader_place(const struct record_reader *r)
{
    return r->count;
}

const char *record_reader_where(const struct record_reader *r)
{
    return r->json ? json_reader_where(r->json) : r->where;
}

int64_t record_reader_number(const struct record_reader *r)
{
    return r->by_place ? r->count : r->number;
}

bool record_reader_failed(const struct record_reader *r)
{
    return r->json    ? json_reader_failed(r->json)
           : r->table ? table_reader_failed(r->table)
                      : r->text && text_stream_failed(r->text);
}

bool record_reader_ready(const struct record_reader *r)
{
    return r->json    ? json_reader_ready(r->json)
           : r->table ? table_reader_ready(r->table)
                      : !r->text || text_stream_ready(r->text, &scan_line);
}

void record_reader_close(struct record_reader *r)
{
    if (!r)
        return;
    json_reader_close(r->json);
    table_reader_close(r->table);
    text_stream_close(r->text);
    json_decref(r->question);
    free(r->name);
    free(r->where);
    free(r);
}

int64_t record_file_total(const char *path, enum record_format format, const struct record_range *range)
{
    struct stat st;

    if (range && range->some)
        return range->end - range->first;
    if (!path || strcmp(path, "-") == 0 || stat(path, &st) || !S_ISREG(st.st_mode))
        return 0;
    struct record_reader *r = record_reader_open(path, format, NULL);
    int rc = r ? 1 : 0;
    while (rc && !(rc < 0 && record_reader_failed(r)))
        rc = record_reader_skip(r, NULL);
    int64_t total = r && rc == 0 ? r->count : 0;
    record_reader_close(r);
    return total;
}
