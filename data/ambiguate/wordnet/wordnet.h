/*
 * wordnet.h - nouns of WordNet 3.0 with their synonyms, a table made at build time from Debian's wordnet-base.
 *
 * Of a noun that WordNet's tagged corpus has, the two most frequent of its senses there count, of any other its first;
 * words are in lower case, and those of several parts have underscores between them.
 */
#ifndef DATA_AMBIGUATE_WORDNET_WORDNET_H
#define DATA_AMBIGUATE_WORDNET_WORDNET_H

struct wordnet_noun {
    const char *noun, *synonyms; /* separated by spaces, most frequent sense first */
};

/* Sorted by strcmp of the nouns. */
extern const struct wordnet_noun wordnet_nouns[];
extern const int wordnet_n_nouns;

#endif
