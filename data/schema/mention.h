/*
 * mention.h - features of the words that a question shares with the names of a schema.
 *
 * "What is the oppose rate?" mentions all of `oppose_rate` and half of `support_rate`.  The words that only one of two
 * names has distinguish the two names.  Words that both names have do not.
 *
 * The caller owns the output arrays.  Nothing fails.
 */
#ifndef DATA_SCHEMA_MENTION_H
#define DATA_SCHEMA_MENTION_H

#include "data/schema/schema_pairs.h"

/* Shares in [0, 1] of the distinct words of a name that the question mentions.  Plural endings and words such as "of"
 * do not count.  "More" is the larger value of the two elements, "less" the smaller one. */
enum mention_feature {
    MENTION_SHARED,   /* words that both names have */
    MENTION_OWN_MORE, /* words that only one of the two names has; 0 if it has none */
    MENTION_OWN_LESS,
    MENTION_ALL_MORE, /* all words of a name */
    MENTION_ALL_LESS,
    MENTION_PHRASE_MORE, /* 1 if all words of the name are adjacent in the question */
    MENTION_PHRASE_LESS,
    MENTION_TABLE_MORE, /* words of the two tables: the elements themselves or their owners */
    MENTION_TABLE_LESS,
    MENTION_FEATURES
};

/* Writes MENTION_FEATURES values for pair i to out + i * stride. */
void mention_features(const struct schema *s, const char *question, const struct schema_pair *pairs, int n, float *out,
                      int stride);

/* Features of one element. */
enum element_mention {
    ELEMENT_ALL,       /* share of the words of its name */
    ELEMENT_ANY,       /* 1 if at least one of them is mentioned */
    ELEMENT_PHRASE,    /* 1 if all of them are adjacent in the question */
    ELEMENT_TABLE,     /* share of the words of its table, possibly itself */
    ELEMENT_IS_TABLE,  /* 1 or 0 */
    ELEMENT_NEIGHBOUR, /* largest share among the other columns of its table; for a table: among its columns */
    ELEMENT_ELSEWHERE, /* largest share among the elements of the other tables of its group */
    ELEMENT_NAMESAKE,  /* 1 if it shares a mentioned word with another element of its group */
    ELEMENT_MENTIONS
};

/* Writes ELEMENT_MENTIONS values for each element, tables first. group [n_tables]: as from schema_groups; NULL: all
 * tables form one group. */
void mention_elements(const struct schema *s, const int *group, const char *question, float *out);

#endif
