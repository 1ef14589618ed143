/*
 * ambiguate_make.h - all records of a file of questions, kind by kind.
 */
#ifndef DATA_AMBIGUATE_MAKE_H
#define DATA_AMBIGUATE_MAKE_H

#include "data/ambiguate.h"

/* What records are made of. */
struct ambiguate_input {
    json_t *questions; /* array of {"db_id", "question", "query", ...} */
    struct schema_set schemas;
    struct schema *lower; /* the same schemas with every name in lower case, made when first asked for */
    struct synonyms columns, tables;
    struct synonym_finder finder;
    bool one_table; /* P in the form of the published training file */
};

/* questions: train_spider.json, dev.json or the same as JSONL; their schemas stand in tables.  The synonym files may be
 * NULL: names are then made.  -1 with EXIT_CODE_DATA; either way the caller releases. */
int ambiguate_input_read(struct ambiguate_input *in, const char *questions, const char *tables,
                         const char *column_synonyms, const char *table_synonyms, struct error *err);
void ambiguate_input_release(struct ambiguate_input *in);

/* The schema with that number, every name in lower case; it belongs to in. */
const struct schema *ambiguate_lower(struct ambiguate_input *in, int number);

/* Appends the records of one kind, in order of the questions. */
void ambiguate_make(struct ambiguities *out, struct ambiguate_input *in, enum sia_kind kind);

#endif
