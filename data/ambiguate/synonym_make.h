/*
 * synonym_make.h - two other names for a table or column, made from its words.
 */
#ifndef DATA_AMBIGUATE_SYNONYM_MAKE_H
#define DATA_AMBIGUATE_SYNONYM_MAKE_H

#include "data/ambiguate/synonym_finder.h"

/* column is -1 for a table.  Neither name is taken by a neighbour or a keyword; text keeps them.  The source is
 * SYNONYM_WORDNET when WordNet has both for the whole name.  False when there are no two. */
bool synonym_make(struct strings *text, struct synonym_pair *pair, const struct schema *s, int table, int column);

#endif
