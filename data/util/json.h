/*
 * json.h - jansson behind helpers that name file, line and field in every error; JSONL in and out.
 *
 * Readers bound what they take: a line is at most JSONL_MAX_LINE bytes, a file at most what memory holds.
 */
#ifndef DATA_UTIL_JSON_H
#define DATA_UTIL_JSON_H

#include "data/util/out_file.h"

#include <jansson.h>
#include <stdio.h>

enum { JSONL_MAX_LINE = 64 << 20 };

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

/* JSONL, or a JSON array of objects (told apart by the first byte), record by record; "-" is standard input, and what
 * ends in .xz is decoded. */
struct json_reader;
struct json_reader *json_reader_open(const char *path, struct error *err);
/* Lines alone, each of at most max_line bytes: for a program that answers each before the next one comes. */
struct json_reader *json_reader_open_lines(const char *path, size_t max_line, struct error *err);
/* 1 and *record (owned by the caller), 0 at the end, -1 on a bad record with EXIT_CODE_DATA; reading may go on after
 * it. */
int json_reader_next(struct json_reader *r, json_t **record, struct error *err);
/* "file: line 12" (or "file: record 12" for an array) of the newest record. */
const char *json_reader_where(const struct json_reader *r);
void json_reader_close(struct json_reader *r);

/* What an error says as a string; one that was cut in the middle of a letter loses that letter. */
json_t *json_message(const char *text);
/* One value on one line, keys in the order they were set, floats with 9 digits. */
int json_write_line(struct out_file *o, const json_t *value, struct error *err);
/* A whole value, indented by 2, through an out_file. */
int json_write_file(const char *path, const json_t *value, struct error *err);
#endif
