/*
 * stop_watch.h - where a text first stands in what a model says, token by token.
 *
 * What counts is the text that is known after each token, which no later one changes: the place is the same however
 * many tokens have come behind it, and whenever one asks.
 */
#ifndef INFER_LM_STOP_WATCH_H
#define INFER_LM_STOP_WATCH_H

#include "models/pipeline/byte_buffer.h"
#include "models/tokenizer/tokenizer.h"

struct stop_watch {
    const char *stop; /* what is looked for, not empty; borrowed */
    struct tokenizer_stream stream;
    struct byte_buffer text; /* of the tokens read */
    size_t *ends;            /* [n] bytes of text after each token */
    int64_t n, cap;
    bool found;
    size_t length; /* of the text before the place, where it was found */
};

void stop_watch_start(struct stop_watch *w, const char *stop, const struct tokenizer *t);
/* Reads those of n ids that it has not read yet, until it finds the text; whether it has. */
bool stop_watch_read(struct stop_watch *w, const int32_t *ids, int64_t n);
/* The same when no more ids come. */
bool stop_watch_end(struct stop_watch *w);
/* Tokens that have a part in the text before the place, which was found. */
int64_t stop_watch_tokens(const struct stop_watch *w);
void stop_watch_release(struct stop_watch *w);

#endif
