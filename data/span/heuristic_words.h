/*
 * heuristic_words.h - for the heuristic tagger: the tables that a question names, and the columns of its numbers.
 *
 * A question and all names of its columns are split into words once.
 */
#ifndef DATA_SPAN_HEURISTIC_WORDS_H
#define DATA_SPAN_HEURISTIC_WORDS_H

#include "data/span/spoken.h"
#include "data/span/tagging.h"

/* Words of the question that name a table. */
struct named_table {
    int column;      /* the first column of the table */
    int first, last; /* words, inclusive */
    bool whole;      /* all words of its name, not only its head */
};

/* A question and the names of its columns, as words. */
struct heuristic_words {
    const struct tag_question *q;
    struct spoken words;
    struct spoken *names;  /* [n_columns] */
    struct spoken *tables; /* [n_columns] filled for the first column of each table; empty without a table */
    int *table_of;         /* [n_columns] the first column of its table */
    struct named_table *named;
    int n_named, cap_named;
};

void heuristic_words_init(struct heuristic_words *w, const struct tag_question *q);
void heuristic_words_release(struct heuristic_words *w);

/* The strength of evidence that words first to last belong to the column's table: beside the words, by its whole name,
 * by its head, or none. */
enum table_rank { TABLE_UNNAMED, TABLE_HINTED, TABLE_NAMED, TABLE_BESIDE };
enum table_rank heuristic_table_rank(const struct heuristic_words *w, int column, int first, int last);

#define PART_LIKENESS 0.9
/* Similarity of words and a name: 1 for all words, PART_LIKENESS for its head and no foreign word, else 0. */
double heuristic_said(const struct spoken *run, const struct spoken *name);

/* The same for the words before word `first`, as in "home city is Paris". */
double heuristic_said_before(const struct heuristic_words *w, int column, int first);

/* Finds the column and value of a number of the question. False if the question does not determine the column, or the
 * column does not contain the number. */
bool heuristic_number(struct tag_concept *value, const struct heuristic_words *w, int number);

#endif
