/*
 * tagging.h - the question for a tagger, its answer, and the answer as sentences, JSON, text and page.
 *
 * All taggers, scores and the transfer to dialogues share these plain structs. A concept is a table, a column or a
 * value of a column. It refers to the question by indices and borrowed strings, so an answer is valid as long as its
 * question. Offsets are those of span_record.h.
 */
#ifndef DATA_SPAN_TAGGING_H
#define DATA_SPAN_TAGGING_H

#include "data/span/number_index.h"
#include "data/span/span_record.h"

#include <stdio.h>

/* Words of the question that match a value of a column. */
struct tag_value {
    int column;
    const char *text; /* as stored in the database */
    int start, end;
    double score; /* similarity from 0 to 1 */
};

/* A column that contains a number of the question, or dates of that year. */
struct number_holder {
    int column;
    const char *text; /* the number as stored, or the year */
    bool by_year;
};

/* A number of the question; offsets include digits and sign. */
struct said_number {
    int start, end; /* code points */
    int from, to;   /* bytes */
    struct plain_number value;
    bool ordinal;    /* "2nd" */
    bool percent;    /* "20 %" */
    bool money;      /* "$20" */
    bool at_least;   /* "20+" */
    bool plain_year; /* four digits that may be a year */
    const struct number_holder *holders;
    int n_holders;
};

/* Columns are indices of `columns`; a table is represented by its first column. */
struct tag_question {
    const char *question;
    const struct span_column *columns;
    int n_columns;
    const struct tag_value *values; /* matches, the best of each column first; may overlap */
    int n_values;
    const struct said_number *numbers; /* in order; with holders if values are known */
    int n_numbers;
    bool has_values;             /* the columns' values are known, so that words without a match are no values */
    const struct schema *schema; /* of the columns; NULL: a record has brought them */
    bool lasting;                /* the schema belongs to its db_id */
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
    double probability;               /* of this label; calibrated if the tagger is */
    struct tag_concept *alternatives; /* the best first: one for COL and VAL, several for AMB, none for UNK */
    struct tag_concept *nearest;      /* of UNK: the most similar concepts, which are not meant */
    int n_alternatives, n_nearest;
};

/* The weight of a word in the conclusion, from 0 to 1. */
struct tag_heat {
    int start, end;
    double score;
};

struct tag_answer {
    struct tag_span *spans; /* in order, without overlaps */
    struct tag_heat *heat;  /* of each word, or NULL */
    int n_spans, n_heat;
    double problem; /* probability that a word is AMB or UNK, also without such a span; 0: derive it from the spans */
};
void tag_answer_release(struct tag_answer *a);

/* The text from its n-th code point. */
const char *text_from_letter(const char *text, int n);

/* Sentences from one table of texts. Names and words of the question are in double quotes, with inner quotes doubled.
 */

/* "table.column", "column" if the question is about one table, or "table". The caller frees. */
char *tag_concept_name(const struct tag_question *q, const struct tag_concept *c);
/* Ambiguous words first, then unanswerable ones. The caller frees. */
char *tag_sentence(const struct tag_question *q, const struct tag_answer *a);

/* Written forms. Text and page are made from the JSON line alone, so a resumed run writes the same. Names and cells
 * are untrusted: pages escape markup, terminals get no control characters. */

/* Examples of values beside an alternative, and the maximum code points of each. */
enum { TAG_EXAMPLES = 3, TAG_EXAMPLE_LETTERS = 60 };

/* The record of docs/reference/records.md; a new reference, NULL if a name or value is not UTF-8. id and db_id are
 * omitted if NULL. */
json_t *tag_json(const json_t *id, const char *db_id, const struct tag_question *q, const struct tag_answer *a);

/* Prints such a line, or one with an "error", in a few lines of text: words in colour on a terminal, else in brackets.
 */
void tag_print_text(FILE *out, const json_t *line);
/* Prints a line with the sentence about UNK spans of such a record, or of one of detect. Nothing without such spans. */
void tag_print_unanswerable(FILE *out, const json_t *line);
/* Prints such a line as rows of a table (table_writer.h), one for each span, with the columns of the head.  A question
 * without spans has one row. */
extern const char tag_table_head[];
void tag_print_rows(FILE *out, const json_t *line);
/* A section of the page between tag_html_head and tag_html_foot. */
void tag_print_html(FILE *out, const json_t *line);
extern const char tag_html_head[], tag_html_foot[];

#endif
