/*
 * reply_words.h - the words that a person types, as an answer to a question.
 *
 * A reply is the number of an option, words of an option, or one of a few fixed phrases such as "undo".  If the words
 * do not decide, an encoder compares the meaning of the reply with that of the options.  It decides only if one option
 * is similar to the reply, and clearly more similar than the others.
 */
#ifndef INFER_CLARIFY_REPLY_WORDS_H
#define INFER_CLARIFY_REPLY_WORDS_H

#include "data/clarify/question.h"
#include "infer/clarify/reply_encoder.h"

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
    char why[400];        /* for REPLY_UNCLEAR: sentences */
};

/* Reads a reply.  q is NULL if no question is open; encoder is NULL to read words alone.  Never fails. */
struct reply reply_read(const char *text, const struct question *q, struct reply_encoder *encoder);

#endif
