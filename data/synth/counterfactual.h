/*
 * counterfactual.h - questions of WikiSQL, WikiTableQuestions and Spider on edited tables, in which one word is
 * ambiguous or unanswerable.
 *
 * Two questions about different columns of one table are asked of the same edited tables. An edit that makes one
 * question ambiguous or unanswerable leaves the other one unchanged, and vice versa. So neither the question, nor the
 * table, nor the fact of an edit reveals the label. Labels are computed, not set: they count the columns of the edited
 * table that came from the column of the gold statement.
 *
 * The records have all six categories of problem.h. Requests beyond SQL are the exception: the question tells them.
 */
#ifndef DATA_SYNTH_COUNTERFACTUAL_H
#define DATA_SYNTH_COUNTERFACTUAL_H

#include "kernels/base.h"

#include <stdint.h>
#include <stdio.h>

struct counterfactual_options {
    const char *wikisql, *wtq, *spider; /* folders; NULL: not used */
    const char *synonyms;               /* two_col_synonyms.json with two names for columns of Spider, or NULL */
    const char *out;
    bool databases; /* ask Spider's questions of whole databases too */
    uint64_t seed;
    bool force; /* see out_files_commit */
};

/* Writes train.jsonl, valid.jsonl and test.jsonl, which share no table, question or edited table. Prints the numbers of
 * records to `table`. Returns -1 with EXIT_CODE_DATA naming file, line and field. */
int counterfactual_make(const struct counterfactual_options *o, FILE *table, struct error *err);

#endif
