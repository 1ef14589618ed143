/*
 * support.h - cmocka and helpers that several tests share.
 */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

/* cmocka.h wants these first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/base.h"

/* A new empty folder, and its removal with all it holds.  The path is the caller's to free, which removal does. */
char *test_dir_new(void);
void test_dir_remove(char *dir);
/* "dir/name", holding text when that is not NULL.  Good until the eighth call from here. */
const char *test_file(const char *dir, const char *name, const char *text);
/* Returns the content of a file with a zero byte after it, or NULL without a file.  The caller frees. */
char *test_read(const char *path);

/* Whether AMBIT_TEST_ALL is set, as scripts/test.sh --all does: a test then runs all that it has, however long. */
bool test_all(void);

/* Sets AMBIT_SIMT_SEED, the order of threads on simt, if it is unset: to 1, or to any number where test_all. */
void test_choose_seed(void);

/* Returns "$AMBIT_SHARED/name" (../shared by default), or NULL if it does not exist; the test then skips. */
const char *test_shared(const char *name);

/* Runs a program of this build through the shell ("ambit-data sql x.jsonl"), both outputs into *output (the caller
 * frees).  Returns its exit code. */
int test_run(const char *command, char **output);

/* Returns the text that call(arg) writes to standard error; the caller frees. */
char *test_said(void (*call)(void *), void *arg);

/* err says all of the words, which end with NULL. */
#define assert_error(err, ...) test_error(&(err), __FILE__, __LINE__, (const char *const[]){ __VA_ARGS__, NULL })
void test_error(const struct error *err, const char *file, int line, const char *const *words);

#endif
