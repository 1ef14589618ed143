/*
 * infill.h - disambiguate first, parse later: default readings of a question, their SQL, the readings that a model says
 * are missing, their SQL, and one record with what is left when readings of the same result count once.
 *
 * Every stage is done for all records before the next begins, so that a model sees its prompts together.  A stage reads
 * a file that other models made, or asks the model given for it; without either, infilling is left out (which is what
 * it is compared with), and readings without SQL are dropped.  A record that fails carries "error" and the run goes on.
 */
#ifndef INFER_INFILL_H
#define INFER_INFILL_H

#include "data/prompter.h"

/* A language model.  For each of n conversations ([{"role", "content"}, ...], borrowed) its answer in *texts, in order,
 * which the caller frees; NULL where it has none.  1 (a signal) and -1 end the run.  generate is NULL where there is no
 * model. */
struct infill_generator {
    int (*generate)(void *self, json_t *const *messages, int64_t n, char **texts, struct error *err);
    void *self;
};

struct infill_request {
    const char *input, *db, *out;
    const char *defaults, *sqls, *infilled; /* files of the stages, or NULL */
    struct prompter_options prompt;
    bool published; /* filter and parse as "Disambiguate First, Parse Later" does; nothing added is dropped */
    struct infill_generator read, sql, fill; /* models for PROMPT_DEF, PROMPT_SQL and PROMPT_FILL */
};

struct infill_counts {
    int64_t records, failed, defaults, added; /* readings of the output */
};

/*
 * Records {"id", "db_id", "question"} and perhaps "golds", or rows of AMBROSIA, to {"id", "db_id", "question",
 * "ambiguous", "golds", "readings": [{"text", "from", "sql", "sql_from", "rows", "result"}], "dropped": [{"text",
 * "from", "why", "same_as"}], "provenance"} and what models answered, which ambit-data score --rule dfpl reads.  0, 1
 * when a signal stopped it, -1.
 */
int infill(const struct infill_request *q, struct infill_counts *counts, struct error *err);

#endif
