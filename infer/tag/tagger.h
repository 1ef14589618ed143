/*
 * tagger.h - what marks a question's words: a strategy, as the command drives it.
 *
 * A strategy is a function that opens one: it fills the struct, and the command neither knows nor asks what is behind.
 */
#ifndef INFER_TAG_TAGGER_H
#define INFER_TAG_TAGGER_H

#include "data/span/tagging.h"

struct tagger {
    void *self;
    /* Answers n questions, or says of one why it cannot: errors[i] is NULL else, the caller frees what is not, and
     * releases the answers.  -1 with err where nothing can be answered. */
    int (*tag)(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
               struct error *err);
    void (*close)(void *self); /* also of a struct that is all zero otherwise */
    uint64_t key;              /* of all that answers follow from beside the question */
};

struct tag_request;
typedef int tagger_open_fn(struct tagger *t, const struct tag_request *q, struct error *err);

tagger_open_fn tagger_open_heuristic, tagger_open_dte;
tagger_open_fn tagger_open; /* that of the request's strategy */

#endif
