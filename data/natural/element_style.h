/*
 * element_style.h - names of tables and columns as different people spell them.
 *
 * All of one schema are spelled in one style, so that two elements differ in their words alone.
 */
#ifndef DATA_NATURAL_ELEMENT_STYLE_H
#define DATA_NATURAL_ELEMENT_STYLE_H

#include "data/util/strings.h"

enum element_style {
    STYLE_SNAKE,       /* small letters, words joined by underscores */
    STYLE_SHORT,       /* likewise, common words abbreviated: "dt", "qty" */
    STYLE_CAMEL,       /* "OrderDate" */
    STYLE_LOWER_CAMEL, /* "orderDate" */
    STYLE_UPPER,       /* capitals, words joined by underscores */
    ELEMENT_STYLES
};

/* The words of a name in lower case, one blank between them; text keeps them. */
const char *element_words(struct strings *text, const char *name);
/* The name that is made of words; text keeps it. */
const char *element_spell(struct strings *text, const char *words, enum element_style style);
/* Words that stand first in both, of the second: "customer phone" and "customers" give "phone".  The words themselves
 * where nothing would be left. */
const char *element_own_words(const char *words, const char *table_words);

/* The words with the last one in the singular, as far as plain rules go; text keeps them. */
const char *element_singular(struct strings *text, const char *words);
/* Likewise in the plural, of words in the singular. */
const char *element_plural(struct strings *text, const char *words);

#endif
