/*
 * ambiguate_write.h - reads questions, makes the records of the requested types and writes them to a file.
 *
 * The records are ordered by type and then by question. Random numbers depend on the seed, the type and the record's
 * number alone, so that one type's records do not depend on the other types.
 */
#ifndef DATA_SYNTH_AMBIGUATE_WRITE_H
#define DATA_SYNTH_AMBIGUATE_WRITE_H

#include "data/base/json.h"
#include "data/synth/ambiguate.h"
#include "data/synth/synonym_prompts.h"

#include <stdio.h>

/* The questions with the schemas and dictionaries that the generators need. */
struct ambiguate_input {
    const char *db;    /* borrowed; see db_path.h; NULL: no databases */
    json_t *questions; /* array of records from question_from_row */
    struct schema_set schemas;
    struct schema *lower; /* [schemas.n] copies with lower-case names, made on first use */
    struct synonyms columns, tables;
    struct synonym_finder finder;
    bool one_table; /* P: the form of the published training file */
    bool as_ambiqt; /* Spider's questions go through AmbiQT's own generator */
};

/* Reads all files. questions: a file of Spider, BIRD or AMBROSIA (question_source.h), JSONL or a JSON array. tables
 * NULL: read the schemas from the databases of db (db_path.h). Without synonym files, names are generated. Returns -1
 * with EXIT_CODE_DATA on bad input. The caller releases in either case. */
struct ambiguate_files {
    const char *questions, *tables, *db, *column_synonyms, *table_synonyms;
};
int ambiguate_input_read(struct ambiguate_input *in, const struct ambiguate_files *files, struct error *err);
/* Writes prompts for the names of the tables and columns that the types need, in the schemas of the questions; *n is
 * their number. */
int ambiguate_prompts(const struct ambiguate_input *in, const bool types[AMBIGUATE_TYPES], const char *out, int64_t *n,
                      struct error *err);
/* Completions of these prompts: a file, or a server if `answers` is NULL. */
struct synonym_answers {
    const char *answers;
    struct endpoint_settings server;
    int64_t seed; /* of the server's samples */
};
/* Takes the names from completions. */
int ambiguate_answers(struct ambiguate_input *in, const bool types[AMBIGUATE_TYPES], const struct synonym_answers *from,
                      struct synonym_counts *counts, struct error *err);
void ambiguate_input_release(struct ambiguate_input *in);

struct ambiguate_options {
    bool types[AMBIGUATE_TYPES];
    const char *db;             /* databases for sample values and altered copies, or NULL */
    const char *schema_strings; /* published records whose schema texts are kept, or NULL */
    const char *materialise;    /* output folder for altered databases, or NULL; needs db */
    bool force;                 /* replace existing files with other contents */
    bool published_databases;   /* in the form of "Disambiguate First, Parse Later" (DFPL) */
    uint64_t seed;
    const char *out;
};

/* The number of records of one type, by outcome. */
struct ambiguate_counts {
    int records, kept_texts;
    int without_database; /* these records have the field "error", no sample values and no altered database */
    int differ, coincide, failed;
    int rejected[AMBIGUITY_FAULTS];
    int found, kept; /* DFPL's filter: records whose database is found by its name; records that it keeps */
};

/* Writes all records to o->out. Returns -1 on bad input or if a file cannot be written; then only altered databases
 * remain. */
int ambiguate_write(struct ambiguate_counts counts[AMBIGUATE_TYPES], struct ambiguate_input *in,
                    const struct ambiguate_options *o, struct error *err);

#endif
