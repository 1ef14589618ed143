/*
 * token_span.h - where in a text a piece of it came from.
 */
#ifndef MODELS_UNICODE_TOKEN_SPAN_H
#define MODELS_UNICODE_TOKEN_SPAN_H

#include "kernels/base.h"

/* Bytes [start, end) of the text as it was given. */
struct token_span {
    int64_t start, end;
};

#endif
