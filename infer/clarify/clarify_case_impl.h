/*
 * clarify_case_impl.h - candidates that become one; for clarify_case.c and clarify_merge.c only.
 */
#ifndef INFER_CLARIFY_CLARIFY_CASE_IMPL_H
#define INFER_CLARIFY_CLARIFY_CASE_IMPL_H

#include "infer/clarify/clarify_case.h"

/* Candidates of one form add up, under the text of the most probable. */
void clarify_merge_forms(struct clarify_case *c);
/* The same of candidates that give the same rows on the database and on copies of it; only the first 64 are looked at.
 */
void clarify_merge_results(struct clarify_case *c, struct exec_db *db, uint64_t seed);

#endif
