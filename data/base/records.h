/*
 * records.h - passes the records of a file (record_reader.h) to a function, and reads their fields.
 *
 * Records may come from a table, where every field is a string.  Records are borrowed during the call.  A callback that
 * returns -1 with err ends the run.
 */
#ifndef DATA_BASE_RECORDS_H
#define DATA_BASE_RECORDS_H

#include "data/base/json.h"
#include "data/base/record_reader.h"

/* Handles a record, which is borrowed; where is "FILE: line N".  -1 with err ends the run. */
typedef int record_fn(void *user, json_t *record, const char *where, struct error *err);
/* Passes each record of the file to the function; "-" is standard input. */
int records_each(const char *path, enum record_format format, record_fn *each, void *user, struct error *err);
/* The same without adding ids: the records keep theirs, of any type, or none. */
int records_each_as_is(const char *path, enum record_format format, record_fn *each, void *user, struct error *err);
/* The same for the records of a range. */
int records_each_in_range(const char *path, enum record_format format, const struct record_range *range,
                          record_fn *each, void *user, struct error *err);

struct record_counts {
    int64_t records, failed;
};

/*
 * Writes one line to `out` for each record of the range.  A line has the id (or the line number), the db_id or null,
 * and the fields that `each` adds.  If `each` fails or the record is bad, the line has the reason under "error" and the
 * run continues.  A file that cannot be read to its end ends the run. counts is up to date whenever `each` is called.
 */
typedef int record_line_fn(void *user, json_t *record, json_t *line, const char *where, struct error *bad);
int records_to_lines(const char *in, enum record_format format, const struct record_range *range, const char *out,
                     record_line_fn *each, void *user, struct record_counts *counts, struct error *err);

/* The id of a record as text for keys and messages: its string, its integer formatted into buffer, or "". */
enum { RECORD_ID_TEXT = 24 };
const char *record_id_text(const json_t *record, char buffer[RECORD_ID_TEXT]);

/* Like json_get_real, json_get_int and json_get_bool, but they also accept strings such as "0.5".  Booleans may be yes,
 * no, true, false, 1 or 0, as a number or as a string in any case. */
int record_get_real(const json_t *record, const char *field, double low, double high, double *out, const char *where,
                    struct error *err);
int record_get_int(const json_t *record, const char *field, int64_t low, int64_t high, int64_t *out, const char *where,
                   struct error *err);
int record_get_bool(const json_t *record, const char *field, bool *out, const char *where, struct error *err);

#endif
