/*
 * fuzz.h - helpers that several fuzzers share.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "data/schema/schema_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input with a zero byte behind.  The caller frees. */
char *fuzz_text(const uint8_t *data, size_t size);
/* Cuts a text behind its first line and returns the rest, or NULL when there is none. */
char *fuzz_next_line(char *text);

/* A schema begun with n tables: each a name and two columns, a number and a text. */
void fuzz_tables(struct schema_build *b, const char *const tables[][3], int n);

#endif
