/*
 * infill.h - disambiguate first, parse later: default readings of a question, their SQL, the readings that a model says
 * are missing, their SQL, and one record with what is left when readings of the same result count once.
 *
 * Records go through the stages a window at a time, so that memory is bounded and a model still sees many prompts
 * together.  A stage reads a file that other models made, or asks the model given for it; without either, infilling is
 * left out (which is what it is compared with), and readings without SQL are dropped.  A record that fails carries
 * "error" and the run goes on.
 */
#ifndef INFER_INFILL_INFILL_H
#define INFER_INFILL_INFILL_H

#include "data/prompt/prompter.h"
#include "data/shard/shard.h"

/* A language model.  For each of n prompts ({"id", "messages"}, borrowed) its answer in *texts, in order, which the
 * caller frees; NULL where it has none.  1 (a signal) and -1 end the run.  generate is NULL where there is no model;
 * key sums up all that its answers depend on but the prompts. */
struct infill_generator {
    int (*generate)(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err);
    void *self;
    uint64_t key;
};

enum { INFILL_TRIES = 5 }; /* the authors' */

struct infill_request {
    const char *input, *db, *out;
    enum record_form form; /* of input */
    struct shard shard;
    const char *defaults, *sqls, *infilled; /* files of the stages, or NULL */
    const char *e2e;                        /* answers to PROMPT_E2E in place of defaults, or NULL */
    const char *corrected;                  /* answers to PROMPT_CORRECT, or NULL */
    const char *rewrites;                   /* answers to PROMPT_REWRITE (stage 0, infill_case.h), or NULL */
    const char *write;    /* def, correct, sql, fill, e2e, gold or rewrite: prompts instead of records; or NULL */
    const char *examples; /* records that e2e's prompts show `shots` of each, drawn from seed; NULL: none */
    int64_t shots, seed;
    int64_t tries; /* questions of stage 0 for a gold, at most */
    struct prompter_options prompt;
    int64_t window; /* records on their way at once */
    bool resume;    /* go on with what OUT.part holds */
    bool published; /* filter and parse as "Disambiguate First, Parse Later" does; nothing added is dropped */
    struct infill_generator read, sql, fill;  /* models for PROMPT_DEF, PROMPT_SQL and PROMPT_FILL */
    struct infill_generator correct, rewrite; /* for PROMPT_CORRECT and PROMPT_REWRITE */
};

struct infill_counts {
    int64_t records, failed, defaults, added; /* readings of the output */
    int64_t resumed, prompts;                 /* records of an earlier run; prompts written */
    int64_t without_sql;                      /* readings dropped that never had SQL, of this run */
};

/* Whether the request is for stage 0 alone, whose records come out as ambit-data annotate reads them. */
bool infill_rewrites(const struct infill_request *q);

/*
 * Records {"id", "db_id", "question"} and perhaps "golds", or rows of AMBROSIA, to {"id", "db_id", "question",
 * "ambiguous", "golds", "readings": [{"text", "from", "sql", "sql_from", "rows", "result"}], "dropped": [{"text",
 * "from", "why", "same_as"}], "provenance"} and what models answered, which ambit-data score --rule dfpl reads.  Lines
 * are kept in OUT.part until all are there.
 *
 * With q->write: the prompts of one stage, {"id", "messages"}, for what the stages before it say.  A file of answers,
 * {"id", "text"}, is what that stage reads.  Readings whose SQL is known are not asked about, nor is one twice.
 *
 * 0 or -1, with the signal's code when one stopped it.
 */
int infill(const struct infill_request *q, struct infill_counts *counts, struct error *err);

#endif
