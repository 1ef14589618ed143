/*
 * reply_words.h - the words that a person types, as an answer to a question.
 *
 * A reply is the number of an option, words of an option, or one of a few fixed phrases such as "undo".
 */
#ifndef INFER_CLARIFY_REPLY_WORDS_H
#define INFER_CLARIFY_REPLY_WORDS_H

#include "data/clarify/question.h"

enum reply_kind {
    REPLY_ANSWER,
    REPLY_UNDO,
    REPLY_HELP,
    REPLY_SQL, /* show the statements of the options */
    REPLY_QUIT,
    REPLY_NOTHING, /* an empty line */
    REPLY_UNCLEAR
};

struct reply {
    enum reply_kind kind;
    struct answer answer; /* for REPLY_ANSWER; its value is an option of the question */
    char why[200];        /* for REPLY_UNCLEAR: a sentence */
};

/* Reads a reply.  q is NULL if no question is open.  Never fails. */
struct reply reply_read(const char *text, const struct question *q);

#endif
