/*
 * substitute.h - texts in which words are exchanged for others, the same word for the same one all over.
 *
 * What texts have in common stays (that one part repeats another, but for one phrase), what they say goes: a model that
 * learns from them learns to look things up in its prompt, and cannot learn the prompts by heart.  A word is a run of
 * at least three ASCII letters; capitals and a plural s do not count and are kept.  SQL's own words and the
 * functions that it calls are never exchanged.
 */
#ifndef DATA_AMBIGUATE_SUBSTITUTE_H
#define DATA_AMBIGUATE_SUBSTITUTE_H

#include "data/util/record_reader.h"
#include "data/util/strings.h"
#include "kernels/rng.h"

/* The words of many records.  A zeroed struct is ready. */
struct lexicon {
    struct strings words; /* singular, lower case */
    int *records;         /* [words.n] how many records have the word */
    int *last;            /* [words.n] the last that had it */
    int *common;          /* [n_common] words of the most records, which are never exchanged, by number */
    int cap, last_cap, n_common;
};

/* Counts the words of one text of record number `record`; records come in order, from 1. */
void lexicon_add(struct lexicon *l, const char *text, int record);
/* Decides that the `most` commonest words stay. */
void lexicon_close(struct lexicon *l, int most);
void lexicon_release(struct lexicon *l);

/* What the words of one record become; drawn when a word is first met.  Zero but for lexicon and rng, it is ready for
 * one record. */
struct substitution {
    const struct lexicon *lexicon; /* closed */
    struct rng *rng;
    struct strings words, taken; /* words.items[i] becomes taken.items[i], and no two the same */
};

/* The text with its words exchanged; the caller frees. */
char *substitute(struct substitution *s, const char *text);
void substitution_release(struct substitution *s);

struct substitute_request {
    const char *out;
    enum record_form form;
    int64_t copies; /* of each record */
    int64_t common; /* words of the most records, which stay */
    int64_t seed;
};

/* Reads the file twice, so that it cannot be standard input.  Records with an error are left out.  -1 with err. */
int substitute_write(const struct substitute_request *q, const char *path, struct error *err);

#endif
