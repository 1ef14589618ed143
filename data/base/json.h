/*
 * json.h - reading and writing JSON and JSONL through jansson.
 *
 * Every error message names the file, the line and the field.  Input is bounded: a line or an array element has at most
 * JSONL_MAX_LINE bytes, a file that holds one value has at most JSON_MAX_FILE.  Input and output may be compressed
 * (compression.h).
 *
 * References follow jansson's rules: the caller owns returned values unless the comment says "borrowed".  Bad input
 * fails with EXIT_CODE_DATA, a failed write with EXIT_CODE_FAILURE.
 */
#ifndef DATA_BASE_JSON_H
#define DATA_BASE_JSON_H

#include "data/base/out_file.h"
#include "data/base/text_stream.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { JSONL_MAX_LINE = TEXT_MAX_UNIT, JSON_MAX_FILE = 1 << 30 };

/* Reads a file that holds one value and refuses duplicate keys.  The caller owns the reference.  NULL with
 * EXIT_CODE_DATA. */
json_t *json_read_file(const char *path, struct error *err);
/* The same, but integers become reals.  Some files hold integers of any size: transformers writes 10^30 for "no
 * limit". */
json_t *json_read_file_reals(const char *path, struct error *err);
/* The same as json_read_file for the rest of a stream. */
json_t *json_read_stream(struct text_stream *in, struct error *err);

/* Read a field of an object.  `where` opens the message ("dev.json: record 3").  They return NULL or -1 with
 * EXIT_CODE_DATA if the field is missing or has the wrong type.  Returned strings and arrays are borrowed from o. */
const char *json_get_string(const json_t *o, const char *field, const char *where, struct error *err);
json_t *json_get_array(const json_t *o, const char *field, const char *where, struct error *err);
json_t *json_get_object(const json_t *o, const char *field, const char *where, struct error *err);
int json_get_int(const json_t *o, const char *field, int64_t low, int64_t high, int64_t *out, const char *where,
                 struct error *err);
int json_get_real(const json_t *o, const char *field, double low, double high, double *out, const char *where,
                  struct error *err);
int json_get_bool(const json_t *o, const char *field, bool *out, const char *where, struct error *err);

/* "an object", "a string" ... */
const char *json_type_name(const json_t *v);

/* Reads JSONL, or a JSON array of objects, one record at a time.  The first byte tells which of the two.  "-" is
 * standard input.  For files of the user, use record_reader.h. */
struct json_reader;
struct json_reader *json_reader_open(const char *path, struct error *err);
/* Reads JSONL only, with lines of at most max_line bytes: for a service that answers each line before the next one
 * arrives. */
struct json_reader *json_reader_open_lines(const char *path, size_t max_line, struct error *err);
/* Takes ownership of the stream.  If array is true, its first byte that is not white space must be '['. */
struct json_reader *json_reader_of(struct text_stream *stream, bool array, size_t max_line);
/* Returns 1 and sets *record, which the caller owns; 0 at the end; -1 with EXIT_CODE_DATA on a bad record.  The caller
 * may continue after -1. */
int json_reader_next(struct json_reader *r, json_t **record, struct error *err);
/* Skips a record without parsing it.  Returns 1, 0 or -1 as above. */
int json_reader_skip(struct json_reader *r, struct error *err);
bool json_reader_is_array(const struct json_reader *r);
/* The place of the last record for messages, "file: line 12" or, in an array, "file: record 12"; and the number in
 * it. */
const char *json_reader_where(const struct json_reader *r);
int64_t json_reader_number(const struct json_reader *r);
/* After -1: whether reading cannot continue. */
bool json_reader_failed(const struct json_reader *r);
/* Whether the next record or the end can be read without waiting for input. */
bool json_reader_ready(const struct json_reader *r);
void json_reader_close(struct json_reader *r);

/*
 * JSON values as text.  Keys keep the order in which they were set.
 *
 * jansson writes all reals of a value with the same number of digits.  9 digits suit single precision but truncate
 * 1234567890.12; 17 digits turn 565.2 into 565.20000000000005.  Here a real has `digits` digits or, with JSON_EXACT,
 * the fewest that read back as the same double.  Below a field "result", which holds cells of a database, reals are
 * always exact.
 */
enum { JSON_EXACT = 0 }; /* the fewest digits that read back as the same double */

/* Writes the value, on one line if indent is 0.  False if a write failed or a string is not UTF-8. */
bool json_put(FILE *f, const json_t *value, int indent, int digits);
/* The value on one line; the caller frees it.  NULL if a string is not UTF-8. */
char *json_text(const json_t *value, int digits);

/* An error message as a JSON string.  If the message was cut inside a character, that character is dropped. */
json_t *json_message(const char *text);
/* A JSON real, or null if x is not finite. */
json_t *json_finite(double x);
/* Writes the value on one line.  Reals have 9 digits; below a field "result" they are exact. */
int json_write_line(struct out_file *o, const json_t *value, struct error *err);
/* Writes the value to a file, indented by 2, through an out_file. */
int json_write_file(const char *path, const json_t *value, struct error *err);
/* The same with exact reals. */
int json_write_file_exact(const char *path, const json_t *value, struct error *err);
#endif
