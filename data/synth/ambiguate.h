/*
 * ambiguate.h - AmbiQT records (Bhaskar et al., EMNLP 2023) and schema edits from questions with gold SQL.
 *
 * Two generators make the records. ambiguate_resolved.h works on the parsed and resolved query: the grammar finds the
 * names, and all other text of the query stays. ambiguate_published.h reproduces AmbiQT's own generator, which
 * replaces words of text. This module holds the record, the parsed question and the checks that both generators share.
 *
 * The schema edits train a tagger of question words (Wang et al., ACL 2023). One edit deletes a column that the query
 * uses and the question mentions, so the question has no answer. The other edit puts two columns in its place.
 *
 * All strings of a record belong to struct ambiguities. A record that fails a check is rejected and counted by its
 * fault.
 */
#ifndef DATA_SYNTH_AMBIGUATE_H
#define DATA_SYNTH_AMBIGUATE_H

#include "data/corpora/ambiqt.h"
#include "data/corpora/ambiqt_text.h"
#include "data/schema/schema.h"
#include "data/synth/sql_edit.h"
#include "data/synth/synonym_finder.h"

enum { AMBIGUITY_MAX_TABLES = 16, AMBIGUITY_MAX_STORED = 32 };

/* The types that can be generated: AmbiQT's four with the numbers of enum sia_type, the two schema edits, and questions
 * whose input already lists several interpretations. */
enum { AMBIGUITY_DELETED = AMBIQT_TYPES, AMBIGUITY_REPLACED, AMBIGUITY_GIVEN, AMBIGUATE_TYPES };
/* Returns the letter of a type: "C", "T", "J", "P", "D", "R" or "A". */
const char *ambiguity_letter(int type);

/* The reason for rejecting a record. */
enum ambiguity_fault {
    FAULT_UNREADABLE, /* the parser or the resolver does not accept the query */
    FAULT_FORM,       /* the form of the query does not allow an exchange of the element */
    FAULT_NAME,       /* a new name has another meaning in the query or in the schema */
    FAULT_KEY,        /* the table has no primary key of one column */
    FAULT_SAME,       /* both interpretations have the same SQL text */
    FAULT_FAILS,      /* an interpretation does not run, or the query runs without the deleted column */
    FAULT_ROWS,       /* an interpretation returns other rows than the query */
    AMBIGUITY_FAULTS
};
/* Returns the fault in words, for a summary. */
const char *ambiguity_fault_text(enum ambiguity_fault fault);

/* A record with the fields that struct ambiqt_record lacks. struct ambiguities owns its strings. */
struct ambiguity {
    struct ambiqt_record record;  /* D, R and A: its kind is SIA_COLUMN; A: its readings are the query */
    int type;                     /* SIA_COLUMN to SIA_AGGREGATE or AMBIGUITY_DELETED to AMBIGUITY_GIVEN */
    int question;                 /* index in the input */
    int schema;                   /* index in the schema set */
    struct synonym_pair synonyms; /* C, T, R */
    /* P: the tables in order of mention, and the columns of the new table: plain ones, "number", aggregated ones. */
    const char *tables[AMBIGUITY_MAX_TABLES], *stored[AMBIGUITY_MAX_STORED];
    int n_tables, n_stored, n_plain;
    bool number;    /* P: the new table stores count(*) */
    bool one_table; /* P: the form of the published training file */
    bool resolved;  /* made from the resolved query; a record that fails is rejected */
    /* J and P from a resolved query, else NULL: a SELECT for the rows of the new table, and the second interpretation
     * with that SELECT in place of the table. The latter runs on the unaltered database. */
    const char *stored_rows, *direct;
};

struct ambiguities {
    struct ambiguity *items;
    int n, cap;
    int rejected[AMBIGUITY_FAULTS];
    struct strings text;
};
void ambiguities_release(struct ambiguities *a);

/* The input of the generators: one question with its schema and its SQL. */
struct ambiguate_question {
    const struct schema *schema; /* every name in lower case */
    const char *db_id, *question;
    int number, schema_number;
    struct synonym_finder *synonyms;
    bool resolved;             /* use the resolved query instead of AmbiQT's generator */
    char *sql;                 /* normalized: by sql_plain_text if resolved, else by ambiqt_normalize */
    struct ambiqt_words words; /* the words of sql */
};
void ambiguate_question_init(struct ambiguate_question *q, const char *sql);
void ambiguate_question_release(struct ambiguate_question *q);

/* A generator appends the records of one type that a question gives, possibly none. */
typedef void ambiguate_generator(struct ambiguities *out, const struct ambiguate_question *q);

/* Appends a record of this type, filled from the question. The pointer is valid until the next call. */
struct ambiguity *ambiguity_add(struct ambiguities *out, const struct ambiguate_question *q, int type);
/* Joins the words and normalizes the text, which out keeps. */
const char *ambiguity_join(struct ambiguities *out, const char *const *words, int n);
/* Returns the name of the table's first primary key column, or NULL. */
const char *ambiguity_key(const struct schema *s, int table);
/* Return the index of the table or column with exactly this name, or -1. */
int ambiguity_table(const struct schema *s, const char *name);
int ambiguity_column(const struct schema *s, int table, const char *name);

/* The parsed and resolved query of a question. It owns the arena and borrows the rest. */
struct resolved_query {
    struct ambiguities *out;
    const struct ambiguate_question *q;
    struct arena arena;
    struct sql_query *query;
    struct sql_uses uses;
    bool natural; /* the query has a NATURAL join, which compares columns without naming them */
};

/* Parses and resolves the query. Returns -1 and counts a rejected record if that fails. The caller releases r in either
 * case. */
int resolved_query_init(struct resolved_query *r, struct ambiguities *out, const struct ambiguate_question *q);
void resolved_query_release(struct resolved_query *r);
/* Returns true if a word of the query is this name, quoted or not. String literals and function names do not count. */
bool resolved_query_says(const struct resolved_query *r, const char *name);
/* Returns true if the source is this table of the schema, not a CTE or a sub-query. */
bool resolved_source_is(const struct sql_source *s, int table);
void ambiguity_reject(struct ambiguities *out, enum ambiguity_fault fault);
/* Keeps the text in out and frees the argument. */
const char *ambiguity_take(struct ambiguities *out, char *text);

/*
 * Checks the interpretations of a record. Both must run on empty tables of the altered schema, and no name may turn
 * into a string there, nor a string into a name. With a database, SQLite must accept the query; the second
 * interpretation of J must return the query's rows, and the one of P must run. *fault is AMBIGUITY_FAULTS if all is
 * well. s has lower-case names; path is the record's database or NULL. Returns -1 if no statement can be run at all.
 */
int ambiguity_check(enum ambiguity_fault *fault, const struct ambiguity *a, const struct schema *s, const char *path,
                    struct error *err);

#endif
