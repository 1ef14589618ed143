/*
 * heuristic.h - a tagger without a model, as baseline and fallback.
 *
 * Words similar to a column name or a value are tagged COL or VAL; words similar to several are AMB; a noun phrase
 * similar to nothing is UNK. A number is tagged if a column contains it and the question determines the column. Tables
 * that the question names decide between similar columns and values. Four thresholds on similarity can be tuned on
 * records with marked words.
 */
#ifndef DATA_SPAN_HEURISTIC_H
#define DATA_SPAN_HEURISTIC_H

#include "data/span/tagging.h"

struct heuristic {
    double name;    /* minimum similarity of a column name and words */
    double value;   /* minimum similarity of a value and words */
    double margin;  /* maximum distance of an alternative from the best one */
    double unknown; /* a noun phrase is UNK below this similarity to all names; 0: never */
};
#define HEURISTIC_DEFAULT                                                                                              \
    {                                                                                                                  \
        .name = 0.85, .value = 0.9, .margin = 0.05, .unknown = 0.6                                                     \
    }

enum { HEURISTIC_ALTERNATIVES = 3, HEURISTIC_WORDS = 5 };

/* The caller releases the answer. */
void heuristic_tag(struct tag_answer *a, const struct heuristic *h, const struct tag_question *q);

/* Similarity from 0 to 1. It is 1 if all words are equal, 0.9 if the words contain the head of the name and no other
 * word, else the ratio of equal letters. */
double heuristic_likeness(const char *run, const char *name);

/* Tunes the thresholds on records by grid search. The objective is F1 of AMB and UNK spans minus twice the share of
 * answerable questions with such a span. Returns its best value. */
double heuristic_tune(struct heuristic *h, const struct span_record *records, int n);

#endif
