/*
 * practice.h - synthetic data from small written domains: schemas, rows, questions, SQL and ambiguous variants.
 *
 * The domains are tables of this program, and templates give the questions. Contrast sets, splits and checks are those
 * of contrast.h, so the folders have the same form. A tiny model learns from the data within a minute. The data are
 * for the demo, tests and first steps, not for measurements.
 */
#ifndef DATA_SYNTH_PRACTICE_H
#define DATA_SYNTH_PRACTICE_H

#include "data/corpora/dataset.h"

/* Builds the data set. The caller releases out in either case. The same seed gives the same bytes. */
int practice_build(struct dataset *out, uint64_t seed, struct error *err);

/* Writes the domains' schemas and unambiguous questions in Spider's form for ambit-data natural: DIR/tables.json and
 * DIR/train_spider.json. Either both files appear or none. A database is called PREFIX and its domain's name. */
int practice_write_questions(const char *dir, const char *prefix, uint64_t seed, bool force, struct error *err);

/* Writes DIR/db/PREFIXNAME.sqlite for every domain, with its schema and rows. Each file appears whole or not at all. */
int practice_write_databases(const char *dir, const char *prefix, bool force, struct error *err);

#endif
