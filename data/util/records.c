#include "data/util/records.h"

int records_each(const char *path, record_fn *each, void *user, struct error *err)
{
    struct json_reader *in = json_reader_open(path, err);
    json_t *record;
    int rc = -1;

    while (in && (rc = json_reader_next(in, &record, err)) > 0) {
        rc = each(user, record, json_reader_where(in), err);
        json_decref(record);
        if (rc)
            break;
    }
    json_reader_close(in);
    return rc;
}

/* A run from records to lines. */
struct line_job {
    struct json_reader *in;
    struct out_file out;
    record_line_fn *each;
    void *user;
    struct record_counts *counts;
};

/* NULL record: one that could not be read, bad says why. */
static int write_line(struct line_job *j, json_t *record, struct error *bad, struct error *err)
{
    json_t *line = json_object(), *id = json_object_get(record, "id"), *db_id = json_object_get(record, "db_id");

    json_object_set_new(line, "id", id ? json_incref(id) : json_integer(j->counts->records));
    json_object_set_new(line, "db_id", db_id ? json_incref(db_id) : json_null());
    if (!record || j->each(j->user, record, line, json_reader_where(j->in), bad)) {
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
        more = json_reader_next(j->in, &record, &bad);
        int rc = more ? write_line(j, record, &bad, err) : 0;
        json_decref(record);
        if (rc)
            return -1;
    } while (more);
    return out_file_commit(&j->out, err);
}

int records_to_lines(const char *in, const char *out, record_line_fn *each, void *user, struct record_counts *counts,
                     struct error *err)
{
    struct line_job j = { .in = json_reader_open(in, err), .each = each, .user = user, .counts = counts };
    int rc = j.in && out_file_open(&j.out, out, err) == 0 ? write_lines(&j, err) : -1;

    out_file_abort(&j.out);
    json_reader_close(j.in);
    return rc;
}
