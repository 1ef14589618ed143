/*
 * record_reader.h - reads input records one at a time: JSONL, a JSON array, CSV, TSV or plain text, compressed or not,
 * from a file or standard input.
 *
 * RECORDS_AUTO chooses the format.  The name decides first, without .gz, .xz or .zst: .csv, .tsv and .txt.  Otherwise
 * the text decides: '[' starts an array and '{' starts JSONL.  A first line with the name of one of ambit's fields is
 * the header of a table.  The table is a TSV if the line has a tab, otherwise a CSV.  Anything else is plain text with
 * one question on each line, except in .json and .jsonl, where it is an error.  The choice waits for the first line
 * only.
 *
 * Every record has an "id": its own string or integer, or else its number, which the reader logs once.  A field "db",
 * as in AMBROSIA's rows, is copied to "db_id" if there is none.
 *
 * The caller owns readers and records.  Bad input fails with EXIT_CODE_DATA.
 */
#ifndef DATA_BASE_RECORD_READER_H
#define DATA_BASE_RECORD_READER_H

#include "kernels/base.h"

#include <jansson.h>

enum record_format { RECORDS_AUTO, RECORDS_JSONL, RECORDS_JSON, RECORDS_CSV, RECORDS_TSV, RECORDS_TEXT };
#define RECORD_FORMS "auto|jsonl|json|csv|tsv|text"

/* Whether a name has this ending, ignoring .gz, .xz and .zst. */
bool record_file_ends(const char *path, const char *ending);

/* A range of records: positions first to end - 1, counted from 0. */
struct record_range {
    bool some; /* false: all records */
    int64_t first, end;
};

struct record_reader;
/* "-" is standard input.  NULL with EXIT_CODE_DATA. */
struct record_reader *record_reader_open(const char *path, enum record_format format, struct error *err);
/* The same, limited to a range.  The records keep the numbers that they have in the whole file. */
struct record_reader *record_reader_open_range(const char *path, enum record_format format,
                                               const struct record_range *range, struct error *err);
/* A reader of one record, {"id": 1, "question": question}.  NULL with EXIT_CODE_USAGE. */
struct record_reader *record_reader_open_question(const char *question, struct error *err);
/* Returns 1 and sets *record, an object that the caller owns; 0 at the end; -1 with EXIT_CODE_DATA on a bad record.
 * The caller may continue after -1. */
int record_reader_next(struct record_reader *r, json_t **record, struct error *err);
/* Skips a record without parsing it.  Returns 1, 0 or -1 as above. */
int record_reader_skip(struct record_reader *r, struct error *err);
/* Number of records read or skipped so far. */
int64_t record_reader_place(const struct record_reader *r);
/* The place of the last record for messages, "file: line 12" or, in an array, "file: record 12"; and the number in
 * it. */
const char *record_reader_where(const struct record_reader *r);
int64_t record_reader_number(const struct record_reader *r);
/* After -1: whether reading cannot continue. */
bool record_reader_failed(const struct record_reader *r);
/* Stops adding ids: for callers that copy records or number them differently. */
void record_reader_leave_ids(struct record_reader *r);
/* Numbers records by position from 1 in every format: for files that are matched record by record. */
void record_reader_by_place(struct record_reader *r);
/* Whether the next record or the end can be read without waiting for input. */
bool record_reader_ready(const struct record_reader *r);
void record_reader_close(struct record_reader *r);

/* Number of records of a file, or of a range of it, for progress bars.  0 if the path is NULL or names no regular file,
 * or if the file cannot be read to its end.  Without a range, the whole file is read. */
int64_t record_file_total(const char *path, enum record_format format, const struct record_range *range);

#endif
