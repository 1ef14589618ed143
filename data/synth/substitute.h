/*
 * substitute.h - copies of infilling examples with other words, replaced consistently within an example.
 *
 * A copy keeps the structure of its text (for instance, one part repeats another but for one phrase) and loses its
 * content. A model trained on copies must look names up in its prompt and cannot memorise the prompts. A word is a run
 * of at least three ASCII letters. Its capital and plural s are kept. SQL keywords and names of called functions are
 * never replaced.
 */
#ifndef DATA_SYNTH_SUBSTITUTE_H
#define DATA_SYNTH_SUBSTITUTE_H

#include "data/base/record_reader.h"
#include "data/base/strings.h"
#include "kernels/rng.h"

/* The words of many records with their record counts. Zero-initialise it. */
struct word_counts {
    struct strings words; /* singular, lower case */
    int *records;         /* [words.n] number of records that have the word */
    int *last;            /* [words.n] the last record that had the word */
    int *common;          /* [n_common] indices of the most frequent words, which are never replaced */
    int cap, last_cap, n_common;
};

/* Counts the words of one text of this record. Record numbers start at 1 and ascend. */
void word_counts_add(struct word_counts *l, const char *text, int record);
/* Ends the counting: the `max` most frequent words are never replaced. */
void word_counts_close(struct word_counts *l, int max);
void word_counts_release(struct word_counts *l);

/* The replacements within one record, drawn when a word first occurs. Set counts and rng, zero the rest, and use it
 * for one record. */
struct substitution {
    const struct word_counts *counts; /* after word_counts_close */
    struct rng *rng;
    struct strings words, taken; /* words.items[i] becomes taken.items[i]; no two words share a replacement */
};

/* Returns the text with its words replaced. The caller frees it. */
char *substitute(struct substitution *s, const char *text);
void substitution_release(struct substitution *s);

struct substitute_request {
    const char *out;
    enum record_format format_in;
    int64_t copies; /* for each record */
    int64_t common; /* number of most frequent words to keep */
    int64_t seed;
};

/* Writes the copies to q->out. Reads the file twice, so standard input is not possible. Skips records with an error.
 * Returns -1 with err. */
int substitute_write(const struct substitute_request *q, const char *path, struct error *err);

#endif
