/*
 * ambiguity_type.h - the registry of ambiguity types.
 *
 * Every type has one row with its name, its sentences and its detector head. Readers of records, reports, messages and
 * clarifying questions take these from the registry, so that a new type needs no list of its own elsewhere. The first
 * rows are the schema-induced types in the order of enum sia_type, the others the linguistic types in the order of enum
 * linguistic_type. All strings are constants, and nothing fails.
 */
#ifndef DATA_SCHEMA_AMBIGUITY_TYPE_H
#define DATA_SCHEMA_AMBIGUITY_TYPE_H

#include <stdbool.h>

/*
 * The four types of schema-induced ambiguity of AmbiQT (Bhaskar et al., "Benchmarking and Improving Text-to-SQL
 * Generation under Ambiguity", EMNLP 2023).  They are two columns; two tables; a column that also exists in a split-off
 * table; an aggregate that is also stored in a table of its own.
 */
enum sia_type {
    SIA_COLUMN,
    SIA_TABLE,
    SIA_JOIN,
    SIA_AGGREGATE,
    SIA_TYPES,
    AMBIQT_TYPES = SIA_AGGREGATE + 1 /* records, generators and metrics of AmbiQT's form know these alone */
};

/*
 * The types of linguistic ambiguity of AMBROSIA (Saparina and Lapata, NeurIPS 2024). Attachment: a condition may belong
 * to one of several things. Scope: "each" may ask for one answer in all or one for each. Vague: a word fits several
 * elements.
 */
enum linguistic_type { LINGUISTIC_NONE, LINGUISTIC_ATTACHMENT, LINGUISTIC_SCOPE, LINGUISTIC_VAGUE };
enum { LINGUISTIC_TYPES = 3, AMBIGUITY_TYPES = SIA_TYPES + LINGUISTIC_TYPES };

/* The detector's head that predicts a type: one scores pairs of elements, the other one scores the question's words. */
enum ambiguity_head { AMBIGUITY_HEAD_PAIRS, AMBIGUITY_HEAD_WORDS };

struct ambiguity_type {
    const char *name;     /* in records and options: "C" or "attachment" */
    const char *sentence; /* pairs: the words before the two alternatives; words: the interpretations */
    enum ambiguity_head head;
    bool new_table;      /* the second alternative is in a table of its own, not under another name */
    const char *lead[2]; /* pairs: the start of a clarifying question, without and with the user's words (%s) */
};
extern const struct ambiguity_type ambiguity_types[AMBIGUITY_TYPES];

/* The names of the linguistic types and of all types, for messages. */
#define LINGUISTIC_TYPE_NAMES "attachment, scope, vague"
#define AMBIGUITY_TYPE_NAMES "C, T, J, P, " LINGUISTIC_TYPE_NAMES

/* Returns the index of the type with this name, or -1. name may be NULL. */
int ambiguity_type_find(const char *name);
/* Returns the index of a linguistic type, or of a schema-induced one if linguistic is LINGUISTIC_NONE. */
int ambiguity_type_of(enum sia_type schema, enum linguistic_type linguistic);
/* Return the schema-induced type (SIA_TYPES: none) and the linguistic type (LINGUISTIC_NONE: none) of an index. */
enum sia_type ambiguity_type_schema(int type);
enum linguistic_type ambiguity_type_linguistic(int type);

/* Return the name of a type. k of linguistic_type_name is not LINGUISTIC_NONE. */
const char *sia_type_letter(enum sia_type k);
const char *linguistic_type_name(enum linguistic_type k);
/* Returns LINGUISTIC_NONE if the word names no linguistic type. word may be NULL. */
enum linguistic_type linguistic_type_find(const char *word);

#endif
