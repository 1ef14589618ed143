/*
 * natural.h - questions that are ambiguous on schemas that people made, and questions that are clear on them.
 *
 * A corpus is a folder in the form of Spider: tables.json, train_spider.json and, where there are rows, the folder db
 * of SQLite files.  Each maker (natural_maker) reads one corpus and adds examples.  Questions that a maker shortens
 * stand on schemas that hold both columns and on schemas that hold one of them, so that the question alone does not
 * tell the label.  No database and no question stands in two splits.
 */
#ifndef DATA_NATURAL_NATURAL_H
#define DATA_NATURAL_NATURAL_H

#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"
#include "data/schema/schema.h"
#include "kernels/arena.h"
#include "kernels/rng.h"

struct natural_options {
    uint64_t seed;
    double test_share, valid_share; /* of the databases that `splits` does not know */
    const char *splits;             /* a data folder, or NULL: a database of that folder keeps its split */
    double clear;                   /* clear questions of the presence slice, for each ambiguous question */
    int64_t edits;                  /* sets of four examples on edited schemas, for each database, at most */
    int64_t wording; /* questions that are ambiguous in their words, of each kind on each schema, at most */
};

/* Reads the n corpora; the base name of a folder is the source of its examples.  Fills out, which the caller releases
 * either way.  The same input and seed give the same examples.  -1 with EXIT_CODE_DATA naming file and field. */
int natural_build(struct dataset *out, const struct natural_options *o, char *const *dirs, int n, struct error *err);

/* A table of examples by split, source, reason and label. */
void natural_print(const struct dataset *d, FILE *out);

struct natural_corpus {
    const char *name; /* the source of its examples */
    struct schema_set schemas;
    struct spider_corpus questions; /* every db_id is among the schemas */
    enum fold *fold;                /* [schemas.n] */
    bool *asked;                    /* [schemas.n] whether a question is about it; all where there are no questions */
    char *db;                       /* the folder of its databases; NULL: it has no rows */
};

/* One run of natural_build. */
struct natural {
    const struct natural_options *options;
    struct dataset *out;
    struct strings questions; /* those that stand in out, with the split of each: */
    enum fold *fold_of;
    int questions_cap;
    struct schema_store *schemas; /* the forms of schemas that out has */
    struct schema **made;         /* schemas that no corpus has; they live as long as the run */
    int n_made, made_cap;
    struct arena sql;
    struct rng rng;
};

/* Adds examples of one corpus to n->out.  -1 only where the machine fails: a question that is of no use is left out. */
typedef int natural_maker(struct natural *n, const struct natural_corpus *c, struct error *err);

/* Whether the question may stand in that split, which is then its only one. */
bool natural_claim(struct natural *n, const char *question, enum fold fold);
/* The schemas of two databases as one, which n keeps. */
const struct schema *natural_join(struct natural *n, const struct schema *a, const struct schema *b);
/* The schema with another name for one of its columns, which n keeps. */
const struct schema *natural_rename(struct natural *n, const struct schema *s, int column, const char *name);
/* Adds an example; id may be NULL. */
void natural_add(struct natural *n, enum fold fold, const struct example *e);
/* Sets flags[column] for every column that the statement uses.  False where it cannot be read on the schema. */
bool natural_touch(struct natural *n, const char *sql, const struct schema *s, bool *flags);

/* dropped: [n_columns].  Keys of a dropped column are dropped, and so is a table that keeps no column.  Names and types
 * stay.  The caller ends out with schema_release. */
void schema_without(struct schema *out, const struct schema *s, const bool *dropped, const char *db_id);
/* The same schema, in which one column has another name; its text is derived from the name. */
void schema_with_name(struct schema *out, const struct schema *s, int column, const char *name, const char *db_id);

struct schema_form {
    const struct schema *of; /* borrowed */
    bool *dropped;           /* [of->n_columns] */
    const char *db_id;       /* in the data set: that of `of`, and a number behind it */
};

/* A zeroed struct is ready. */
struct schema_store {
    struct strings keys; /* the schema and the columns that it lacks; one for each form */
    struct schema_form *forms;
    int cap;
};

/* The db_id of s without the dropped columns ([n_columns]) in n->out. */
const char *schema_store_get(struct natural *n, const struct schema *s, const bool *dropped);
/* Of any form of s that has all wanted columns ([n_columns]); of s itself where there is none. */
const char *schema_store_any(struct natural *n, const struct schema *s, const bool *wanted);
void schema_store_release(struct schema_store *store);

#endif
