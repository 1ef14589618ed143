/*
 * contrast_impl.h - what the steps of contrast_build share: collect, pair, emit.
 */
#ifndef DATA_CONTRAST_CONTRAST_IMPL_H
#define DATA_CONTRAST_CONTRAST_IMPL_H

#include "data/contrast/contrast.h"
#include "data/rewrite/alter.h"

/* A question of one database, whatever rows and records it stands in. */
struct contrast_question {
    int db;
    bool usable;   /* all its SQL was understood, and no other database has it too */
    bool *touched; /* by any of its SQL: tables, then columns of the database */
};

enum { RENAMED_FORMS = 3 }; /* of every training schema */

/* A schema that examples stand on. */
struct contrast_schema {
    struct schema schema; /* moves to the data set, but for its db_id */
    enum alter_form form;
    struct rng placed; /* as it was before what is new was placed: the same again places it in the same way */
    const char *renamed[RENAMED_FORMS]; /* names of databases, NULL outside the training fold */
};

/* An element that some record doubles. */
struct contrast_element {
    int db;
    struct alteration a;
    bool *repeated;                   /* what a.repeated points at */
    bool usable;                      /* the schemas could be made */
    struct contrast_schema both, one; /* both alternatives; exactly one of them */
    int which;                        /* the alternative that stands in `one` */
    bool emitted;                     /* the schemas were handed to the data set */
};

struct contrast_record {
    const struct ambiqt_record *source;
    int question, element;
    int aggregate; /* P: the new column that its second reading uses */
    bool usable;
};

struct contrast {
    const struct contrast_options *options;
    const struct contrast_corpora *in; /* databases are numbered as its schemas */
    struct strings question_keys, element_keys;
    struct contrast_question *questions;
    struct contrast_element *elements;
    struct contrast_record *records; /* one for each of in->ambiqt */
    int questions_cap, elements_cap;
    struct arena sql; /* reset after each query */
    struct rng rng;
};

/* Finds each record's question and element, makes the altered schemas, and marks as unusable what
 * cannot be trusted: SQL that does not resolve, readings that do not read their alternative, names that clash. */
int contrast_collect(struct contrast *c, struct error *err);

/* Whether a query resolves on a schema; flags (n_tables + n_columns, may be NULL) gain what it touches. */
bool contrast_touch(struct contrast *c, const char *sql, const struct schema *s, bool *flags);

/* The schema `of` with some of its other elements under one of the names that the corpus knows for them; rng picks.  -1
 * when that cannot be. */
int contrast_rename(const struct contrast *c, struct schema *out, const struct contrast_schema *of, int db,
                    const struct alteration *a, struct rng *rng);

/* Pairs the usable records and writes the examples of every pair to the folds of out. */
int contrast_emit(struct contrast *c, struct dataset *out, struct error *err);

#endif
