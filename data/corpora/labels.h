/*
 * labels.h - questions that people have labelled themselves, about databases of their own, as a data set.
 *
 * A record needs a question and whether it is ambiguous; kind, alternatives and SQL are used where they stand.  Rows of
 * AMBROSIA are taken as they are published (ambrosia.h), whatever label_field says.  All records are read before any is
 * refused, so that one look tells everything that is wrong.
 */
#ifndef DATA_CORPORA_LABELS_H
#define DATA_CORPORA_LABELS_H

#include "data/corpora/dataset.h"
#include "data/util/record_reader.h"

struct labels_request {
    const char *path;   /* a file, or a folder with train.jsonl, valid.jsonl and, if there, test.jsonl */
    const char *db;     /* as in db_path.h; NULL with */
    const char *schema; /* a tables.json */
    enum record_form form;
    const char *label_field; /* "FIELD", which says yes or no, or "FIELD=VALUE", which is yes; NULL: "ambiguous" */
    int64_t seed;            /* of the split of a file */
    bool whole;              /* all of it is the test fold, whatever labels and SQL it has; path is a file */
};

/*
 * Examples are of EXAMPLE_OWN.  Those of one file are split: by database where there are enough of them, else so that
 * one question's text stands in one fold and each fold has both labels as far as they go; the log tells which.  SQL
 * that is not understood is a fault in what is learnt from, and left away, which the log tells, of a whole file.  -1
 * with EXIT_CODE_DATA, after a line on the log for each wrong record, up to a number of them.  The caller releases
 * either way.
 */
int labels_read(struct dataset *d, const struct labels_request *q, struct error *err);

/* Moves the examples of `all` to the folds of d and tells how on the log; name opens that line. */
void labels_split(struct dataset *d, const struct example_list *all, int64_t seed, const char *name);

/* The number among texts of a question, which is added when it is new; questions that differ by case and spaces alone
 * are one. */
int labels_text_number(struct strings *texts, const char *question);

#endif
