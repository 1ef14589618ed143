/*
 * json.h - jansson behind helpers that name file, line and field in every error; JSONL in and out.
 *
 * Readers bound what they take: a line, or an element of an array, is at most JSONL_MAX_LINE bytes, a file that is one
 * value JSON_MAX_FILE.  All may be compressed (compression.h).
 */
#ifndef DATA_UTIL_JSON_H
#define DATA_UTIL_JSON_H

#include "data/util/out_file.h"
#include "data/util/text_stream.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { JSONL_MAX_LINE = TEXT_MAX_UNIT, JSON_MAX_FILE = 1 << 30 };

/* A whole file as one value, duplicate keys refused.  The caller owns the reference.  NULL with EXIT_CODE_DATA. */
json_t *json_read_file(const char *path, struct error *err);
/* The same with every integer as a real, for files that hold integers of any size: transformers writes 10^30 for "no
 * limit". */
json_t *json_read_file_reals(const char *path, struct error *err);

/* Fields of an object; `where` opens the message ("dev.json: record 3").  NULL or -1 with EXIT_CODE_DATA on absence or
 * wrong type.  Returned strings and arrays are borrowed from o. */
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

/* JSONL, or a JSON array of objects (told apart by the first byte), record by record; "-" is standard input.  What
 * people hand in goes through record_reader.h. */
struct json_reader;
struct json_reader *json_reader_open(const char *path, struct error *err);
/* Lines alone, each of at most max_line bytes: for a program that answers each before the next one comes. */
struct json_reader *json_reader_open_lines(const char *path, size_t max_line, struct error *err);
/* Takes the stream, whose first byte that is not white space is the array's when array is true. */
struct json_reader *json_reader_of(struct text_stream *stream, bool array, size_t max_line);
/* 1 and *record (owned by the caller), 0 at the end, -1 on a bad record with EXIT_CODE_DATA; reading may go on after
 * it. */
int json_reader_next(struct json_reader *r, json_t **record, struct error *err);
/* Passes over one without looking at what it says: 1, 0 and -1 as above. */
int json_reader_skip(struct json_reader *r, struct error *err);
bool json_reader_is_array(const struct json_reader *r);
/* "file: line 12" (or "file: record 12" for an array) of the newest record, and that number. */
const char *json_reader_where(const struct json_reader *r);
int64_t json_reader_number(const struct json_reader *r);
/* After -1: whether nothing more can be read, although this is not the end. */
bool json_reader_failed(const struct json_reader *r);
/* Whether the next record, or the end, is at hand without waiting. */
bool json_reader_ready(const struct json_reader *r);
void json_reader_close(struct json_reader *r);

/*
 * JSON values as text: keys in the order they were set, reals with the digits that they need.
 *
 * jansson gives all reals of a value one number of digits.  9 suit scores of float precision, but cut 1234567890.12; 17
 * make 565.20000000000005 of 565.2.  Here a real has `digits`, or the fewest that read back as the same double.  Below
 * a field "result", where cells of a database stand, it always has the latter.
 */
enum { JSON_EXACT = 0 }; /* the fewest digits that read back as the same double */

/* On one line where indent is 0.  False when the stream did not take all of it, or a string is no UTF-8. */
bool json_put(FILE *f, const json_t *value, int indent, int digits);
/* On one line; the caller frees.  NULL when a string is no UTF-8. */
char *json_text(const json_t *value, int digits);

/* What an error says as a string; one that was cut in the middle of a letter loses that letter. */
json_t *json_message(const char *text);
/* A real; null of what is undefined. */
json_t *json_finite(double x);
/* One value on one line, keys in the order they were set; reals with 9 digits, but below a field "result" with all
 * that they have (json_put). */
int json_write_line(struct out_file *o, const json_t *value, struct error *err);
/* A whole value, indented by 2, through an out_file. */
int json_write_file(const char *path, const json_t *value, struct error *err);
/* The same with the fewest digits that read back as the same f64. */
int json_write_file_exact(const char *path, const json_t *value, struct error *err);
#endif
