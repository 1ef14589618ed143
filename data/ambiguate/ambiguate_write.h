/*
 * ambiguate_write.h - `ambit-data ambiguate`: records of the asked kinds, in order of kinds and questions, to a file.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_WRITE_H
#define DATA_AMBIGUATE_AMBIGUATE_WRITE_H

#include "data/ambiguate/ambiguate.h"
#include "data/util/json.h"

#include <stdio.h>

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

struct ambiguate_options {
    bool kinds[AMBIGUITY_KINDS];
    const char *db;             /* databases that values and copies come from, or NULL */
    const char *schema_strings; /* a published file whose schema texts stay, or NULL */
    const char *materialise;    /* folder of databases to write, or NULL; needs db */
    bool force;                 /* replace those that hold something else */
    bool published_databases;   /* in the form of the infilling paper */
    uint64_t seed;
    const char *out;
};

/* What the records of one kind are. */
struct ambiguate_counts {
    int records, kept_texts;
    int without_database; /* "error" says so: no values, nothing materialised */
    int differ, coincide, failed;
    int left_out[AMBIGUITY_FAULTS];
    int found, kept; /* by the published filter: whose database is found again, and that stay after all of it */
};

/* -1 on bad input or a file that cannot be written; nothing is left behind then but databases. */
int ambiguate_write(struct ambiguate_counts counts[AMBIGUITY_KINDS], struct ambiguate_input *in,
                    const struct ambiguate_options *o, struct error *err);

#endif
