/*
 * lexicon_impl.h - the word lists that lexicon.h looks things up in.
 */
#ifndef DATA_NATURAL_LEXICON_IMPL_H
#define DATA_NATURAL_LEXICON_IMPL_H

#include "data/natural/lexicon.h"

extern const struct lexicon_entry lexicon_columns[], lexicon_generic[], lexicon_tables[], lexicon_roles[];
extern const int lexicon_n_columns, lexicon_n_generic, lexicon_n_tables, lexicon_n_roles;

struct noun {
    const char *word; /* singular */
    unsigned classes;
};
extern const struct noun lexicon_nouns[];
extern const int lexicon_n_nouns;

#endif
