/*
 * variables.h - what there is to ask about: the slots of candidate statements, none twice.
 *
 * Slots that part the candidates alike are one variable, with the face of the slot that people understand best.  When
 * no variable tells half a bit, two of one clause may be asked about together.  The last variable is always the
 * statement as a whole: a last resort that parts everything.
 */
#ifndef DATA_CLARIFY_VARIABLES_H
#define DATA_CLARIFY_VARIABLES_H

#include "data/clarify/belief.h"
#include "data/clarify/slots.h"

struct variable {
    const char *name;
    enum face face;
    int clause;
    const struct slot *slot, *second; /* what it is about; second of two asked together; NULL for the whole statement */
};

struct variables {
    struct variable *list;
    struct split *splits; /* [n], as the dialogue takes them; values by first appearance */
    int n;                /* the last resort, the last of them, counted too */
    int *values;          /* of all splits */
    struct strings pool;
};

/* prior: of the candidates that the slots were taken from.  The slots must outlive the variables. */
void variables_build(struct variables *v, const struct slots *slots, const struct belief *prior, double noise);
void variables_release(struct variables *v);

#endif
