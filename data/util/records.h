/*
 * records.h - one record (record_reader.h) after the other: a file through a function, or line by line into another
 * file; and what is read of a record that may have come out of a table, where all fields are strings.
 */
#ifndef DATA_UTIL_RECORDS_H
#define DATA_UTIL_RECORDS_H

#include "data/util/json.h"
#include "data/util/record_reader.h"

/* What is done with a record, which is borrowed; where is "FILE: line N".  -1 with err ends the run. */
typedef int record_fn(void *user, json_t *record, const char *where, struct error *err);
/* Gives each record of the file ("-": standard input) to the function. */
int records_each(const char *path, enum record_form form, record_fn *each, void *user, struct error *err);
/* The same with the ids that they have, of whatever type, or none. */
int records_each_as_is(const char *path, enum record_form form, record_fn *each, void *user, struct error *err);
/* Those of the range, likewise. */
int records_each_in_range(const char *path, enum record_form form, const struct record_range *range, record_fn *each,
                          void *user, struct error *err);

struct record_counts {
    int64_t records, failed;
};

/*
 * A line of `out` for each record of the range of `in`: its id, or its line where it has none, its db_id or null, and
 * what `each` adds to the line.  Where that fails, or the record cannot be read, the line
 * says why under "error" and the run goes on; a file that ends too early ends it.  counts tells what came so far, to
 * `each` too.
 */
typedef int record_line_fn(void *user, json_t *record, json_t *line, const char *where, struct error *bad);
int records_to_lines(const char *in, enum record_form form, const struct record_range *range, const char *out,
                     record_line_fn *each, void *user, struct record_counts *counts, struct error *err);

/* A record's id as text, for keys and log lines: its string, or its integer written into buffer; "" where none is. */
enum { RECORD_ID_TEXT = 24 };
const char *record_id_text(const json_t *record, char buffer[RECORD_ID_TEXT]);

/* json_get_real, json_get_int and json_get_bool that take the string "0.5" too, and for a boolean yes, no, true, false,
 * 1 and 0, as a number or a string in letters of any case. */
int record_get_real(const json_t *record, const char *field, double low, double high, double *out, const char *where,
                    struct error *err);
int record_get_int(const json_t *record, const char *field, int64_t low, int64_t high, int64_t *out, const char *where,
                   struct error *err);
int record_get_bool(const json_t *record, const char *field, bool *out, const char *where, struct error *err);

#endif
