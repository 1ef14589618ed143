/*
 * contrast.h - builds data sets that ask whether a question is ambiguous for a schema.
 *
 * Crossed pairs: two AmbiQT records (Q1, element e1) and (Q2, element e2) of one database and one kind, where the SQL
 * of neither touches the other's element, give (Q1, D with e1 doubled) yes, (Q2, D with e2 doubled) yes, (Q1, D with e2
 * doubled) no, (Q2, D with e1 doubled) no.  Every question and every schema so carries both labels equally often, and
 * nothing that sees only one of them can know the answer.  Beside them stands the presence slice: the same questions on
 * the original schema and on one where only one of the alternatives stands, never ambiguous.
 */
#ifndef DATA_CONTRAST_CONTRAST_H
#define DATA_CONTRAST_CONTRAST_H

#include "data/corpora/ambiqt.h"
#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"

struct contrast_options {
    uint64_t seed;
    double test_share, valid_share; /* of the databases, rounded up */
};

/* What examples are made of: questions on unaltered schemas, and records that each double one element. */
struct contrast_corpora {
    struct schema_set schemas;
    struct spider_corpus spider;
    struct ambiqt_corpus ambiqt;
};
void contrast_corpora_release(struct contrast_corpora *c);

/* Folders: ambiqt holds the four training files, spider train_spider.json and tables.json.  Fills out, which the caller
 * releases either way; every fold, question and schema has been checked.  Same inputs and seed: the same bytes. */
int contrast_build(struct dataset *out, const struct contrast_options *o, const char *ambiqt, const char *spider,
                   struct error *err);
/* The same from corpora that are in memory already. */
int contrast_build_from(struct dataset *out, const struct contrast_options *o, const struct contrast_corpora *in,
                        struct error *err);

#endif
