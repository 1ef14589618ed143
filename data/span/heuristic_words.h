/*
 * heuristic_words.h - a question and the names that it may say, in words: the tables that it names, and the columns
 * whose values its numbers are.
 */
#ifndef DATA_SPAN_HEURISTIC_WORDS_H
#define DATA_SPAN_HEURISTIC_WORDS_H

#include "data/span/spoken.h"
#include "data/span/tagging.h"

/* A run of the question's words that names a table. */
struct named_table {
    int column;      /* the first of the table's */
    int first, last; /* words */
    bool whole;      /* all words of its name, not the chief one alone */
};

/* A question and the names that it may say, in words. */
struct heuristic_words {
    const struct tag_question *q;
    struct spoken words;
    struct spoken *names;  /* [n_columns] */
    struct spoken *tables; /* [n_columns] of the first column of each table; none where there is no table */
    int *table_of;         /* [n_columns] the first column of its table */
    struct named_table *named;
    int n_named, cap_named;
};

void heuristic_words_init(struct heuristic_words *w, const struct tag_question *q);
void heuristic_words_release(struct heuristic_words *w);

/* How clearly the question names the column's table for words first to last: beside them, by its whole name, by its
 * chief word, or not at all. */
enum table_rank { TABLE_UNNAMED, TABLE_HINTED, TABLE_NAMED, TABLE_BESIDE };
enum table_rank heuristic_table_rank(const struct heuristic_words *w, int column, int first, int last);

#define PART_LIKENESS 0.9
/* How much a run of words says of a name: 1 all of it, PART_LIKENESS its chief word and nothing that the name has not,
 * 0 else. */
double heuristic_said(const struct spoken *run, const struct spoken *name);

/* How much the words that lead to word `first` say of a column's name: "home city is Paris". */
double heuristic_said_before(const struct heuristic_words *w, int column, int first);

/* The column whose value a number of the question is, with the value; false where the question does not tell, or the
 * column that it tells does not hold the number. */
bool heuristic_number(struct tag_concept *value, const struct heuristic_words *w, int number);

#endif
