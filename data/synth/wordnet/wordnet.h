/*
 * wordnet.h - nouns of WordNet 3.0 with their synonyms, a table generated at build time from Debian's wordnet-base.
 *
 * A noun that occurs in WordNet's tagged corpus gets the synonyms of its two most frequent senses. Any other noun gets
 * those of its first sense. Words are in lower case, compounds with underscores.
 */
#ifndef DATA_SYNTH_WORDNET_WORDNET_H
#define DATA_SYNTH_WORDNET_WORDNET_H

struct wordnet_noun {
    const char *noun, *synonyms; /* synonyms: separated by blanks, most frequent sense first */
};

/* sorted by strcmp of the nouns */
extern const struct wordnet_noun wordnet_nouns[];
extern const int wordnet_n_nouns;

#endif
