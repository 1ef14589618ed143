/*
 * record_reader.h - what people hand in, one record after the other: JSONL, a JSON array, CSV, TSV or plain text,
 * compressed or not, from a file or standard input.
 *
 * Left to itself (RECORDS_AUTO) it goes by the name without .gz, .xz or .zst: .csv, .tsv and .txt are what they say.
 * Elsewhere the text does: '[' begins an array, '{' JSONL; a first line with the name of a field of ours is the header
 * of a TSV if it has a tab, else of a CSV; anything else is text, one question a line (in .json and .jsonl: bad JSON).
 * Deciding waits for the first line only.
 *
 * Every record has an "id": its own, a string or an integer, or else its number as an integer, which is told once.
 * A "db", as AMBROSIA's rows have it, is a "db_id" where there is none.
 */
#ifndef DATA_UTIL_RECORD_READER_H
#define DATA_UTIL_RECORD_READER_H

#include "kernels/base.h"

#include <jansson.h>

enum record_form { RECORDS_AUTO, RECORDS_JSONL, RECORDS_JSON, RECORDS_CSV, RECORDS_TSV, RECORDS_TEXT };
#define RECORD_FORMS "auto|jsonl|json|csv|tsv|text"

/* Whether a name, without .gz, .xz or .zst, ends so. */
bool record_file_ends(const char *path, const char *ending);

/* Which records of a file: those at places from `first`, which count from 0, to before `end`. */
struct record_range {
    bool some; /* else all, whatever the numbers */
    int64_t first, end;
};

struct record_reader;
/* "-" is standard input.  NULL with EXIT_CODE_DATA. */
struct record_reader *record_reader_open(const char *path, enum record_form form, struct error *err);
/* The same, of which only the range comes, with the numbers that its records have in the whole. */
struct record_reader *record_reader_open_range(const char *path, enum record_form form,
                                               const struct record_range *range, struct error *err);
/* One record: {"id": 1, "question": question}.  NULL with EXIT_CODE_USAGE. */
struct record_reader *record_reader_open_question(const char *question, struct error *err);
/* 1 and *record (an object owned by the caller), 0 at the end, -1 on a bad record with EXIT_CODE_DATA; reading may go
 * on after it. */
int record_reader_next(struct record_reader *r, json_t **record, struct error *err);
/* Passes over the next record without looking at what it says: 1, 0 and -1 as above. */
int record_reader_skip(struct record_reader *r, struct error *err);
/* Records that came or were passed over. */
int64_t record_reader_place(const struct record_reader *r);
/* "file: line 12" (or "file: record 12" of an array) of the newest record; and its number, which is that one. */
const char *record_reader_where(const struct record_reader *r);
int64_t record_reader_number(const struct record_reader *r);
/* After -1: whether nothing more can be read, although this is not the end. */
bool record_reader_failed(const struct record_reader *r);
/* Records come as they are from here on: for what is copied, or has a numbering of its own. */
void record_reader_leave_ids(struct record_reader *r);
/* Numbers are places from 1, whatever the form: for files that meet record by record. */
void record_reader_by_place(struct record_reader *r);
/* Whether the next record, or the end, is at hand without waiting for input. */
bool record_reader_ready(const struct record_reader *r);
void record_reader_close(struct record_reader *r);

#endif
