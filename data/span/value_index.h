/*
 * value_index.h - the values of a database, found by what a question says: exactly, or with a slip of the pen.
 *
 * A text is looked up by its words without case (text_fold.h), one blank between, so that "joe's bar" says "Joe's  Bar"
 * and "STRASSE" says "Straße".  What is not found so is compared with the values that share enough of its runs of four
 * letters: nothing is compared with all. The index lives in memory alone, of which it takes about what it is told.
 */
#ifndef DATA_SPAN_VALUE_INDEX_H
#define DATA_SPAN_VALUE_INDEX_H

#include "data/span/tagging.h"
#include "data/util/strings.h"

/* Longer values are nothing that a question says.  Runs of so many words of the question are looked up. */
enum { VALUE_BYTES = 96, VALUE_WORDS = 5, VALUE_BEST = 3 /* of each column */ };
#define VALUE_INDEX_BYTES (INT64_C(1) << 30)

struct value_entry {
    uint32_t text; /* its place in texts */
    int column;
    uint32_t next;   /* of the same slot, its number and 1; 0: none */
    uint8_t bytes;   /* of the text */
    uint8_t letters; /* bytes of its words */
};

struct value_index {
    char *texts; /* as the database has them, each with its NUL */
    struct value_entry *entries;
    uint32_t *slots; /* by hash of the words */
    uint32_t *first; /* [n_grams + 1] by hash of four letters: where its entries begin in `grams` */
    uint32_t *grams;
    uint8_t *shared; /* [n] of entries; all 0 between two calls */
    int64_t n_texts, cap_texts, n_letters, max_bytes;
    int n, cap, n_slots, n_grams;
    bool cut; /* there was more than max_bytes take */
};

void value_index_init(struct value_index *x, int64_t max_bytes);
/* A value of a column; what a question cannot say (too long, without a letter, no UTF-8) is passed over, and so is one
 * that the column has in other letters.  To be called before value_index_finish. */
void value_index_add(struct value_index *x, int column, const char *text);
/* Once, when all are there. */
void value_index_finish(struct value_index *x);
int64_t value_index_bytes(const struct value_index *x);
void value_index_release(struct value_index *x);

/* Folded words, a blank between; their bytes, 0 of a text without words, -1 of more than fit and of what is no UTF-8.
 */
int value_words(char words[VALUE_BYTES + 1], const char *text, size_t n);
/* Those whose words are the same; the next one after `after` (0 at first), as a number and 1; 0: no more. */
uint32_t value_index_exact(const struct value_index *x, const char *words, uint32_t after);
/* Calls back with each that is alike, in no order; x is as before afterwards. */
typedef void value_found_fn(void *user, uint32_t entry, double ratio);
void value_index_alike(struct value_index *x, const char *words, int n, double least, value_found_fn *found,
                       void *user);

#endif
