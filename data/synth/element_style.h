/*
 * element_style.h - names of tables and columns in the styles that people use.
 *
 * All names of one schema have one style, so that two elements differ only in their words.
 */
#ifndef DATA_SYNTH_ELEMENT_STYLE_H
#define DATA_SYNTH_ELEMENT_STYLE_H

#include "data/base/strings.h"

enum element_style {
    STYLE_SNAKE,       /* lower case, words joined by underscores */
    STYLE_SHORT,       /* like STYLE_SNAKE with common words abbreviated: "dt", "qty" */
    STYLE_CAMEL,       /* "OrderDate" */
    STYLE_LOWER_CAMEL, /* "orderDate" */
    STYLE_UPPER,       /* upper case, words joined by underscores */
    ELEMENT_STYLES
};

/* Returns the words of a name in lower case with single blanks. text keeps them. */
const char *element_words(struct strings *text, const char *name);
/* Returns the name made of the words. text keeps it. */
const char *element_spell(struct strings *text, const char *words, enum element_style style);
/* Removes the leading words that the table's name has too: "customer phone" and "customers" give "phone". Returns all
 * words if none would be left. */
const char *element_own_words(const char *words, const char *table_words);

/* Returns the words with the last one in the singular, by simple rules. text keeps them. */
const char *element_singular(struct strings *text, const char *words);
/* Returns singular words with the last one in the plural. text keeps them. */
const char *element_plural(struct strings *text, const char *words);

#endif
