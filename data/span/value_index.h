/*
 * value_index.h - finds the values of a database in a question, exactly or with typing errors.
 *
 * Texts are looked up by their words without case (text_fold.h), separated by one blank. So "joe's bar" finds "Joe's
 * Bar" and "STRASSE" finds "Straße". Otherwise, values that share enough 4-grams are compared; nothing is compared
 * with all values. The index is in memory, within max_bytes.
 */
#ifndef DATA_SPAN_VALUE_INDEX_H
#define DATA_SPAN_VALUE_INDEX_H

#include "data/base/strings.h"
#include "data/span/tagging.h"

/* Longer values are not indexed. Runs of up to VALUE_WORDS words are looked up. */
enum { VALUE_BYTES = 96, VALUE_WORDS = 5, VALUE_BEST = 3 /* of each column */ };
#define VALUE_INDEX_BYTES (INT64_C(1) << 30)

struct value_entry {
    uint32_t text; /* offset in texts */
    int column;
    uint32_t next;   /* next entry of the slot plus 1; 0: none */
    uint8_t bytes;   /* of the text */
    uint8_t letters; /* bytes of its words */
};

struct value_index {
    char *texts; /* as stored, NUL-terminated */
    struct value_entry *entries;
    uint32_t *slots; /* by hash of the words */
    uint32_t *first; /* [n_grams + 1] by hash of a 4-gram: start of its entries in `grams` */
    uint32_t *grams;
    uint8_t *shared; /* [n] shared 4-grams; all 0 between calls */
    int64_t n_texts, cap_texts, n_letters, max_bytes;
    int n, cap, n_slots, n_grams;
    bool cut; /* max_bytes was reached */
};

void value_index_init(struct value_index *x, int64_t max_bytes);
/* Adds a value of a column before value_index_finish. Values that are too long, have no letter, are not UTF-8 or
 * repeat a value in other case are skipped. */
void value_index_add(struct value_index *x, int column, const char *text);
/* Call once, after all additions. */
void value_index_finish(struct value_index *x);
int64_t value_index_bytes(const struct value_index *x);
void value_index_release(struct value_index *x);

/* Folds words, separated by a blank. Returns their bytes, 0 without words, -1 if they do not fit or are not UTF-8. */
int value_words(char words[VALUE_BYTES + 1], const char *text, size_t n);
/* The next entry with equal words after `after` (0 at first), plus 1; 0: none. */
uint32_t value_index_exact(const struct value_index *x, const char *words, uint32_t after);
/* Calls back for each similar entry, in no order. */
typedef void value_found_fn(void *user, uint32_t entry, double ratio);
void value_index_alike(struct value_index *x, const char *words, int n, double least, value_found_fn *found,
                       void *user);

#endif
