/*
 * tagger.h - the taggers behind ambit-infer tag: strategies, and a tagger for single questions.
 *
 * A strategy is a function that opens a struct tagger.  Callers use the struct alone and do not depend on the strategy.
 */
#ifndef INFER_TAG_TAGGER_H
#define INFER_TAG_TAGGER_H

#include "data/span/tag_databases.h"
#include "data/span/tagging.h"
#include "infer/tag/tag.h"

struct tagger {
    void *self;
    /* Tags n questions.  errors[i] is NULL, or the reason why question i has no answer; the caller frees errors and
     * answers.  Returns -1 with err when no question can be answered. */
    int (*tag)(void *self, struct tag_answer *answers, char **errors, const struct tag_question *questions, int n,
               struct error *err);
    void (*close)(void *self); /* accepts a tagger whose other fields are zero */
    uint64_t key;              /* hash of everything that answers depend on, except the question */
};

typedef int tagger_open_fn(struct tagger *t, const struct tag_request *q, struct error *err);

/* Opens the strategy of the request.  With TAG_DTE the model is a tagger, or a detector with a head for words.  Returns
 * -1 with err. */
tagger_open_fn tagger_open;

/* A tagger with its databases, kept in memory for single questions. */
struct question_tagger {
    struct tagger tagger;
    struct tag_databases databases;
};

/* Opens the strategy, model and databases of the request.  Returns -1 with err.  The caller closes it in any case; a
 * zeroed struct may be closed. */
int question_tagger_open(struct question_tagger *m, const struct tag_request *q, struct error *err);
void question_tagger_close(struct question_tagger *m);

/* Returns the line (tag_json()) of a record with "question" and "db_id" as a new reference, or NULL with err.  own: the
 * schema of the record, without values; NULL: the schema of its db_id. */
json_t *question_tagger_mark(struct question_tagger *m, const json_t *record, const struct schema *own,
                             const char *where, struct error *err);

#endif
