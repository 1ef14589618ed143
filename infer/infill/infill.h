/*
 * infill.h - ambit-infer infill, after "Disambiguate First, Parse Later": interpretations of a question, with their
 * SQL.
 *
 * A model writes default interpretations, and another one adds those that are missing.  Each gets SQL, which is
 * executed; interpretations with the same result count once.  A stage reads a file of completions or asks a model.
 * Without either, nothing is added, and interpretations without SQL are dropped.  Records pass the stages in windows,
 * which bounds memory and gives models many prompts at a time.  A record that fails is written with "error" and the run
 * continues.
 */
#ifndef INFER_INFILL_INFILL_H
#define INFER_INFILL_INFILL_H

#include "data/base/shard.h"
#include "data/prompt/prompter.h"

/* A language model.  generate() writes the completion of each of n prompts {"id", "messages"}, which it borrows, to
 * texts [n]: a string that the caller frees, or NULL.  It returns 0, 1 after a signal, or -1 with err.  generate is
 * NULL if there is no model.  key is a hash of everything that completions depend on, except the prompts. */
struct infill_generator {
    int (*generate)(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err);
    void *self;
    uint64_t key;
};

enum { INFILL_TRIES = 5 }; /* as published */

struct infill_request {
    const char *input, *db, *out;
    enum record_format format_in; /* of input */
    struct shard shard;
    const char *defaults, *sqls, *infilled; /* files of the stages, or NULL */
    const char *e2e;                        /* completions of PROMPT_E2E in place of defaults, or NULL */
    const char *corrected;                  /* completions of PROMPT_CORRECT, or NULL */
    const char *rewrites;                   /* completions of PROMPT_REWRITE (stage 0, infill_case.h), or NULL */
    const char *write;    /* stage whose prompts are written: def, correct, sql, fill, e2e, gold, rewrite; or NULL */
    const char *examples; /* records of which each prompt of e2e shows `shots`, sampled with seed; or NULL */
    int64_t shots, seed;
    int64_t tries; /* maximum number of rewritten questions for a gold */
    struct prompter_options prompt;
    int64_t window; /* records in memory */
    bool resume;    /* continue from OUT.part */
    bool published; /* reproduce the authors' parser and filter, which drops no added interpretation */
    struct infill_generator read, sql, fill;  /* models for PROMPT_DEF, PROMPT_SQL and PROMPT_FILL */
    struct infill_generator correct, rewrite; /* for PROMPT_CORRECT and PROMPT_REWRITE */
};

struct infill_counts {
    int64_t records, failed, defaults, added; /* interpretations of the output */
    int64_t resumed, prompts;                 /* records of an earlier run; prompts written */
    int64_t without_sql;                      /* interpretations of this run that were dropped for lack of SQL */
};

/* Tells whether the request is for stage 0 alone, whose output is input of ambit-data infilling annotate. */
bool infill_rewrites(const struct infill_request *q);

/*
 * Reads records {"id", "db_id", "question"}, perhaps with "golds", or rows of AMBROSIA.  Writes {"id", "db_id",
 * "question", "ambiguous", "golds", "readings": [{"text", "from", "sql", "sql_from", "rows", "result"}], "dropped":
 * [{"text", "from", "reason", "same_as"}], "provenance"} and the models' completions, input of ambit-data score --rule
 * dfpl.  OUT.part keeps the lines until the output is complete.
 *
 * With q->write it writes the prompts {"id", "messages"} of one stage instead.  A file of completions {"id", "text"} is
 * input of that stage.  It writes no prompt for SQL that is known, and no prompt twice.
 *
 * Returns 0, or -1 with err; after a signal err has its exit code.
 */
int infill(const struct infill_request *q, struct infill_counts *counts, struct error *err);

#endif
