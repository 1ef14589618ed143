/*
 * agreement_impl.h - what the files behind agreement.h share.
 */
#ifndef DATA_SPAN_AGREEMENT_IMPL_H
#define DATA_SPAN_AGREEMENT_IMPL_H

#include "data/util/json.h"
#include "data/util/strings.h"

/* What one of the three says of a question.  Names are in small letters with blanks for underscores, so that names in
 * words and in SQL are the same; a column whose table is not told begins with a dot. */
struct opinion {
    bool there, ambiguous;
    struct strings names;
};

/* Of a line; -1 with EXIT_CODE_DATA naming the field.  strings_release(&o->names) in any case. */
typedef int opinion_fn(struct opinion *o, const json_t *line, const char *where, struct error *err);
opinion_fn opinion_of_gold, opinion_of_finding, opinion_of_tag;

/* How many of a's names b has. */
int opinion_shared(const struct opinion *a, const struct opinion *b);

#endif
