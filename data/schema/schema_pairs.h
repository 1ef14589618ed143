/*
 * schema_pairs.h - candidate pairs: two elements of a schema that one question might mean, with features of their
 * structure.
 *
 * Candidates depend on the schema alone.  There are five sources: two columns (C); two tables (T); a column that also
 * exists in a table split off from its own (J).  The last two are pairs with a stored aggregate (P): a column and its
 * aggregate, or keys of a table and a stored number of its rows.
 *
 * Two columns of one table are compared if they share a type, a meaning or a word.  Columns of different tables are
 * compared if they have one name.  If one join lies between their tables, a shared word or meaning suffices.  Two
 * numbers suffice as well, since one may be the stored sum of the other.  Two joins may lie between columns whose names
 * share the head noun, any number of joins between two contacts.  Keys are compared if they refer to one table.
 *
 * Small schemas have all pairs of tables.  In larger ones, tables are compared if they share columns, a word or a
 * meaning, or are one join apart.  The position of elements plays no part, since generated schemas put duplicated
 * elements side by side.
 */
#ifndef DATA_SCHEMA_SCHEMA_PAIRS_H
#define DATA_SCHEMA_SCHEMA_PAIRS_H

#include "data/schema/ambiguity_type.h"
#include "data/schema/schema.h"

/* Values in [0, 1] or close to it.  "Tables" are the two elements themselves or their owners. */
enum pair_feature {
    PAIR_IS_COLUMN, /* one-hot of SIA_TYPES, in their order */
    PAIR_IS_TABLE,
    PAIR_IS_JOIN,
    PAIR_IS_AGGREGATE,
    PAIR_SAME_TYPE,
    PAIR_NUMBER, /* type of u */
    PAIR_TEXT,
    PAIR_TIME,
    PAIR_BOTH_PRIMARY,
    PAIR_ONE_PRIMARY,
    PAIR_BOTH_FOREIGN, /* part of a foreign key, at either end */
    PAIR_ONE_FOREIGN,
    PAIR_LINKED, /* a foreign key connects the two tables */
    PAIR_EQUAL,  /* as in struct name_similarity, in its order */
    PAIR_SAME_SET,
    PAIR_WORDS,
    PAIR_HEAD,
    PAIR_CONTAINS,
    PAIR_TRIGRAMS,
    PAIR_EDIT,
    PAIR_PREFIX,
    PAIR_SUFFIX,
    PAIR_WORD_COUNTS, /* difference of the numbers of words / 4 */
    PAIR_LENGTHS,     /* characters of the shorter name / characters of the longer name */
    PAIR_WORDS_U,     /* number of words / 4 */
    PAIR_WORDS_V,
    PAIR_LETTERS_U, /* number of characters / 24 */
    PAIR_LETTERS_V,
    PAIR_FAMILY_U, /* share of the other columns of its table that share a word with it */
    PAIR_FAMILY_V,
    PAIR_TABLE_WORD,      /* share of u and v that repeat a word of the name of their own table */
    PAIR_COLUMNS_JACCARD, /* columns of the two tables by name; 0 within one table, as are the next seven */
    PAIR_COLUMNS_EQUAL,
    PAIR_COLUMNS_CONTAINED, /* share of the smaller table's names that the other table has */
    PAIR_KEY_SHARED,        /* a primary key column of one table has a namesake in the other */
    PAIR_TABLE_EXTENDED, /* one table's name is the other's followed by a column's: by u's, or by any for two tables */
    PAIR_TABLE_BEGINS,   /* one table's name starts with the other's */
    PAIR_TABLE_TRIGRAMS,
    PAIR_TABLE_HEAD,
    PAIR_AGGREGATE_OF,       /* v has the name of an aggregate of u */
    PAIR_AGGREGATE_SIBLINGS, /* aggregates of u in the table of v / 4 */
    PAIR_AGGREGATE_WORD,     /* share of u and v that have the name of an aggregate */
    PAIR_COLUMNS_U,          /* log2(1 + columns of u's table) / 8, as for the next three */
    PAIR_COLUMNS_V,
    PAIR_GROUP_TABLES,  /* tables and columns of the groups of both tables; other groups say nothing */
    PAIR_GROUP_COLUMNS, /* about the pair */
    PAIR_NAMESAKES_U,   /* log2(elements of that name in the group) / 4 */
    PAIR_NAMESAKES_V,
    PAIR_RIVALS,       /* log2(candidates of the same type that share u or v) / 8 */
    PAIR_ACROSS,       /* elements of two tables */
    PAIR_ONE_JOIN,     /* of tables one join apart */
    PAIR_TWO_JOINS,    /* of tables two joins apart */
    PAIR_LIKE_TABLES,  /* of tables that may hold the same things */
    PAIR_SAME_TARGET,  /* both columns refer to the same table */
    PAIR_SAME_MEANING, /* by enum name_meaning, as the next six */
    PAIR_MONEY,        /* share of u and v that have the meaning */
    PAIR_MEANS_TIME,
    PAIR_PERSON,
    PAIR_PLACE,
    PAIR_STATUS,
    PAIR_NAME,
    PAIR_MODIFIED_ONE,  /* the words of one name are a proper subset of the other's */
    PAIR_MODIFIED_BOTH, /* the names share words, and each has words of its own */
    SCHEMA_PAIR_FEATURES
};

/* u and v number tables first, then columns.  For J and P, u is the original element and v the other one; otherwise u <
 * v. */
struct schema_pair {
    int u, v;
    enum sia_type type;
    float features[SCHEMA_PAIR_FEATURES];
};

enum {
    /* Version of the features; trained models store it.  Increase it when a feature changes. */
    SCHEMA_PAIR_FEATURE_SET = 5,
    SCHEMA_PAIRS_MAX = 16384, /* per schema; pairs of type C between two tables are dropped first */
    PAIR_WIDE_TABLE = 96      /* in tables with more columns, only pairs with similar names are of type C */
};

/* Lists the n candidates in the order T, J, P, C within a table, C between tables, and by u and v within each.  The
 * caller frees the list. */
struct schema_pair *schema_pairs(const struct schema *s, int *n);

#endif
