/*
 * ambiqt.h - records of the AmbiQT benchmark (Bhaskar et al., EMNLP 2023), all four kinds in one form.
 */
#ifndef DATA_CORPORA_AMBIQT_H
#define DATA_CORPORA_AMBIQT_H

#include "data/corpora/example.h"

enum { AMBIQT_MAX_COLUMNS = 24 }; /* of a precomputed table; the benchmark has at most 10 */

/*
 * One question whose schema AmbiQT alters at one element so that two readings are right:
 *   C  column `column` of `table` stands twice, as names[0] and names[1]
 *   T  table `table` stands twice, as names[0] and names[1]; column is NULL
 *   J  `column` also stands in the new table `new_table`, beside the primary key `key`
 *   P  aggregates of `column` stand precomputed as `new_columns` of the new table `new_table`
 */
struct ambiqt_record {
    enum sia_kind kind;
    const char *db_id, *question;
    const char *original;    /* gold SQL on the unaltered schema */
    const char *readings[2]; /* gold SQL on the altered one: of the first and of the second alternative */
    const char *table, *column;
    const char *names[2];                        /* C, T */
    const char *key;                             /* J, P; NULL when the table has none */
    const char *new_table;                       /* J, P */
    const char *new_columns[AMBIQT_MAX_COLUMNS]; /* P */
    int n_new_columns;
    const char *schema_text; /* the altered schema, "table : column , column | table : ..."; NULL when not told */
};

struct ambiqt_corpus {
    struct ambiqt_record *items; /* in file order */
    int n, cap;
    struct strings text;
};

/* Appends the records of a JSONL file (plain or .xz) or JSON array of one kind.  P records are read in both of their
 * forms.  -1 with EXIT_CODE_DATA naming file, line and field.  c is zeroed before the first call and released after the
 * last. */
int ambiqt_read(struct ambiqt_corpus *c, enum sia_kind kind, const char *path, struct error *err);
/* The same of one record already read; `where` opens the messages. */
int ambiqt_add(struct ambiqt_corpus *c, enum sia_kind kind, const json_t *record, const char *where, struct error *err);
/* What a record's fields say its kind is; -1 when they say nothing. */
int ambiqt_kind(const json_t *record);
/* The training records of a kind in folder dir: col-synonyms, tbl-synonyms, tbl-split or tbl-agg .train.jsonl, or that
 * with .xz behind it. */
int ambiqt_read_train(struct ambiqt_corpus *c, enum sia_kind kind, const char *dir, struct error *err);
void ambiqt_release(struct ambiqt_corpus *c);

#endif
