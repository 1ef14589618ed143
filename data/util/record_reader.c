#include "data/util/record_reader.h"

#include "data/util/json.h"
#include "data/util/log.h"
#include "data/util/table_reader.h"
#include "data/util/text_decoder.h"

#include <stdlib.h>
#include <string.h>

struct record_reader {
    struct json_reader *json; /* one of these three; none: a single question */
    struct table_reader *table;
    struct text_stream *text;
    json_t *question;
    char *name, *where;
    size_t where_size;
    int64_t number, count; /* of the newest record's line, say; records with it */
    struct record_range range;
    bool leave_ids, by_place;
    bool told; /* of records without an id */
};

bool record_file_ends(const char *path, const char *ending)
{
    const char *compressed = coding_ending(coding_of_name(path));
    size_t n = strlen(path) - strlen(compressed), e = strlen(ending);
    return n > e && memcmp(path + n - e, ending, e) == 0;
}

/* RECORDS_AUTO where the name leaves it to the text. */
static enum record_form form_of_name(const char *path)
{
    return record_file_ends(path, ".csv")   ? RECORDS_CSV
           : record_file_ends(path, ".tsv") ? RECORDS_TSV
           : record_file_ends(path, ".txt") ? RECORDS_TEXT
                                            : RECORDS_AUTO;
}

/* -1 with err where the first line is no text at all. */
static int form_of_line(struct text_stream *in, enum record_form *form, struct error *err)
{
    struct text_unit line;
    int rc = text_stream_peek(in, &scan_line, TEXT_MAX_UNIT, &line, err);
    if (rc < 0)
        return -1;
    if (memchr(line.text, 0, line.length))
        return error_set(err, EXIT_CODE_DATA, "%s: line %lld: expected text, got bytes that are 0",
                         text_stream_name(in), (long long)line.line);
    char separator = memchr(line.text, '\t', line.length) ? '\t' : ',';
    *form = RECORDS_TEXT;
    if (table_is_header(line.text, line.length, separator))
        *form = separator == '\t' ? RECORDS_TSV : RECORDS_CSV;
    return 0;
}

static int decide(struct text_stream *in, const char *path, enum record_form *form, struct error *err)
{
    if (*form == RECORDS_AUTO)
        *form = form_of_name(path);
    if (*form != RECORDS_AUTO)
        return 0;
    int first = text_stream_first(in, err);
    *form = first == '[' ? RECORDS_JSON : RECORDS_JSONL;
    if (first < 0 || first == '[' || first == '{' || record_file_ends(path, ".jsonl") ||
        record_file_ends(path, ".json"))
        return first == -2 ? -1 : 0;
    return form_of_line(in, form, err);
}

/* An object that goes on behind its first line would be an error on each of its lines. */
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
                         "%s: line %lld: the object goes on behind its line: expected one on each line, or an array of "
                         "them",
                         text_stream_name(in), (long long)line.line);
    return 0;
}

/* Gives the stream, also on failure, to the reader of its form. */
static int open_form(struct record_reader *r, struct text_stream *in, enum record_form form, struct error *err)
{
    if (form == RECORDS_CSV || form == RECORDS_TSV)
        return (r->table = table_reader_of(in, form == RECORDS_CSV ? ',' : '\t', err)) ? 0 : -1;
    if (form == RECORDS_TEXT) {
        r->text = in;
        return 0;
    }
    r->json = json_reader_of(in, form == RECORDS_JSON, JSONL_MAX_LINE);
    if (form == RECORDS_JSONL)
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

struct record_reader *record_reader_open(const char *path, enum record_form form, struct error *err)
{
    struct text_stream *in = text_stream_open(path, err);
    if (!in)
        return NULL;
    struct record_reader *r = reader_new(text_stream_name(in));
    if (decide(in, path, &form, err))
        text_stream_close(in);
    else if (open_form(r, in, form, err) == 0)
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

/* A line that is not blank.  1, 0 at the end, -1. */
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

/* The next record as it came; its number and place are set. */
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
    return r->by_place || (r->json && json_reader_is_array(r->json)) ? "numbered by their place" : "numbered by line";
}

static int see_to_id(struct record_reader *r, json_t *o, struct error *err)
{
    const json_t *id = json_object_get(o, "id");
    if (json_is_string(id) || json_is_integer(id))
        return 0;
    if (id && !json_is_null(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected a string or an integer, got %s",
                         record_reader_where(r), json_type_name(id));
    if (!r->told)
        log_info("%s: no \"id\": such records are %s", record_reader_where(r), numbered_by(r));
    r->told = true;
    return json_object_set_new(o, "id", json_integer(record_reader_number(r)));
}

static void see_to_db(json_t *o)
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
    r->count += rc != 0;
    if (!r->json)
        snprintf(r->where, r->where_size, "%s: line %lld", r->name, (long long)r->number);
    if (rc <= 0 || r->leave_ids)
        return rc;
    see_to_db(*record);
    if (see_to_id(r, *record, err) == 0)
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
                       : next(r, &record, err); /* where a row of a table ends only its fields tell */
    r->count += rc != 0;
    json_decref(record);
    return rc;
}

/* Passes over what stands before the range. */
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

struct record_reader *record_reader_open_range(const char *path, enum record_form form,
                                               const struct record_range *range, struct error *err)
{
    struct record_reader *r = record_reader_open(path, form, err);
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
