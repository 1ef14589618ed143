/*
 * natural.h - ambiguous and unambiguous questions on real schemas.
 *
 * A corpus is a folder in Spider's form: tables.json, train_spider.json and, if it has rows, the folder db of SQLite
 * files. Each generator (natural_generator) reads one corpus and adds examples. A shortened question occurs on schemas
 * with both columns and on schemas with one of them, so the question alone does not reveal the label. No database and
 * no question is in two splits. The word clear means unambiguous.
 */
#ifndef DATA_SYNTH_NATURAL_H
#define DATA_SYNTH_NATURAL_H

#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"
#include "data/schema/schema.h"
#include "kernels/arena.h"
#include "kernels/rng.h"

struct natural_options {
    uint64_t seed;
    double test_share, valid_share; /* shares of the databases that `splits` lacks */
    const char *splits;             /* a data folder whose databases keep their split, or NULL */
    double clear;                   /* hard negatives for each ambiguous question */
    int64_t edits;                  /* maximum number of contrast sets on edited schemas for each database */
    /* Questions with two or three ambiguities for each database, in place of all others; 0: none. */
    int64_t several;
    const char *materialise; /* folder for the databases of these questions, or NULL */
    int64_t wording;         /* maximum number of linguistically ambiguous questions of each type for each schema */
};

/* Reads the n corpora and generates the examples. A folder's base name is the source of its examples. The caller
 * releases out in either case. The same input and seed give the same examples. Returns -1 with EXIT_CODE_DATA naming
 * file and field. */
int natural_build(struct dataset *out, const struct natural_options *o, char *const *dirs, int n, struct error *err);

/* Prints the numbers of examples by split, source, reason and label. */
void natural_print(const struct dataset *d, FILE *out);

struct natural_corpus {
    const char *name; /* the source of its examples */
    struct schema_set schemas;
    struct spider_corpus questions; /* every db_id is among the schemas */
    enum data_split *split;         /* [schemas.n] */
    bool *asked;                    /* [schemas.n] the schema has a question; all true without questions */
    char *db;                       /* the folder of its databases; NULL: no rows */
};

/* The state of one run of natural_build. */
struct natural {
    const struct natural_options *options;
    struct dataset *out;
    struct strings questions; /* the questions in out, with the split of each */
    enum data_split *split_of;
    int questions_cap;
    struct schema_store *schemas; /* the variants of schemas in out */
    struct schema **made;         /* generated schemas; they live as long as the run */
    int n_made, made_cap;
    struct arena sql;
    struct rng rng;
};

/* Adds examples of one corpus to n->out. Skips unusable questions. Returns -1 only for lack of memory or a failed read.
 */
typedef int natural_generator(struct natural *n, const struct natural_corpus *c, struct error *err);

/* Assigns the question to the split. Returns false if another split has it. */
bool natural_claim(struct natural *n, const char *question, enum data_split split);
/* Returns the union of two databases' schemas. n keeps it. */
const struct schema *natural_join(struct natural *n, const struct schema *a, const struct schema *b);
/* Returns the schema with one column renamed. n keeps it. */
const struct schema *natural_rename(struct natural *n, const struct schema *s, int column, const char *name);
/* Adds an example. id may be NULL. */
void natural_add(struct natural *n, enum data_split split, const struct example *e);
/* Sets flags[column] for every column that the statement uses. Returns false if it does not resolve on the schema. */
bool natural_touch(struct natural *n, const char *sql, const struct schema *s, bool *flags);

/* Copies s without the dropped columns (dropped: [n_columns]), their keys, and tables that lose all columns. Other
 * names and types stay. The caller releases out with schema_release. */
void schema_without(struct schema *out, const struct schema *s, const bool *dropped, const char *db_id);
/* Copies s with one column renamed. Its natural name is derived from the new name. */
void schema_with_name(struct schema *out, const struct schema *s, int column, const char *name, const char *db_id);

struct schema_form {
    const struct schema *of; /* borrowed */
    bool *dropped;           /* [of->n_columns] */
    const char *db_id;       /* in the data set: the db_id of `of` with a number */
};

/* The schema variants of a run. Zero-initialise it. */
struct schema_store {
    struct strings keys; /* one key for each variant: the schema and its dropped columns */
    struct schema_form *forms;
    int cap;
};

/* Returns the db_id in n->out of s without the dropped columns ([n_columns]). Adds the variant if new. */
const char *schema_store_get(struct natural *n, const struct schema *s, const bool *dropped);
/* Returns the db_id of any variant of s that has all wanted columns ([n_columns]), or of s itself. */
const char *schema_store_any(struct natural *n, const struct schema *s, const bool *wanted);

#endif
