/*
 * question.h - a clarifying question with its options, in words without SQL.
 *
 * Each question type has a template.  The evidence adds the user's own words before the question, sample values to the
 * options, and alternatives of the detector that no candidate has.  The phrasing's pool owns all texts.
 */
#ifndef DATA_CLARIFY_QUESTION_H
#define DATA_CLARIFY_QUESTION_H

#include "data/clarify/attributes.h"
#include "data/clarify/choice_memory.h"
#include "data/clarify/dialogue.h"
#include "data/clarify/evidence.h"
#include "data/clarify/phrase.h"

struct question {
    const char *text;
    const char *options[DIALOGUE_SHOWN + 1]; /* all different; with sample values if there is a database */
    const char *names[DIALOGUE_SHOWN + 1];   /* the options without sample values */
    const char *found[DIALOGUE_SHOWN + 1];   /* element of the detector that no candidate has, or NULL */
    int statement[DIALOGUE_SHOWN + 1];       /* most probable candidate of each option; -1: none */
    int n; /* options of the view, then those found; the latter mean "none of these" */
};

/* Context of a question; all borrowed. */
struct question_context {
    struct phrase_context phrasing;
    const struct attributes *attributes;
    const struct form *const *forms; /* [n candidates] */
    const struct posterior *now;
    const struct evidence *evidence; /* or NULL */
    bool elements;                   /* each candidate stands for an element of the schema that it shows */
};

/* Confidence, from 0 to 1, that the user left this open.  The alternatives of the detector or of an AMB span support a
 * question in which one option has one of them and another option does not.  The fallback question has no support. */
double question_support(const struct question_context *a, const struct question_view *view);

/* The choice that a question is about, for the memory of choices (choice_memory.h). */
struct question_choice {
    char words[CHOICE_TEXT_MAX];           /* of the user, as stems; "": nothing can be remembered */
    const char *meant[CHOICE_OPTIONS_MAX]; /* [n] name of each value of the attribute; NULL: no candidate has it */
    int n;
};

/* Names the values of a view's attribute: by the evidence's alternatives, else by their column or table, else in words
 * without constants.  Nothing can be remembered about an attribute with a value that has no such name, such as a list.
 * The user's words are those of the evidence, else those of the question that fit the names. */
void question_choice_read(struct question_choice *c, const struct question_context *a, const struct question_view *view,
                          const char *question);
/* Writes the question of a view in words. */
void question_write(struct question *q, const struct question_context *a, const struct question_view *view);

#endif
