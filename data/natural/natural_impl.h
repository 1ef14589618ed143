/*
 * natural_impl.h - what the driver of natural.h and the makers of examples share.
 */
#ifndef DATA_NATURAL_NATURAL_IMPL_H
#define DATA_NATURAL_NATURAL_IMPL_H

#include "data/corpora/spider.h"
#include "data/natural/natural.h"
#include "kernels/arena.h"
#include "kernels/rng.h"

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

#endif
