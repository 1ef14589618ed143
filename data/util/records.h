/*
 * records.h - one JSON record after the other: a file through a function, or line by line into another file.
 */
#ifndef DATA_UTIL_RECORDS_H
#define DATA_UTIL_RECORDS_H

#include "data/util/json.h"

/* What is done with a record, which is borrowed; where is "FILE: line N".  -1 with err ends the run. */
typedef int record_fn(void *user, json_t *record, const char *where, struct error *err);
/* Gives each record of the file ("-": standard input) to the function. */
int records_each(const char *path, record_fn *each, void *user, struct error *err);

struct record_counts {
    int64_t records, failed;
};

/*
 * A line of `out` for each record of `in`: its id, or its number where it has none, its db_id or null, and what
 * `each` adds to the line.  Where that fails, or the record cannot be read, the line says why under "error" and the run
 * goes on.  counts tells what came so far, to `each` too.
 */
typedef int record_line_fn(void *user, json_t *record, json_t *line, const char *where, struct error *bad);
int records_to_lines(const char *in, const char *out, record_line_fn *each, void *user, struct record_counts *counts,
                     struct error *err);

#endif
