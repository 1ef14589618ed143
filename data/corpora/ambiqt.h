/*
 * ambiqt.h - the reader of the AmbiQT benchmark (Bhaskar et al., EMNLP 2023). Records of all four types have one
 * struct.
 */
#ifndef DATA_CORPORA_AMBIQT_H
#define DATA_CORPORA_AMBIQT_H

#include "data/corpora/example.h"

enum { AMBIQT_MAX_COLUMNS = 24 }; /* columns of a precomputed table; the benchmark has at most 10 */

/*
 * A question that is ambiguous because AmbiQT alters one element of its schema:
 *
 * - C: column `column` of `table` is duplicated as names[0] and names[1].
 * - T: table `table` is duplicated as names[0] and names[1]; column is NULL.
 * - J: `column` also exists in the new table `new_table`, beside the primary key `key`.
 * - P: aggregates of `column` are precomputed as `new_columns` of the new table `new_table`.
 */
struct ambiqt_record {
    enum sia_type type;
    const char *db_id, *question;
    const char *original;           /* gold SQL on the original schema */
    const char *interpretations[2]; /* gold SQL on the altered schema, for the first and the second alternative */
    const char *table, *column;
    const char *names[2];                        /* C, T */
    const char *key;                             /* J, P; NULL if the table has none */
    const char *new_table;                       /* J, P */
    const char *new_columns[AMBIQT_MAX_COLUMNS]; /* P */
    int n_new_columns;
    const char *schema_text; /* the altered schema, "table : column , column | table : ..."; NULL if not given */
};

struct ambiqt_corpus {
    struct ambiqt_record *items; /* in file order */
    int n, cap;
    struct strings text;
};

/* Appends the records of one type from a JSONL file (plain or .xz) or a JSON array. Type P has two published formats;
 * both are read. The caller zeroes c before the first call and releases it after the last. Returns -1 with
 * EXIT_CODE_DATA; the message has file, line and field. */
int ambiqt_read(struct ambiqt_corpus *c, enum sia_type type, const char *path, struct error *err);
/* Appends one parsed record; messages start with `where`. */
int ambiqt_add(struct ambiqt_corpus *c, enum sia_type type, const json_t *record, const char *where, struct error *err);
/* Returns the type that a record's fields imply, or -1. */
int ambiqt_kind(const json_t *record);
/* Appends the training records of a type from folder dir: col-synonyms, tbl-synonyms, tbl-split or tbl-agg
 * .train.jsonl, optionally with .xz. */
int ambiqt_read_train(struct ambiqt_corpus *c, enum sia_type type, const char *dir, struct error *err);
void ambiqt_release(struct ambiqt_corpus *c);

#endif
