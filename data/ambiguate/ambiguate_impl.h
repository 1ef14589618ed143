/*
 * ambiguate_impl.h - what the generators of ambiguate.h share.
 */
#ifndef DATA_AMBIGUATE_AMBIGUATE_IMPL_H
#define DATA_AMBIGUATE_AMBIGUATE_IMPL_H

#include "data/ambiguate/ambiguate.h"

/* A new record of that kind with what the question gives; good until the next one. */
struct ambiguity *ambiguity_add(struct ambiguities *out, const struct ambiguate_question *q, int kind);
/* The words in one text, in normal form; out keeps it. */
const char *ambiguity_join(struct ambiguities *out, const char *const *words, int n);
/* The table's first primary key, or NULL. */
const char *ambiguity_key(const struct schema *s, int table);
/* By the exact name. */
int ambiguity_table(const struct schema *s, const char *name);
int ambiguity_column(const struct schema *s, int table, const char *name);

#endif
