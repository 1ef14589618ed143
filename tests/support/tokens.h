/*
 * tokens.h - helpers that the tests of tokenizers share.
 */
#ifndef TESTS_SUPPORT_TOKENS_H
#define TESTS_SUPPORT_TOKENS_H

#include "models/text/tokenizer.h"
#include "tests/support/support.h"

#include <jansson.h>

/* Opens tests/gold/<name>; the test fails when it cannot. */
struct tokenizer *test_tokenizer(const char *name);
/* Hexadecimal digits as bytes, a zero behind; the caller frees. */
char *test_from_hex(const char *hex, size_t *length);
/* ids are those of a JSON list. */
void test_ids(const struct ids *ids, const json_t *wanted, const char *where);
/* The text of a gold record, its "hex", becomes its "ids", with spans and without.  Returns its bytes. */
size_t test_encode(const struct tokenizer *t, const json_t *record, struct ids *ids, struct token_spans *spans,
                   const char *where);
/* Every record of tests/gold/<folder>.jsonl through the tokenizer of its model, tests/gold/<folder>/<model>; the
 * records of a model stand together.  How many there were. */
typedef void test_record_fn(const struct tokenizer *t, const json_t *record, const char *where);
int test_gold_records(const char *folder, test_record_fn *check);
/* The text with the first `from` in it replaced; the caller frees. */
char *test_replaced(const char *text, const char *from, const char *to);
/* The tokenizer in dir is refused with EXIT_CODE_CHECKPOINT and a message that holds all of the words. */
void test_refused(const char *dir, const char *what, const char *const *words);

#endif
