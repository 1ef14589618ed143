/*
 * ambiguate.h - makes AmbiQT records (Bhaskar et al., EMNLP 2023) from questions with gold SQL, and edits of schemas.
 *
 * The rules are those of AmbiQT's own generator, its slips included where they show in the published records, so that
 * the published questions give the published records.  The one exception is a HAVING clause in kind P, where the
 * published file is that of a corrected generator.  It all works on words of text; SQL is parsed for kind C of other
 * corpora and for the edits.
 *
 * The edits are what a tagger of question words learns from (Wang et al., ACL 2023): a column that the query uses and
 * the question speaks of is deleted, so that nothing answers the question, or two others stand in its place.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_H
#define DATA_AMBIGUATE_AMBIGUATE_H

#include "data/ambiguate/synonym_finder.h"
#include "data/corpora/ambiqt.h"
#include "data/corpora/ambiqt_text.h"
#include "data/schema/schema.h"

enum { AMBIGUITY_MAX_TABLES = 16, AMBIGUITY_MAX_STORED = 32 };

/* What is made: AmbiQT's four under the numbers of enum sia_kind, the two edits, and questions that come with several
 * readings of their own. */
enum { AMBIGUITY_DELETED = SIA_KINDS, AMBIGUITY_REPLACED, AMBIGUITY_GIVEN, AMBIGUITY_KINDS };
/* "C", "T", "J", "P", "D", "R", "A". */
const char *ambiguity_letter(int kind);

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
};

struct ambiguities {
    struct ambiguity *items;
    int n, cap;
    struct strings text;
};
void ambiguities_release(struct ambiguities *a);

/* A question while its records are made. */
struct ambiguate_question {
    const struct schema *schema; /* every name in lower case */
    const char *db_id, *question;
    int number, schema_number;
    bool thorough;             /* no record of Spider: what AmbiQT's generator overlooks is renamed too */
    char *sql;                 /* in normal form */
    struct ambiqt_words words; /* of sql */
};
void ambiguate_question_init(struct ambiguate_question *q, const char *sql);
void ambiguate_question_release(struct ambiguate_question *q);

/* Each appends the question's records of one kind, possibly none. */
void ambiguate_columns(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
/* The same by the parsed query, which finds names before dots and in quotes too; AmbiQT's generator does not. */
void ambiguate_selected(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
void ambiguate_tables(struct ambiguities *out, const struct ambiguate_question *q, struct synonym_finder *synonyms);
void ambiguate_joins(struct ambiguities *out, const struct ambiguate_question *q);
/* All aggregates of a question in one new table, as in the published validation file. */
void ambiguate_aggregates(struct ambiguities *out, const struct ambiguate_question *q);
/* One record and one new table for each aggregated column of a question on one table, as in the published training
 * file, whose columns are the table's others and max_, min_, avg_, total_ of this one. */
void ambiguate_one_table(struct ambiguities *out, const struct ambiguate_question *q);
/* The edits: a record for each such column that is no key and that the query uses by its name, not by * or an alias
 * alone.  A query that is not understood has none; nor has, for D, a column whose words in the question another element
 * has too. */
void ambiguate_deleted(struct ambiguities *out, const struct ambiguate_question *q);
void ambiguate_replaced(struct ambiguities *out, const struct ambiguate_question *q);

#endif
