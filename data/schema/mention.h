/*
 * mention.h - which words of a question name an element of the schema, or the two of a candidate pair.
 *
 * "What is the oppose rate?" says all of `oppose_rate` and half of `support_rate`: the words that only one of two names
 * has tell them apart, where the words that both have, or neither, do not.
 */
#ifndef DATA_SCHEMA_MENTION_H
#define DATA_SCHEMA_MENTION_H

#include "data/schema/schema_pairs.h"

/* Shares in [0, 1] of a name's distinct words that the question has; plural endings and words such as "of" do not
 * count.  What says "more" is the greater of the two elements' shares, "less" the lesser. */
enum mention_feature {
    MENTION_SHARED,   /* of the words that both names have */
    MENTION_OWN_MORE, /* of the words that only one of them has; 0 when it has none */
    MENTION_OWN_LESS,
    MENTION_ALL_MORE, /* of all words of a name */
    MENTION_ALL_LESS,
    MENTION_PHRASE_MORE, /* 1 where all words of the name stand side by side */
    MENTION_PHRASE_LESS,
    MENTION_TABLE_MORE, /* of the words of the two tables, the elements themselves or those that own them */
    MENTION_TABLE_LESS,
    MENTION_FEATURES
};

/* Writes MENTION_FEATURES values for pair i at out + i * stride. */
void mention_features(const struct schema *s, const char *question, const struct schema_pair *pairs, int n, float *out,
                      int stride);

/* Of one element. */
enum element_mention {
    ELEMENT_ALL,       /* share of the name's words */
    ELEMENT_ANY,       /* 1 where there is one */
    ELEMENT_PHRASE,    /* 1 where all of them stand side by side */
    ELEMENT_TABLE,     /* share of the words of its table, which may be itself */
    ELEMENT_IS_TABLE,  /* 1 or 0 */
    ELEMENT_NEIGHBOUR, /* greatest share among the other columns of its table; of a table: among its columns */
    ELEMENT_ELSEWHERE, /* greatest share among the elements of other tables of its group */
    ELEMENT_NAMESAKE,  /* 1 where another element of its group has a word in common with it that the question has */
    ELEMENT_MENTIONS
};

/* Writes ELEMENT_MENTIONS values for each element, tables first.  group: of each table, by schema_groups; NULL: all
 * tables are one group. */
void mention_elements(const struct schema *s, const int *group, const char *question, float *out);

#endif
