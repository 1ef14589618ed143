/* One question being put into words: what its files share. */
#ifndef DATA_CLARIFY_QUESTION_IMPL_H
#define DATA_CLARIFY_QUESTION_IMPL_H

#include "data/clarify/question.h"

struct question_writer {
    const struct question_context *a;
    const struct phrase_context *p;
    const struct variable *variable;
    const struct slot *slot; /* of two asked together, the one at hand; NULL for the whole statement */
    struct question *q;
};

/* A writer whose question has its statements and no words yet. */
struct question_writer question_begin(struct question *q, const struct question_context *a,
                                      const struct question_view *view);
/* Whether what a statement has at the slot is about an element of the schema. */
bool question_touches(const struct question_writer *w, int statement, int element);

/* How many options have it there. */
int question_touching(const struct question_writer *w, int element);
/* Values are not what a result shows. */
bool question_is_beside(const struct question_writer *w, const struct span *p);
/* Whether an option chooses among the elements, having one and not all, and another one has it not. */
bool question_parts(const struct question_writer *w, const int *elements, int n);
/* Whether they part in a detector's alternatives. */
bool question_asks_found(const struct question_writer *w);
/* The likeliest AMB span in whose alternatives they part, NULL for none. */
const struct span *question_open_span(const struct question_writer *w);
/* "Two columns fit what you wrote: "scores"." - what the hints say of the question; "" when they say nothing. */
const char *question_lead(const struct question_writer *w);
/* "For the part about song: " of what a sub-query says; "" else. */
const char *question_part(const struct question_writer *w);
/* Adds the alternatives that were found though no statement has them, as far as there is room. */
void question_add_found(struct question_writer *w);
/* Options that would read alike say more: with all tables and to the end of every list, then in what the statements
 * differ, in words and in SQL; in the end they carry a number. */
typedef const char *question_option_fn(struct question_writer *w, int statement);
void question_make_distinct(struct question_writer *w, question_option_fn *option);
/* What an option says of a column, with a few of its values. */
const char *question_with_samples(const struct question_writer *w, const char *option, int statement);

#endif
