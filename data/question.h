/*
 * question.h - a question in words, with its options: a template for each face, no SQL in what people read.
 */
#ifndef DATA_QUESTION_H
#define DATA_QUESTION_H

#include "data/dialogue.h"
#include "data/phrase.h"
#include "data/variables.h"

struct question {
    const char *text;
    const char *options[DIALOGUE_SHOWN + 1]; /* of the view, all different */
    int statement[DIALOGUE_SHOWN + 1];       /* the most probable candidate of each; -1 for something else */
    int n;
};

/* What questions are made from; all borrowed. */
struct asking {
    struct phrasing phrasing;
    const struct variables *variables;
    const struct form *const *forms; /* of the candidates */
    const struct belief *now;
};

/* Texts belong to the phrasing's pool. */
void question_write(struct question *q, const struct asking *a, const struct view *view);

#endif
