/*
 * question.h - a question in words, with its options: a template for each type, no SQL in what people read.
 */
#ifndef DATA_CLARIFY_QUESTION_H
#define DATA_CLARIFY_QUESTION_H

#include "data/clarify/attributes.h"
#include "data/clarify/dialogue.h"
#include "data/clarify/evidence.h"
#include "data/clarify/phrase.h"

struct question {
    const char *text;
    const char *options[DIALOGUE_SHOWN + 1]; /* all different; with sample values where there is a database */
    const char *names[DIALOGUE_SHOWN + 1];   /* the same without sample values */
    const char *found[DIALOGUE_SHOWN + 1];   /* NULL, or an element that a detector found and no candidate has */
    int statement[DIALOGUE_SHOWN + 1];       /* the most probable candidate of each; -1 when there is none */
    int n;                                   /* the view's first, then what was found: who chooses that says "none" */
};

/* What questions are made from; all borrowed. */
struct question_context {
    struct phrase_context phrasing;
    const struct attributes *attributes;
    const struct form *const *forms; /* of the candidates */
    const struct posterior *now;
    const struct evidence *evidence; /* NULL for none */
};

/* 0 to 1: how sure the evidence are that this is what the user left open.  A detector's alternatives or those of an AMB
 * span say so where an option has one of them and another one has not; never of the statement as a whole. */
double question_support(const struct question_context *a, const struct question_view *view);
/* Texts belong to the phrasing's pool. */
void question_write(struct question *q, const struct question_context *a, const struct question_view *view);

#endif
