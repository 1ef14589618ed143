/*
 * practice.h - practice data of our own making: small domains with schemas, rows, questions, SQL and ambiguous
 * variants.
 *
 * The domains are tables of this program, the questions are drawn from templates, and the crossed pairs, folds and
 * checks are those of contrast.h, so that whatever reads one kind of folder reads the other.  Small enough that a tiny
 * model learns from it within a minute: for the demo, the tests and first steps, not for measuring anything.
 */
#ifndef DATA_CONTRAST_PRACTICE_H
#define DATA_CONTRAST_PRACTICE_H

#include "data/corpora/dataset.h"

/* The caller releases out either way.  Same seed: the same bytes. */
int practice_build(struct dataset *out, uint64_t seed, struct error *err);

/* Writes the domains' schemas and plain questions in Spider's form, as ambit-data natural reads them: DIR/tables.json
 * and DIR/train_spider.json.  Both files appear or none.  Databases are called PREFIX and the domain's name. */
int practice_write_questions(const char *dir, const char *prefix, uint64_t seed, bool force, struct error *err);

/* Writes DIR/db/NAME.sqlite for every domain, the prefix before its name: its schema and rows.  Each file appears whole
 * or not at all. */
int practice_write_databases(const char *dir, const char *prefix, bool force, struct error *err);

#endif
