/*
 * choice_memory.h - the choices of a user: which column, table or other element was meant by which words.
 *
 * A memory is a file of JSON lines that a person can read and edit.  Each line is one choice:
 *
 *   {"db_id", "words", "meant", "times", "otherwise", "weight", "last"}
 *
 * "words" are stems of the user's words (spoken.h) without fillers.  "meant" is the name of an element, "table" or
 * "table.column", or an option in words.  "times" counts the answers with this choice, and "otherwise" those in which
 * the same words meant another option.  "weight" is a number of answers in which later ones count more: an answer
 * multiplies the weights of all its options by CHOICE_DECAY, and adds 1 to the chosen one.  "last" is the date of the
 * last answer with this choice, in UTC.
 *
 * The weights are the counts of a Dirichlet distribution over the options, whose base measure is their probability
 * without the memory, with the concentration CHOICE_CONCENTRATION.  Their posterior means are the probabilities with
 * the memory.  One answer makes its option as probable as it is in the dialogue of that answer, about 0.95.
 *
 * A change is written under a lock, from the file as it then is, and appears whole: processes that learn at the same
 * time lose no answer.  Bad files fail with EXIT_CODE_DATA, which names file, line and field.  Failures to write have
 * EXIT_CODE_FAILURE.
 */
#ifndef DATA_CLARIFY_CHOICE_MEMORY_H
#define DATA_CLARIFY_CHOICE_MEMORY_H

#include "data/base/json.h"

#include <sys/stat.h>

#define CHOICE_DECAY 0.2
#define CHOICE_CONCENTRATION 0.05
#define CHOICE_SURE 0.95 /* a remembered option of this probability is as sure as an answer */

enum { CHOICE_MEMORY_MAX = 100000, CHOICE_TEXT_MAX = 1000, CHOICE_OPTIONS_MAX = 16 };

struct remembered_choice {
    char *db_id, *words, *meant;
    int64_t times, otherwise;
    double weight;
    char last[sizeof "2026-01-31"];
};

struct choice_memory {
    const char *path; /* borrowed */
    struct remembered_choice *list;
    int n, cap;
    int *heads, *next; /* hash table by db_id and words: heads [n_heads] and next [n] */
    int n_heads;
    struct stat state; /* of the file when it was read; zeroed: there was none */
};

/* Reads the memory.  A missing file is an empty one.  The caller closes it in any case. */
int choice_memory_open(struct choice_memory *m, const char *path, struct error *err);
/* Reads the file again if another process has changed it. */
int choice_memory_refresh(struct choice_memory *m, struct error *err);
void choice_memory_close(struct choice_memory *m);

/* Writes the stems of a text, joined by blanks, to `words`.  Returns false if there are none or they are too long. */
bool choice_words(char words[CHOICE_TEXT_MAX], const char *text);

/* Options [n] that the same words may mean; equal names are one option.  NULL: an option without a name. */
struct choice_options {
    const char *db_id, *words;
    const char *const *meant;
    int n;
};

/* The choice of an option; NULL: there is none.  Borrowed until the memory changes. */
const struct remembered_choice *choice_memory_find(const struct choice_memory *m, const struct choice_options *o,
                                                   int option);
/* Turns the probabilities of the options, which sum to 1, into those with the memory.  Returns false, and leaves them,
 * if the memory has none of the options. */
bool choice_memory_weigh(double *p, const struct choice_memory *m, const struct choice_options *o);
/* Learns an answer, and writes the file. */
int choice_memory_learn(struct choice_memory *m, const struct choice_options *o, int option, struct error *err);

/* Takes an answer back that was learnt, and writes the file.  Nothing changes if the choice is unknown.  The weights
 * are those before the answer if no later one concerns these options; a later one has outweighed it already. */
int choice_memory_unlearn(struct choice_memory *m, const struct choice_options *o, int option, struct error *err);

/* A filter of choices; NULL: any.  The words are normalised. */
struct choice_filter {
    const char *db_id, *words, *meant;
};
bool choice_filter_has(const struct choice_filter *f, const struct remembered_choice *c);
/* Deletes the choices of a filter, and writes the file if there were some.  Returns their number, or -1. */
int choice_memory_delete(struct choice_memory *m, const struct choice_filter *f, struct error *err);

/* {"words", "meant", "times", "otherwise", "last", "sentence"} for the output of a dialogue.  A new reference. */
json_t *remembered_choice_json(const struct remembered_choice *c);

#endif
