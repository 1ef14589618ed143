/*
 * reply_words.h - what a person typed, understood as an answer to a question: a number, words of one of the options, or
 * one of a few things that can always be said.
 */
#ifndef INFER_CLARIFY_REPLY_WORDS_H
#define INFER_CLARIFY_REPLY_WORDS_H

#include "data/clarify/question.h"

enum reply_kind {
    REPLY_ANSWER,
    REPLY_UNDO,
    REPLY_HELP,
    REPLY_SQL, /* show the statements behind the options */
    REPLY_QUIT,
    REPLY_NOTHING, /* an empty line */
    REPLY_UNCLEAR
};

struct reply {
    enum reply_kind kind;
    struct answer answer; /* of REPLY_ANSWER; the value is an option of the question */
    char why[200];        /* of REPLY_UNCLEAR, a sentence */
};

/* q is NULL when no question is open. */
struct reply reply_read(const char *text, const struct question *q);

#endif
