/*
 * counterfactual.h - questions of WikiSQL and Spider on tables that were edited so that a word of theirs means several
 * things, or nothing any more.
 *
 * Two questions of one table, about different columns, are asked of the same edited tables: what makes one of them
 * ambiguous or unanswerable leaves the other as it was, and the other way round.  So neither the question, nor the
 * table, nor that the table was edited tells which records have a problem.  Labels are not set but counted: how many
 * columns of the edited table came from the one that the gold statement uses.
 */
#ifndef DATA_COUNTERFACTUAL_COUNTERFACTUAL_H
#define DATA_COUNTERFACTUAL_COUNTERFACTUAL_H

#include "kernels/base.h"

#include <stdint.h>
#include <stdio.h>

struct counterfactual_options {
    const char *wikisql, *wtq, *spider; /* folders; NULL: not there */
    const char *synonyms; /* two other names for columns of Spider, as in two_col_synonyms.json; or NULL */
    const char *out;
    bool databases; /* Spider's questions on whole databases, too */
    uint64_t seed;
    bool force; /* as in out_files_commit */
};

/* Writes train.jsonl, valid.jsonl and test.jsonl, which share no table, question or edited table,
 * and tells on `table` what they hold.  -1 with EXIT_CODE_DATA naming file, line and field. */
int counterfactual_make(const struct counterfactual_options *o, FILE *table, struct error *err);

#endif
