/*
 * natural.h - questions that are ambiguous on schemas that people made, and questions that are clear on them.
 *
 * A corpus is a folder in the form of Spider: tables.json, train_spider.json and, where there are rows, the folder db
 * of SQLite files.  Each maker (natural_impl.h) reads one corpus and adds examples.  Questions that a maker shortens
 * stand on schemas that hold both columns and on schemas that hold one of them, so that the question alone does not
 * tell the label.  No database and no question stands in two splits.
 */
#ifndef DATA_NATURAL_NATURAL_H
#define DATA_NATURAL_NATURAL_H

#include "data/corpora/dataset.h"

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

#endif
