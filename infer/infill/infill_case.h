/*
 * infill_case.h - one question on its way through infilling: its readings, what is known of each, what is left.
 */
#ifndef INFER_INFILL_INFILL_CASE_H
#define INFER_INFILL_INFILL_CASE_H

#include "data/exec/sqlite_exec.h"
#include "data/prompt/model_output.h"
#include "data/score/annotate.h"
#include "data/util/json.h"

struct infill_reading {
    char *text;
    bool added;            /* by infilling */
    struct text_items sql; /* what was written for it */
    const char *sql_from;  /* "readings", "file", "model", or NULL; not freed */
    char *unread;          /* an answer to its prompt for SQL that has no statement, or NULL */
    const char *dropped;   /* why, or NULL; not freed */
    int same_as;           /* the reading that it repeats, or -1 */
};

struct infill_case {
    json_t *record;                  /* in our form; owned */
    const char *db_id, *question;    /* the record's */
    char *path;                      /* of the database */
    char *error;                     /* NULL while it goes well */
    char *unread;                    /* what of its answers could not be read, though it goes on, or NULL */
    char *answers[2];                /* of a model: the default readings', the infilling's; NULL without */
    char *corrected;                 /* its answer to PROMPT_CORRECT, or NULL */
    struct infill_reading *readings; /* the default ones first */
    int n, cap;
    int *kept; /* in order; published: a reading may stand twice */
    int n_kept, kept_cap;
    struct infill_gold *golds; /* of stage 0; each has the reading of its number */
    int n_golds;
    uint64_t key;  /* of what its line is made from */
    int64_t drawn; /* words that the published filter had drawn when it was done with this one */
};

/* Where a record was read, and for what. */
struct infill_place {
    int64_t number;
    const char *db, *where; /* db as in db_path.h */
    bool rewrites;          /* stage 0 is what it is for */
};
/* Takes the record; one that cannot be used, and NULL for one that could not be read, is kept with its error.  `bad`
 * says why in the latter case. */
void infill_case_read(struct infill_case *c, json_t *record, const struct infill_place *place, const struct error *bad);
void infill_case_release(struct infill_case *c);
/* Ends it with what err says. */
void infill_case_fail(struct infill_case *c, const struct error *err);
/* Whether its line has an error: it was ended, or an answer could not be read. */
bool infill_case_failed(const struct infill_case *c);

/* Adds readings: of a list of {"text", "sql"}, whose SQL is a string or a list of them or missing; or of a model's
 * answer.  An answer without readings ends the case, or with `added`, unless it says that none is missing, is noted. */
int infill_case_add_list(struct infill_case *c, const json_t *list, bool added, struct error *err);
void infill_case_add_answer(struct infill_case *c, const char *answer, bool added, bool published);
void infill_case_set_text(struct infill_case *c, int64_t reading, const char *answer, bool published);
/* The readings that an answer to PROMPT_CORRECT leaves, in place of the default ones; those of the same text keep their
 * SQL. */
void infill_case_correct(struct infill_case *c, const char *answer, bool published);
/* Of an answer to PROMPT_E2E: each of its statements as a reading in the question's own words. */
void infill_case_add_statements(struct infill_case *c, const char *answer, bool published);
/* From an answer; one without a statement is noted. */
void infill_case_set_answer(struct infill_case *c, int64_t reading, const char *answer, bool published);
/* From what is known of it (reading_sql.h), likewise. */
int infill_case_set_known(struct infill_case *c, int64_t reading, const json_t *sql, struct error *err);

/*
 * Runs all SQL and decides what is kept.  The honest way: of readings with the same result the first.  As published:
 * default readings by annotate_filter, drawing from random, and none that were added.
 */
void infill_case_filter(struct infill_case *c, struct exec_db *db, struct python_random *random, bool published);
/* As published: all that were added stay, but those that say that there are none. */
void infill_case_keep_added(struct infill_case *c);
/* As published, of PROMPT_E2E. */
void infill_case_keep_all(struct infill_case *c);
/* How many readings are not kept and never had SQL. */
int infill_case_without_sql(const struct infill_case *c);
/* The texts that are kept, one per line, or ANNOTATE_NONE_EXIST; of all readings, before any filter.  The caller frees.
 */
char *infill_case_existing(const struct infill_case *c);
char *infill_case_texts(const struct infill_case *c);

/* The output record without its provenance; results are those of db, at most ten rows of each told. */
json_t *infill_case_json(const struct infill_case *c, struct exec_db *db);
/* The same of a case that was ended: the error, and what models answered. */
json_t *infill_case_failed_json(const struct infill_case *c);

/* Stage 0: the readings of an AmbiQT record in a language model's words.
 *
 * Of each gold the model is asked to put its own name into the question (PROMPT_REWRITE); the SQL that a model writes
 * for what it says must give the gold's rows, and nothing else (F1 of 1 against this gold alone), or it is asked again.
 * A record all of whose golds have such a question is what ambit-data annotate reads; another fails and says where.  It
 * stands in ambit-infer infill since it asks the same models for SQL, by the same files of answers.
 */

/* A gold on its way; its newest question is the reading of the same number. */
struct infill_gold {
    const char *sql; /* the record's */
    char *word;      /* the other name as people say it */
    int tries;       /* questions that were looked at */
    bool accepted;
    const char *waits; /* for what that is not there yet, or NULL; not freed */
};

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
