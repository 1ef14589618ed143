/*
 * ambiguate_make.h - all records of a file of questions, kind by kind.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_MAKE_H
#define DATA_AMBIGUATE_AMBIGUATE_MAKE_H

#include "data/ambiguate/ambiguate.h"

/* What records are made of. */
struct ambiguate_input {
    const char *db;    /* borrowed: as in db_path.h; NULL: no databases */
    json_t *questions; /* array of what question_from_row gives */
    struct schema_set schemas;
    struct schema *lower; /* the same schemas with every name in lower case, made when first asked for */
    struct synonyms columns, tables;
    struct synonym_finder finder;
    bool one_table; /* P in the form of the published training file */
    bool as_ambiqt; /* questions of Spider by AmbiQT's own generator */
};

/* questions: a file of Spider, BIRD or AMBROSIA (question_source.h), JSONL or an array.  tables NULL: schemas are those
 * of the databases of db (db_path.h).  The synonym files may be NULL: names are then made.  -1 with EXIT_CODE_DATA;
 * either way the caller releases. */
struct ambiguate_files {
    const char *questions, *tables, *db, *column_synonyms, *table_synonyms;
};
int ambiguate_input_read(struct ambiguate_input *in, const struct ambiguate_files *files, struct error *err);
void ambiguate_input_release(struct ambiguate_input *in);

/* The schema with that number, every name in lower case; it belongs to in. */
const struct schema *ambiguate_lower(struct ambiguate_input *in, int number);

/* Appends the records of one kind (below AMBIGUITY_KINDS), in order of the questions. */
int ambiguate_make(struct ambiguities *out, struct ambiguate_input *in, int kind, struct error *err);

#endif
