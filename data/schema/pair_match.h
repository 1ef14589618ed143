/*
 * pair_match.h - features of a candidate pair for a question, compared with its rivals among the other elements.
 *
 * mention.h only tells how much of two names a question mentions.  Another element may fit better, a word next to the
 * common word may decide, or the question may name the table of one element.  The fit of an element starts with the
 * number of words of the question in its name or its table's name.  It adds the mentioned share of its table's name and
 * subtracts 0.3 for each word of its name that is not mentioned.  By words alone, a question is ambiguous if the
 * elements that fit one of its words best are tied.  The features tell whether a pair is such a tie, how far it is from
 * one, and which words surround the common word.
 *
 * The caller frees match_names and owns the output arrays.  Nothing fails.
 */
#ifndef DATA_SCHEMA_PAIR_MATCH_H
#define DATA_SCHEMA_PAIR_MATCH_H

#include "data/schema/schema_pairs.h"

/* Values in [-1, 1].  The anchor is a word of the question that both names have; of several, the one that both fit
 * best.  "More" is the larger value of the two elements, "less" the smaller one. */
enum match_feature {
    MATCH_ANCHOR,       /* 1 if there is an anchor; otherwise all features of the anchor are 0 */
    MATCH_ANCHOR_HEAD,  /* the anchor is the last word of both names */
    MATCH_ANCHOR_TABLE, /* the anchor is also in the name of a table */
    MATCH_GAP_MORE,     /* (best fit of all elements with the anchor - fit of the element) / 3 */
    MATCH_GAP_LESS,
    MATCH_TIE,         /* both elements have the best fit */
    MATCH_TIED,        /* log2(elements with the best fit) / 4 */
    MATCH_HITS,        /* log2(elements with the anchor) / 5 */
    MATCH_TOP,         /* for the two best fits: 1 / (1 + gap) / (1 + 0.15 for each element beyond two) */
    MATCH_BEST,        /* no pair of the question has a larger MATCH_TOP */
    MATCH_DIFFERENCE,  /* difference of the two fits / 3 */
    MATCH_OTHER,       /* (best fit of another element that shares a word with one of them - their better fit) / 3 */
    MATCH_MISSED_MORE, /* words of the name that are not mentioned / 3 */
    MATCH_MISSED_LESS,
    MATCH_OWN_MORE, /* words of the question that only this element has / 2 */
    MATCH_OWN_LESS,
    MATCH_COVER_MORE, /* mentioned share of the name; related words count 0.7 */
    MATCH_COVER_LESS,
    MATCH_TABLE_MORE, /* mentioned share of the table's name */
    MATCH_TABLE_LESS,
    MATCH_NEAR_MORE, /* 1 / distance in words from the anchor to the nearest word of the table's name */
    MATCH_NEAR_LESS,
    MATCH_BEFORE_FREE,  /* the content word before the anchor: no element has it */
    MATCH_BEFORE_OTHER, /* other elements have it, but neither of the two nor their tables */
    MATCH_BEFORE_ONE,   /* exactly one of the two elements, or its table, has it */
    MATCH_AFTER_FREE,   /* the same for the content word behind the anchor */
    MATCH_AFTER_OTHER,
    MATCH_AFTER_ONE,
    MATCH_FREE,         /* content words that no element has / 6 */
    MATCH_CONTENT,      /* content words / 12 */
    MATCH_CONTEXT_MORE, /* other words of the question that only columns of its table have, not those of the other's
                           table / 3 */
    MATCH_CONTEXT_LESS,
    MATCH_ASKED_MORE,   /* 1 if the question asks for a meaning of the name (lexicon.h), by an interrogative or */
    MATCH_ASKED_LESS,   /* by a word that no name has */
    MATCH_MEANT,        /* the question asks for a meaning that both names have */
    MATCH_MEANT_RIVALS, /* then log2(columns of their tables with that meaning) / 4 */
    MATCH_FEATURES
};

/* The names of a schema, parsed once for all questions. s must outlive them. */
struct match_names;
struct match_names *match_names_new(const struct schema *s);
/* Harmless on NULL. */
void match_names_free(struct match_names *m);

/* Writes MATCH_FEATURES values for pair i to out + i * stride. */
void match_features(const struct match_names *m, const char *question, const struct schema_pair *pairs, int n,
                    float *out, int stride);

#endif
