#include "data/base/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int give_each(struct record_reader *in, record_fn *each, void *user, struct error *err)
{
    json_t *record;
    int rc = -1;

    while (in && (rc = record_reader_next(in, &record, err)) > 0) {
        rc = each(user, record, record_reader_where(in), err);
        json_decref(record);
        if (rc)
            break;
    }
    record_reader_close(in);
    return rc;
}

int records_each(const char *path, enum record_format format, record_fn *each, void *user, struct error *err)
{
    return give_each(record_reader_open(path, format, err), each, user, err);
}

int records_each_as_is(const char *path, enum record_format format, record_fn *each, void *user, struct error *err)
{
    const struct record_range all = { 0 };

    return records_each_in_range(path, format, &all, each, user, err);
}

int records_each_in_range(const char *path, enum record_format format, const struct record_range *range,
                          record_fn *each, void *user, struct error *err)
{
    struct record_reader *in = record_reader_open_range(path, format, range, err);
    if (in)
        record_reader_leave_ids(in);
    return give_each(in, each, user, err);
}

/* A run that writes a line for each record. */
struct line_job {
    struct record_reader *in;
    struct out_file out;
    record_line_fn *each;
    void *user;
    struct record_counts *counts;
};

/* record is NULL if it could not be read; bad holds the reason. */
static int write_line(struct line_job *j, json_t *record, struct error *bad, struct error *err)
{
    json_t *line = json_object(), *id = json_object_get(record, "id"), *db_id = json_object_get(record, "db_id");

    json_object_set_new(line, "id", id ? json_incref(id) : json_integer(record_reader_number(j->in)));
    json_object_set_new(line, "db_id", db_id ? json_incref(db_id) : json_null());
    if (!record || j->each(j->user, record, line, record_reader_where(j->in), bad)) {
        json_object_set_new(line, "error", json_message(bad->text));
        j->counts->failed++;
    }
    j->counts->records++;
    int rc = json_write_line(&j->out, line, err);
    json_decref(line);
    return rc;
}

static int write_lines(struct line_job *j, struct error *err)
{
    int more;

    do {
        json_t *record = NULL;
        struct error bad = { 0 };
        more = record_reader_next(j->in, &record, &bad);
        if (more < 0 && record_reader_failed(j->in)) {
            *err = bad;
            return -1;
        }
        int rc = more ? write_line(j, record, &bad, err) : 0;
        json_decref(record);
        if (rc)
            return -1;
    } while (more);
    return out_file_commit(&j->out, err);
}

int records_to_lines(const char *in, enum record_format format, const struct record_range *range, const char *out,
                     record_line_fn *each, void *user, struct record_counts *counts, struct error *err)
{
    struct line_job j = {
        .in = record_reader_open_range(in, format, range, err), .each = each, .user = user, .counts = counts
    };
    int rc = -1;

    if (j.in && out_file_open(&j.out, out, err) == 0)
        rc = write_lines(&j, err);
    out_file_abort(&j.out);
    record_reader_close(j.in);
    return rc;
}

const char *record_id_text(const json_t *record, char buffer[RECORD_ID_TEXT])
{
    const json_t *id = json_object_get(record, "id");
    if (json_is_string(id))
        return json_string_value(id);
    *buffer = '\0';
    if (json_is_integer(id))
        snprintf(buffer, RECORD_ID_TEXT, "%lld", (long long)json_integer_value(id));
    return buffer;
}

/* The number that a string field spells; NULL if the field is not such a string. */
static json_t *number_of_string(const json_t *record, const char *field)
{
    const char *text = json_string_value(json_object_get(record, field));
    char *end;
    if (!text || !*text || strspn(text, "0123456789+-.eE") != strlen(text))
        return NULL;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (!*end && errno == 0)
        return json_integer(n);
    double x = strtod(text, &end);
    return *end ? NULL : json_real(x);
}

/* An object with that number in the field, or the record itself.  The caller owns the reference. */
static json_t *with_number(const json_t *record, const char *field)
{
    json_t *number = number_of_string(record, field);
    return number ? json_pack("{s:o}", field, number) : json_incref((json_t *)(uintptr_t)record);
}

int record_get_real(const json_t *record, const char *field, double low, double high, double *out, const char *where,
                    struct error *err)
{
    json_t *o = with_number(record, field);
    int rc = json_get_real(o, field, low, high, out, where, err);
    json_decref(o);
    return rc;
}

int record_get_int(const json_t *record, const char *field, int64_t low, int64_t high, int64_t *out, const char *where,
                   struct error *err)
{
    json_t *o = with_number(record, field);
    int rc = json_get_int(o, field, low, high, out, where, err);
    json_decref(o);
    return rc;
}

int record_get_bool(const json_t *record, const char *field, bool *out, const char *where, struct error *err)
{
    static const char *const words[] = { "no", "yes", "false", "true", "0", "1" };
    const json_t *v = json_object_get(record, field);
    const char *text = json_string_value(v);

    for (int i = 0; text && i < ARRAY_LEN(words); i++)
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return 0;
        }
    if (text)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected yes or no, got \"%.100s\"", where, field,
                         text);
    if (json_is_integer(v) && (json_integer_value(v) & ~1) == 0) {
        *out = json_integer_value(v) == 1;
        return 0;
    }
    return json_get_bool(record, field, out, where, err);
}
