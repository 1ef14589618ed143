/*
 * infill_rewrite.h - stage 0: the readings of an AmbiQT record in a language model's words.
 *
 * Of each gold the model is asked to put its own name into the question (PROMPT_REWRITE); the SQL that a model writes
 * for what it says must give the gold's rows, and nothing else (F1 of 1 against this gold alone), or it is asked again.
 * A record all of whose golds have such a question is what ambit-data annotate reads; another fails and says where.  It
 * stands in ambit-infer infill since it asks the same models for SQL, by the same files of answers.
 */
#ifndef INFER_INFILL_INFILL_REWRITE_H
#define INFER_INFILL_INFILL_REWRITE_H

#include "data/exec/sqlite_exec.h"
#include "data/util/json.h"

enum { INFILL_TRIES = 5 }; /* the authors' */

/* A gold on its way; its newest question is the reading of the same number. */
struct infill_gold {
    const char *sql; /* the record's */
    char *word;      /* the other name as people say it */
    int tries;       /* questions that were looked at */
    bool accepted;
    const char *waits; /* for what that is not there yet, or NULL; not freed */
};

struct infill_case;

/* A record of ambit-data ambiguate --materialise, of kind C or T, as {"id", "db_id", "source_db", "kind", "question",
 * "golds": [{"sql", "word"}]}; a record that has golds with words as it is.  Takes the record; NULL with
 * EXIT_CODE_DATA. */
json_t *infill_rewrite_record(json_t *record, const char *where, struct error *err);
/* Golds and readings of a case whose record is of that form.  -1 with EXIT_CODE_DATA; the case frees them. */
int infill_rewrite_read(struct infill_case *c, const char *where, struct error *err);
/* The id of the prompt for the next try of a gold, by which its answer is found; a new reference. */
json_t *infill_rewrite_id(const struct infill_case *c, int64_t gold);
/* -1 with EXIT_CODE_DATA when golds fail, give the same rows, or none: then nothing could be told from them. */
int infill_rewrite_check(const struct infill_case *c, struct exec_db *db, bool published, struct error *err);
/* Runs the SQL of a gold's newest question, and so ends its try. */
void infill_rewrite_judge(struct infill_case *c, int gold, struct exec_db *db, bool published);
/* The record with what was accepted, as ambit-data annotate reads it. */
json_t *infill_rewrite_json(const struct infill_case *c);

#endif
