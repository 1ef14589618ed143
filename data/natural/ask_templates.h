/*
 * ask_templates.h - the wording of questions about one column of a table.
 *
 * In braces: x, the column; xs, its plural; s, a row of the table; ss, rows; k, the column that names a row; v, a value
 * of k.
 */
#ifndef DATA_NATURAL_ASK_TEMPLATES_H
#define DATA_NATURAL_ASK_TEMPLATES_H

#include "data/schema/schema.h"
#include "data/util/strings.h"
#include "kernels/rng.h"

enum ask_query {
    ASK_ALL,     /* the column of every row */
    ASK_LABELS,  /* and what names the row */
    ASK_VALUE,   /* of the row that a value names */
    ASK_MOST,    /* the row with the greatest, */
    ASK_LEAST,   /* the least value */
    ASK_AVERAGE, /* of numbers */
    ASK_DISTINCT,
    ASK_ORDER,
    ASK_GROUP
};

/* The columns that a template is for. */
enum ask_for { ASK_ANY = 0, ASK_SINGULAR = 1, ASK_PLURAL = 2, ASK_NUMBER = 4, ASK_TIME = 8, ASK_NO_NUMBER = 16 };

struct ask_template {
    enum ask_query query;
    const char *text;
    unsigned only; /* of enum ask_for */
};

/* The word in the braces; plurals are made of singulars.  NULL where there is none. */
struct ask_words {
    const char *x, *s, *k, *v;
};

/* Any template that fits words and type.  `joined`: of a column of another table only ASK_ALL, ASK_LABELS, ASK_DISTINCT
 * and ASK_GROUP are asked. */
const struct ask_template *ask_template_draw(struct rng *rng, const struct ask_words *w, enum column_type type,
                                             bool joined);
/* The question; text keeps it.  casual: without its capital and its last sign. */
const char *ask_template_write(struct strings *text, const struct ask_template *t, const struct ask_words *w,
                               bool casual);
#endif
