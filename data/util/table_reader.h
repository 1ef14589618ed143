/*
 * table_reader.h - CSV and TSV with a header as records: each row an object of strings, named by the header.
 *
 * Quotes are those of RFC 4180: a field that begins with one may hold separators, line ends and "" for a quote.  An
 * empty field is none: the object lacks it.  A row with more or fewer fields than the header is an error.
 */
#ifndef DATA_UTIL_TABLE_READER_H
#define DATA_UTIL_TABLE_READER_H

#include "data/util/text_stream.h"

#include <jansson.h>

struct table_reader;
/* Takes the stream, also on failure, and reads its header.  NULL with EXIT_CODE_DATA. */
struct table_reader *table_reader_of(struct text_stream *in, char separator, struct error *err);
/* 1 and *record (owned by the caller), 0 at the end, -1 on a bad row with EXIT_CODE_DATA; reading may go on after it.
 * *line is where the row begins. */
int table_reader_next(struct table_reader *t, json_t **record, int64_t *line, struct error *err);
/* After -1: whether nothing more can be read. */
bool table_reader_failed(const struct table_reader *t);
bool table_reader_ready(const struct table_reader *t);
void table_reader_close(struct table_reader *t);

/* Whether a line is a header: its fields stand apart by the separator, and records have a field by one of the names. */
bool table_is_header(const char *line, size_t length, char separator);

#endif
