/*
 * dfpl.h - published files of "Disambiguate First, Parse Later": predictions, and AmbiQT's golds in words.
 *
 * A prediction file is one object with `results`, an array of examples. An example has its database as a dump, the
 * question, the gold queries, interpretations with the SQL that a model wrote for each, and the authors' measurements.
 */
#ifndef DATA_EVAL_DFPL_H
#define DATA_EVAL_DFPL_H

#include "data/base/json.h"
#include "data/eval/trial.h"

struct dfpl_interpretation {
    const char *text;
    int first, n;         /* range in the example's SQL */
    const json_t *stored; /* the authors' metrics, or NULL */
};

/* All pointers are borrowed from the file. */
struct dfpl_example {
    const char *db_file, *question, *type; /* db_file: db_id in a file of records */
    const char *source;                    /* the database of which db_file is a copy, or db_file */
    const char *dump;                      /* NULL in a file of records */
    const char *error;                     /* the error of such a record without golds or interpretations, or NULL */
    struct trial_texts golds, sql;         /* sql: of all interpretations, concatenated */
    bool ambiguous;
    struct dfpl_interpretation *interpretations;
    int n_interpretations;
    const json_t *stored;
    int64_t stored_groups, stored_matched; /* distinct results, interpretations that cover a gold; -1 if unknown */
};

struct dfpl_file {
    json_t *root; /* of a file of records: their list */
    struct dfpl_example *items;
    int n;
};

/* Whether a file is one object that begins with its results. */
bool dfpl_is_published(const char *path);
/* Whether the first record of a file has a db_id. */
bool dfpl_is_records(const char *path);
/* Reads a published file, or records {"db_id", "question", "golds": [{"sql"}], "readings": [{"text", "sql"}]} as
 * ambit-infer infill writes them. -1 with EXIT_CODE_DATA naming file, example and field. The caller releases either
 * way. */
int dfpl_read(struct dfpl_file *f, const char *path, struct error *err);
void dfpl_release(struct dfpl_file *f);

/* Whether a record is one of AmbiQT's golds in words (stage 0) as published in interpretations_tbl_col_train, a list of
 * {"db_file", "db_dump", "question", "gold_queries": [SQL], "interpretations": [[text, accepted], ...]}. */
bool dfpl_is_rewritten(const json_t *record);
/* Converts such a record into {"id", "db_id", "source_db", "question", "golds": [{"sql", "text"}]}. id is the number,
 * from 1; db_id is the name of db_file, which ambiguate --published-databases gives its database too. Texts get blanks
 * for underscores, as the published training program reads them. With `published`, the first two records are refused,
 * because that program skips them. The caller owns the record. NULL with EXIT_CODE_DATA, also if a gold has no accepted
 * text. */
json_t *dfpl_rewritten_record(const json_t *row, int64_t number, bool published, const char *where, struct error *err);

/* The number of groups of equal results among the trial's queries. All failures form one group, all empty results
 * another. Equality is not transitive if only some queries order their rows, so the order of the queries may matter. */
int dfpl_groups(const struct trial *t);

/* Our scores compared with those stored in a published prediction file. */

struct dfpl_stored {
    int metrics, differ;         /* sets of metrics, of examples and interpretations; those with a field that differs */
    int groups, groups_differ;   /* examples that state the number of distinct results */
    int matched, matched_differ; /* examples that state the number of covering interpretations */
};

/* Scores the example and its interpretations on a trial of all its queries, by the published rule, and counts. */
void dfpl_stored_compare(struct dfpl_stored *s, const struct dfpl_example *e, const struct trial *t);

#endif
