/*
 * pair_match.h - how the words of a question bear on a candidate pair, beside all its rivals.
 *
 * mention.h says how much of two names a question has.  That does not tell whether the question means them: another
 * element may fit better, the word that both names have may stand beside a word that decides, or a table is named that
 * owns one of them.  An element's fit is the number of the question's words that its name or its table's has, plus the
 * share of its table's name that is said, less 0.3 for each word of its name that is not said.  A question is ambiguous
 * for people who know only words if the elements that fit one of its words best tie; these features tell whether a pair
 * is that tie, by how much it misses it, and what stands around the word.
 */
#ifndef DATA_SCHEMA_PAIR_MATCH_H
#define DATA_SCHEMA_PAIR_MATCH_H

#include "data/schema/schema_pairs.h"

/* In [-1, 1].  The anchor is a word of the question that both names have: of several the one for which both fit best.
 * "More" is the greater value of the two elements, "less" the smaller one. */
enum match_feature {
    MATCH_ANCHOR,       /* 1 if there is one; else all that tells of it is 0 */
    MATCH_ANCHOR_HEAD,  /* it ends both names */
    MATCH_ANCHOR_TABLE, /* it is in the name of a table, too */
    MATCH_GAP_MORE,     /* the best fit of all elements that have the anchor less that of the element, / 3 */
    MATCH_GAP_LESS,
    MATCH_TIE,         /* both fit best */
    MATCH_TIED,        /* log2(elements that fit best) / 4 */
    MATCH_HITS,        /* log2(elements that have the anchor) / 5 */
    MATCH_TOP,         /* they fit best or second best: 1 / (1 + gap) / (1 + 0.15 for each element beyond two) */
    MATCH_BEST,        /* no pair of the question has a greater MATCH_TOP */
    MATCH_DIFFERENCE,  /* of the two fits / 3 */
    MATCH_OTHER,       /* the best fit of another element that has a word which one of them has, less theirs, / 3 */
    MATCH_MISSED_MORE, /* words of the name that are not said / 3 */
    MATCH_MISSED_LESS,
    MATCH_OWN_MORE, /* the question's words that the element has and the other has not / 2 */
    MATCH_OWN_LESS,
    MATCH_COVER_MORE, /* share of the name that is said; related words count 0.7 */
    MATCH_COVER_LESS,
    MATCH_TABLE_MORE, /* share of the table's name that is said */
    MATCH_TABLE_LESS,
    MATCH_NEAR_MORE, /* 1 / words from the anchor to the nearest one of the table's name */
    MATCH_NEAR_LESS,
    MATCH_BEFORE_FREE,  /* the word of content next to the anchor, before it: no element has it */
    MATCH_BEFORE_OTHER, /* others have it, but neither the two nor their tables */
    MATCH_BEFORE_ONE,   /* one of the two, or its table, has it */
    MATCH_AFTER_FREE,   /* likewise, behind it */
    MATCH_AFTER_OTHER,
    MATCH_AFTER_ONE,
    MATCH_FREE,         /* words of content that no element has / 6 */
    MATCH_CONTENT,      /* words of content / 12 */
    MATCH_CONTEXT_MORE, /* the question's other words that columns of its table have and those of the other's lack / 3
                         */
    MATCH_CONTEXT_LESS,
    MATCH_ASKED_MORE,   /* 1 if the question asks for a meaning of the name (lexicon.h), by an interrogative or by a
                         */
    MATCH_ASKED_LESS,   /* word that no name has */
    MATCH_MEANT,        /* it asks for a meaning that both names have; */
    MATCH_MEANT_RIVALS, /* then log2(columns of their tables that have it, too) / 4 */
    MATCH_FEATURES
};

/* The names of a schema, read once for all questions; s must outlive it. */
struct match_names;
struct match_names *match_names_new(const struct schema *s);
/* Harmless on NULL. */
void match_names_free(struct match_names *m);

/* Writes MATCH_FEATURES values for pair i at out + i * stride. */
void match_features(const struct match_names *m, const char *question, const struct schema_pair *pairs, int n,
                    float *out, int stride);

#endif
