/*
 * records_text.h - the records of a file as one text, for tests of readers.
 */
#ifndef TESTS_RECORDS_TEXT_H
#define TESTS_RECORDS_TEXT_H

#include "data/base/record_reader.h"

/* Writes n bytes to a file. Aborts if it cannot. */
void write_bytes(const char *path, const void *bytes, size_t n);

/* All records of a file as "record;record;", with "-" for a bad one and its error in *err; NULL if the file does not
 * open. The text is valid until the next call. */
const char *records_text(const char *path, enum record_format format, struct error *err);

#endif
