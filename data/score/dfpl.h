/*
 * dfpl.h - the prediction files of "Disambiguate First, Parse Later" and their score.
 *
 * A file is one object: `results`, an array of examples, each with its database as a dump, the question, the gold
 * queries, and readings ("interpretations") with the SQL that a model wrote for each; then what its authors measured.
 */
#ifndef DATA_SCORE_DFPL_H
#define DATA_SCORE_DFPL_H

#include "data/score/trial.h"
#include "data/util/json.h"

struct dfpl_reading {
    const char *text;
    int first, n;         /* its part of the example's SQL */
    const json_t *stored; /* the authors' metrics, or NULL */
};

/* Everything is borrowed from the file. */
struct dfpl_example {
    const char *db_file, *question, *type; /* db_file: db_id in a file of records */
    const char *source;                    /* the database that db_file is a copy of; db_file where none is named */
    const char *dump;                      /* NULL in a file of records */
    const char *error;                     /* what such a record says of itself, or NULL */
    struct trial_texts golds, sql;         /* sql: of all readings, end to end */
    bool ambiguous;
    struct dfpl_reading *readings;
    int n_readings;
    const json_t *stored;
    int64_t stored_groups, stored_matched; /* distinct results, readings that cover a gold; -1 when not told */
};

struct dfpl_file {
    json_t *root; /* a file of records: a list of them */
    struct dfpl_example *items;
    int n;
};

/* A published file is one object that begins with its results. */
bool dfpl_is_published(const char *path);
/* The first record of a file of records has a db_id. */
bool dfpl_is_records(const char *path);
/* A published file, or records {"db_id", "question", "golds": [{"sql"}], "readings": [{"text", "sql"}]} as ambit-infer
 * infill writes them.  -1 with EXIT_CODE_DATA naming file, example and field.  Either way the caller releases. */
int dfpl_read(struct dfpl_file *f, const char *path, struct error *err);
void dfpl_release(struct dfpl_file *f);

/* How many groups of like results the trial's queries make, all that fail being one, all without rows another.  Being
 * alike is not transitive where some order and some do not, so the order of the queries may matter. */
int dfpl_groups(const struct trial *t);

/*
 * Ours beside what a published prediction file says of itself.
 */

struct dfpl_stored {
    int metrics, differ; /* sets of metrics, of examples and of single readings; those in which any field differs */
    int groups, groups_differ;   /* examples that say how many results are distinct */
    int matched, matched_differ; /* examples that say how many readings cover a gold */
};

/* Scores the example and each of its readings on a trial of all its queries, as published, and counts. */
void dfpl_stored_compare(struct dfpl_stored *s, const struct dfpl_example *e, const struct trial *t);

#endif
