/*
 * heuristic.h - a tagger without a model: runs of the question's words that are like a name or a value are that, runs
 * like several are ambiguous, and what stands where a noun phrase stands and is like nothing is unanswerable.
 *
 * A number is marked where a column holds it and the question tells which one.  A table that the question names decides
 * between columns, and between values, that are alike.
 *
 * It is the baseline that a model has to beat, and of use where there is none.  What counts as alike is in four
 * thresholds, which records with marked words can tune.
 */
#ifndef DATA_SPAN_HEURISTIC_H
#define DATA_SPAN_HEURISTIC_H

#include "data/span/tagging.h"

struct heuristic {
    double name;    /* the least likeness of a column's name and a run of words */
    double value;   /* the least of a value and a run */
    double margin;  /* what is less like a run than the best, by more than this, is no alternative */
    double unknown; /* a noun phrase is unanswerable where no name is as much like it; 0: never */
};
#define HEURISTIC_DEFAULT                                                                                              \
    {                                                                                                                  \
        .name = 0.85, .value = 0.9, .margin = 0.05, .unknown = 0.6                                                     \
    }

enum { HEURISTIC_ALTERNATIVES = 3, HEURISTIC_WORDS = 5 };

/* The caller releases the answer. */
void heuristic_tag(struct tag_answer *a, const struct heuristic *h, const struct tag_question *q);

/* From 0 to 1: 1 where all words are the same, 0.9 where the run says the name's chief word and nothing that the name
 * has not, else as many letters as are alike. */
double heuristic_likeness(const char *run, const char *name);

/* Sets the thresholds to those that do best on the records: F1 of AMB and UNK spans less twice the share of answerable
 * questions that have one.  Returns what they reach. */
double heuristic_tune(struct heuristic *h, const struct span_record *records, int n);

#endif
