/*
 * ambiguate.h - makes AmbiQT records (Bhaskar et al., EMNLP 2023) from questions with gold SQL, and edits of schemas.
 *
 * Records are made from the parsed and resolved query: names are found by the grammar, and all other text of the query
 * stays.  A record that cannot be made right is left out and counted.
 *
 * AmbiQT's own generator works on words of text.  It is kept beside, its slips included where they show in the
 * published records, so that the published questions and dictionaries give the published records.  The one exception is
 * a HAVING clause in kind P, where the published file is that of a corrected generator.
 *
 * The edits are what a tagger of question words learns from (Wang et al., ACL 2023): a column that the query uses and
 * the question speaks of is deleted, so that nothing answers the question, or two others stand in its place.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_H
#define DATA_AMBIGUATE_AMBIGUATE_H

#include "data/ambiguate/synonym_finder.h"
#include "data/corpora/ambiqt.h"
#include "data/corpora/ambiqt_text.h"
#include "data/rewrite/sql_edit.h"
#include "data/schema/schema.h"

enum { AMBIGUITY_MAX_TABLES = 16, AMBIGUITY_MAX_STORED = 32 };

/* What is made: AmbiQT's four under the numbers of enum sia_kind, the two edits, and questions that come with several
 * readings of their own. */
enum { AMBIGUITY_DELETED = SIA_KINDS, AMBIGUITY_REPLACED, AMBIGUITY_GIVEN, AMBIGUITY_KINDS };
/* "C", "T", "J", "P", "D", "R", "A". */
const char *ambiguity_letter(int kind);

/* Why a record is left out. */
enum ambiguity_fault {
    FAULT_UNREADABLE, /* the query is not understood */
    FAULT_FORM,       /* the query has a form in which the element cannot be exchanged */
    FAULT_NAME,       /* a new name means something else in the query or in the schema */
    FAULT_KEY,        /* the table has no key of one column */
    FAULT_SAME,       /* both readings have the same text */
    FAULT_FAILS,      /* a reading does not run, or a query runs without the column */
    FAULT_ROWS,       /* a reading gives other rows than the query */
    AMBIGUITY_FAULTS
};
/* In words, for a summary. */
const char *ambiguity_fault_text(enum ambiguity_fault fault);

/* A record and what it needs beyond struct ambiqt_record.  Its strings belong to struct ambiguities. */
struct ambiguity {
    struct ambiqt_record record;  /* of D, R and A its kind is SIA_COLUMN; A has no readings here */
    int kind;                     /* the letter's */
    int question;                 /* its number in the input */
    int schema;                   /* its number in the set */
    struct synonym_pair synonyms; /* C, T, R */
    /* P: tables in order of mention; what the new table stores of them: columns, "number", then aggregated columns */
    const char *tables[AMBIGUITY_MAX_TABLES], *stored[AMBIGUITY_MAX_STORED];
    int n_tables, n_stored, n_plain;
    bool number;    /* P: count(*) is among what is stored */
    bool one_table; /* P: the form of the published training file */
    bool resolved;  /* made from the resolved query; failing records are left out */
    /* Of J and P from a resolved query, else NULL: the rows of the new table as a SELECT; the second reading with that
     * SELECT in the place of the table, which runs on the database as it is. */
    const char *stored_rows, *direct;
};

struct ambiguities {
    struct ambiguity *items;
    int n, cap;
    int left_out[AMBIGUITY_FAULTS];
    struct strings text;
};
void ambiguities_release(struct ambiguities *a);

/* A question while its records are made. */
struct ambiguate_question {
    const struct schema *schema; /* every name in lower case */
    const char *db_id, *question;
    int number, schema_number;
    bool resolved;             /* made from the resolved query, not by AmbiQT's generator */
    char *sql;                 /* in normal form: of sql_edit.h, or AmbiQT's */
    struct ambiqt_words words; /* of sql */
};
void ambiguate_question_init(struct ambiguate_question *q, const char *sql);
void ambiguate_question_release(struct ambiguate_question *q);

/* A new record of that kind with what the question gives; good until the next one. */
struct ambiguity *ambiguity_add(struct ambiguities *out, const struct ambiguate_question *q, int kind);
/* The words in one text, in normal form; out keeps it. */
const char *ambiguity_join(struct ambiguities *out, const char *const *words, int n);
/* The table's first primary key, or NULL. */
const char *ambiguity_key(const struct schema *s, int table);
/* By the exact name. */
int ambiguity_table(const struct schema *s, const char *name);
int ambiguity_column(const struct schema *s, int table, const char *name);

/* A question's query, parsed and resolved; all is borrowed but the arena. */
struct resolved_query {
    struct ambiguities *out;
    const struct ambiguate_question *q;
    struct arena arena;
    struct sql_query *query;
    struct sql_uses uses;
    bool natural; /* it has a NATURAL join, whose columns no text names */
};

/* -1 for a query that is not understood, which is counted as left out; either way the caller releases. */
int resolved_query_init(struct resolved_query *r, struct ambiguities *out, const struct ambiguate_question *q);
void resolved_query_release(struct resolved_query *r);
/* Whether a word of the query, in quotes or not, is the name: neither a string in single quotes nor a function. */
bool resolved_query_says(const struct resolved_query *r, const char *name);
/* Whether the source is the schema's table itself. */
bool resolved_source_is(const struct sql_source *s, int table);
void ambiguity_leave_out(struct ambiguities *out, enum ambiguity_fault fault);
/* The text, which is freed; out keeps it. */
const char *ambiguity_take(struct ambiguities *out, char *text);

/*
 * Checks the readings of a record: both run on empty tables of the altered schema, in which every word that was a
 * string or a name is so still.  Where there is a database, SQLite takes the query on it, the second reading of J gives
 * the query's rows, and that of P runs.  *fault says what is wrong, AMBIGUITY_FAULTS that nothing is.  s has every name
 * in lower case; path is that of the record's database or NULL.  -1 when statements cannot be run at all.
 */
int ambiguity_check(enum ambiguity_fault *fault, const struct ambiguity *a, const struct schema *s, const char *path,
                    struct error *err);

#endif
