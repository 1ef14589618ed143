/*
 * table_writer.h - writes JSON values as the rows of a CSV table (RFC 4180), and finds the format that a name promises.
 *
 * Texts with a comma, a quote or a line break are quoted.  Lines end in "\n".  record_reader.h reads such tables back.
 * Nothing here fails; the caller checks the stream.
 */
#ifndef DATA_BASE_TABLE_WRITER_H
#define DATA_BASE_TABLE_WRITER_H

#include <jansson.h>
#include <stdio.h>

/* Writes a text as a cell. */
void table_put_text(FILE *out, const char *text);
/* Writes a value as a cell: a text as it is, nothing for null and NULL, other values as JSON with 9 digits. */
void table_put(FILE *out, const json_t *value);

/* Index of the word in `words`, separated by |, that is the ending of a name, without .gz, .xz or .zst; -1: none. */
int format_of_ending(const char *words, const char *name);

#endif
