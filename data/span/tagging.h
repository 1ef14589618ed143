/*
 * tagging.h - what a tagger is asked and what it answers: plain values that every strategy, the writers, the scores and
 * the hand-off share.
 *
 * A concept is a table, a column or a value of a column, and is named by numbers and borrowed strings of the question
 * that was asked, so that an answer is good as long as its question is.  Offsets are those of span_record.h.
 */
#ifndef DATA_SPAN_TAGGING_H
#define DATA_SPAN_TAGGING_H

#include "data/span/number_index.h"
#include "data/span/span_record.h"

#include <stdio.h>

/* A run of the question's words that says a value of a column. */
struct tag_value {
    int column;
    const char *text; /* as the database has it */
    int start, end;
    double score; /* from 0 to 1: how alike they are */
};

/* A column that holds a number that the question says, or dates of the year that it says. */
struct number_holder {
    int column;
    const char *text; /* the number as the database has it, or the year */
    bool by_year;
};

/* A number of the question; offsets are those of its digits and sign. */
struct said_number {
    int start, end; /* code points */
    int from, to;   /* bytes */
    struct plain_number value;
    bool ordinal;    /* "2nd" */
    bool percent;    /* "20 %" */
    bool money;      /* "$20" */
    bool at_least;   /* "20+" */
    bool plain_year; /* four digits and nothing else, which a year could be */
    const struct number_holder *holders;
    int n_holders;
};

/* Column numbers are those of `columns`; a table is told by the first of its columns. */
struct tag_question {
    const char *question;
    const struct span_column *columns;
    int n_columns;
    const struct tag_value *values; /* matches, the best of each column first; they may overlap */
    int n_values;
    const struct said_number *numbers; /* in order; who holds them is known where the values are */
    int n_numbers;
};

enum tag_kind { TAG_TABLE, TAG_COLUMN, TAG_VALUE };

struct tag_concept {
    enum tag_kind kind;
    int column;
    const char *value; /* of TAG_VALUE, else NULL */
    double score;      /* from 0 to 1 */
};

struct tag_span {
    int start, end;
    enum span_label label;
    double probability;               /* that this span has this label; calibrated where the strategy can */
    struct tag_concept *alternatives; /* the best first: one of COL and VAL, two or more of AMB, none of UNK */
    struct tag_concept *nearest;      /* of UNK: what is most like it, though it is not meant */
    int n_alternatives, n_nearest;
};

/* How much a word carries of what the tagger concludes, from 0 to 1. */
struct tag_heat {
    int start, end;
    double score;
};

struct tag_answer {
    struct tag_span *spans; /* in order, none over another */
    struct tag_heat *heat;  /* of each word, or NULL: the strategy has none */
    int n_spans, n_heat;
    double problem; /* from 0 to 1: that some word is AMB or UNK, also where no span says so; 0: the spans say it */
};
void tag_answer_release(struct tag_answer *a);

/* A text from its n-th code point on. */
const char *text_from_letter(const char *text, int n);

/*
 * What a tagger answered, as sentences of one table of texts.
 *
 * Names and words of the question stand in double quotes, a quote inside them twice, so that nobody takes a part of a
 * name for its end.
 */

/* "table.column", "column" where the question is about one table, or "table"; the caller frees. */
char *tag_concept_name(const struct tag_question *q, const struct tag_concept *c);
/* First what has several meanings, then what cannot be mapped; the caller frees. */
char *tag_sentence(const struct tag_question *q, const struct tag_answer *a);

/*
 * What a tagger answered, as a line of JSON, as text for people and as a page.
 *
 * Text and page are made of the line alone, so that a run which goes on writes what one that nobody stopped would.
 * Names and cells come from strangers: the page has them as text and never as markup, a terminal gets none of their
 * control characters.
 */

/* Of the values that its column has, so many stand beside an alternative, each cut behind so many letters. */
enum { TAG_EXAMPLES = 3, TAG_EXAMPLE_LETTERS = 60 };

/* The record that docs/reference/records.md has; a new reference, NULL where a name or a value is no UTF-8.  id and
 * db_id are left out where they are NULL. */
json_t *tag_json(const json_t *id, const char *db_id, const struct tag_question *q, const struct tag_answer *a);

/* Of such a line, or one with an "error": a few for people, words in colour on a terminal, else in brackets. */
void tag_print_text(FILE *out, const json_t *line);
/* A section of the page that begins with tag_html_head and ends with tag_html_foot. */
void tag_print_html(FILE *out, const json_t *line);
extern const char tag_html_head[], tag_html_foot[];

#endif
