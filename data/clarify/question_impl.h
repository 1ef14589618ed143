/* One question being put into words: what its files share. */
#ifndef DATA_CLARIFY_QUESTION_IMPL_H
#define DATA_CLARIFY_QUESTION_IMPL_H

#include "data/clarify/question.h"

struct writing {
    const struct asking *a;
    const struct phrasing *p;
    const struct variable *variable;
    const struct slot *slot; /* of two asked together, the one at hand; NULL for the whole statement */
    struct question *q;
};

/* Whether what a statement has at the slot is about an element of the schema. */
bool writing_touches(const struct writing *w, int statement, int element);

/* "Two columns fit what you wrote: "scores"." - what the hints say of the question; "" when they say nothing. */
const char *writing_lead(const struct writing *w);
/* "For the part about song: " of what a sub-query says; "" else. */
const char *writing_part(const struct writing *w);
/* Adds the alternatives that were found though no statement has them, as far as there is room. */
void writing_add_found(struct writing *w);
/* What an option says of a column, with a few of its values. */
const char *writing_with_samples(const struct writing *w, const char *option, int statement);

#endif
