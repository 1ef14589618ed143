/*
 * ambiguate_run.h - ambit-data ambiguate from the outside, on a harbour with boats and crews.
 */
#ifndef TESTS_SUPPORT_AMBIGUATE_RUN_H
#define TESTS_SUPPORT_AMBIGUATE_RUN_H

#include <jansson.h>

/* cmocka's fixtures: *state is a new folder with tables.json, two_col_synonyms.json, tables_synonyms.json and
 * harbour_0.sqlite. */
int ambiguate_set_up(void **state);
int ambiguate_tear_down(void **state);
/* One question on that harbour as a line of JSONL; good until the next call. */
const char *ambiguate_question(const char *question, const char *sql);

/* Runs the command with these arguments, in which $ stands for dir, and -o dir/out.jsonl; fails on another exit code.
 * Returns the records; *said is its output, unless said is NULL.  The caller frees both. */
json_t *ambiguate_run(const char *dir, const char *arguments, int code, char **said);
/* The same when nothing is put in the arguments. */
json_t *ambiguate_run_shared(const char *dir, const char *arguments);

/* The lines of a JSONL file, which may end in .xz; the caller's. */
json_t *ambiguate_read(const char *path);
const char *ambiguate_field(const json_t *records, size_t i, const char *field);

#endif
