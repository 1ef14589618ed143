/*
 * contrast.h - builds contrast sets that test whether a question is ambiguous for a schema.
 *
 * A contrast set has two AmbiQT records of one database D and one ambiguity type: (Q1, element e1) and (Q2, element
 * e2). The SQL of neither question uses the other's element. The pairs (Q1, D with e1 duplicated) and (Q2, D with e2
 * duplicated) are ambiguous. The pairs (Q1, D with e2 duplicated) and (Q2, D with e1 duplicated) are not. So every
 * question and every schema carries both labels equally often, and a model that sees only one of them is at chance.
 *
 * Hard negatives complete the data set: the same questions on the original schema and on a schema with only one of the
 * two alternatives. They are never ambiguous.
 */
#ifndef DATA_SYNTH_CONTRAST_H
#define DATA_SYNTH_CONTRAST_H

#include "data/corpora/ambiqt.h"
#include "data/corpora/dataset.h"
#include "data/corpora/spider.h"

struct contrast_options {
    uint64_t seed;
    double test_share, valid_share; /* shares of the databases, rounded up */
};

/* The sources of the examples: questions on unaltered schemas, and records that each duplicate one element. */
struct contrast_corpora {
    struct schema_set schemas;
    struct spider_corpus spider;
    struct ambiqt_corpus ambiqt;
};
void contrast_corpora_release(struct contrast_corpora *c);

/* Builds the data set from folders: ambiqt holds the four training files, spider holds train_spider.json and
 * tables.json. Checks every split, question and schema. The caller releases out in either case. The same inputs and
 * seed give the same bytes. */
int contrast_build(struct dataset *out, const struct contrast_options *o, const char *ambiqt, const char *spider,
                   struct error *err);
/* Builds the same from corpora in memory. */
int contrast_build_from(struct dataset *out, const struct contrast_options *o, const struct contrast_corpora *in,
                        struct error *err);

#endif
