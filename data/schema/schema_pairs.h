/*
 * schema_pairs.h - which two elements of a schema one question might mean alike, and what their structure says of them.
 *
 * Candidates come from the schema alone: two columns (C), two tables (T), a column that also stands in a table split
 * off from its own (J), a column and an aggregate of it that is stored elsewhere, or keys of a table and a stored
 * number of its rows (P).  Columns are compared within one table if they have one type or meaning or share a word;
 * between tables if they have one name, if at most two joins lie between their tables and their names share the head
 * noun, or if one join does and they share a word or a meaning; keys if they refer to one table.  Tables are compared
 * if they have columns, a word or a meaning in common, or one join between them.  Where elements stand in their list
 * plays no part: altered schemas put twins side by side.
 */
#ifndef DATA_SCHEMA_SCHEMA_PAIRS_H
#define DATA_SCHEMA_SCHEMA_PAIRS_H

#include "data/schema/ambiguity_type.h"
#include "data/schema/schema.h"

/* Features are in [0, 1] or close to it.  "Tables" are the two elements themselves or those that own them. */
enum pair_feature {
    PAIR_IS_COLUMN, /* one of SIA_KINDS, in their order */
    PAIR_IS_TABLE,
    PAIR_IS_JOIN,
    PAIR_IS_AGGREGATE,
    PAIR_SAME_TYPE,
    PAIR_NUMBER, /* type of u */
    PAIR_TEXT,
    PAIR_TIME,
    PAIR_BOTH_PRIMARY,
    PAIR_ONE_PRIMARY,
    PAIR_BOTH_FOREIGN, /* in some foreign key, at either end */
    PAIR_ONE_FOREIGN,
    PAIR_LINKED, /* a foreign key between the two tables */
    PAIR_EQUAL,  /* see struct name_similarity, in its order */
    PAIR_SAME_SET,
    PAIR_WORDS,
    PAIR_HEAD,
    PAIR_CONTAINS,
    PAIR_TRIGRAMS,
    PAIR_EDIT,
    PAIR_PREFIX,
    PAIR_SUFFIX,
    PAIR_WORD_COUNTS, /* difference of their numbers of words / 4 */
    PAIR_LENGTHS,     /* letters of the shorter name / of the longer */
    PAIR_WORDS_U,     /* number of words / 4 */
    PAIR_WORDS_V,
    PAIR_LETTERS_U, /* number of letters / 24 */
    PAIR_LETTERS_V,
    PAIR_FAMILY_U, /* share of the table's other columns that have a word in common with u */
    PAIR_FAMILY_V,
    PAIR_TABLE_WORD,      /* shares of u and v that repeat a word of their own table's name */
    PAIR_COLUMNS_JACCARD, /* of the two tables' column names; 0 within one table, as are the next seven */
    PAIR_COLUMNS_EQUAL,
    PAIR_COLUMNS_CONTAINED, /* share of the smaller one's names that the other has */
    PAIR_KEY_SHARED,        /* a primary key column of one has a namesake in the other */
    PAIR_TABLE_EXTENDED,    /* one table's name is the other's and then a column's: u's, or any when they are tables */
    PAIR_TABLE_BEGINS,      /* one table's name begins with the other's */
    PAIR_TABLE_TRIGRAMS,
    PAIR_TABLE_HEAD,
    PAIR_AGGREGATE_OF,       /* v is named as an aggregate of u */
    PAIR_AGGREGATE_SIBLINGS, /* aggregates of u in v's table / 4 */
    PAIR_AGGREGATE_WORD,     /* share of u and v that are named as an aggregate of anything */
    PAIR_COLUMNS_U,          /* log2(1 + columns of u's table) / 8, and so on */
    PAIR_COLUMNS_V,
    PAIR_GROUP_TABLES, /* of all tables that foreign keys join with u's or v's, however far, so that those which have */
    PAIR_GROUP_COLUMNS, /* nothing to do with a pair say nothing of it */
    PAIR_NAMESAKES_U,   /* log2(elements of that name) / 4 */
    PAIR_NAMESAKES_V,
    PAIR_RIVALS,       /* log2(candidates of its kind that share u or v) / 8 */
    PAIR_ACROSS,       /* elements of two tables, which are */
    PAIR_ONE_JOIN,     /* one join apart, */
    PAIR_TWO_JOINS,    /* two joins apart, */
    PAIR_LIKE_TABLES,  /* or may hold the same things */
    PAIR_SAME_TARGET,  /* both columns refer to one table */
    PAIR_SAME_MEANING, /* see enum name_meaning, as are the next ones: */
    PAIR_MONEY,        /* shares of u and v that have the meaning */
    PAIR_MEANS_TIME,
    PAIR_PERSON,
    PAIR_PLACE,
    PAIR_STATUS,
    PAIR_NAME,
    PAIR_MODIFIED_ONE,  /* the words of one are the other's and more */
    PAIR_MODIFIED_BOTH, /* they share words, and each has some of its own */
    SCHEMA_PAIR_FEATURES
};

/* u and v number tables first, then columns.  J and P: u is the original, v the other.  Else u < v. */
struct schema_pair {
    int u, v;
    enum sia_kind kind;
    float features[SCHEMA_PAIR_FEATURES];
};

enum {
    SCHEMA_PAIR_FEATURE_SET = 5, /* one more whenever a feature's meaning changes: trained models say theirs */
    SCHEMA_PAIRS_MAX = 16384,    /* per schema; what is beyond is left out, C of two tables first */
    PAIR_WIDE_TABLE = 96         /* in tables with more columns only pairs with similar names are of kind C */
};

/* Lists the n candidates: T, J, P, C of one table, C of two, each by u and v; the caller frees the list. */
struct schema_pair *schema_pairs(const struct schema *s, int *n);

#endif
