/*
 * infill_case.h - one question in the stages of infilling: its interpretations, their SQL, and those that are kept.
 *
 * A case owns its record and all texts.  An error of the record ends the case: later calls do nothing, and its line has
 * the error.
 */
#ifndef INFER_INFILL_INFILL_CASE_H
#define INFER_INFILL_INFILL_CASE_H

#include "data/base/json.h"
#include "data/db/sqlite_exec.h"
#include "data/eval/annotate.h"
#include "data/prompt/model_output.h"

struct infill_interpretation {
    char *text;
    bool added;            /* added by infilling */
    bool corrected;        /* added by self-correction */
    struct text_items sql; /* statements */
    const char *sql_from;  /* "readings", "file", "model", or NULL; static */
    char *unread;          /* completion for its SQL that has no statement, or NULL */
    const char *dropped;   /* reason, or NULL; static */
    int same_as;           /* interpretation with the same result, or -1 */
};

struct infill_case {
    json_t *record;               /* owned */
    const char *db_id, *question; /* of the record */
    char *path;                   /* of the database file */
    char *error;                  /* NULL: no error */
    bool unanswered;              /* the error is a completion without content, or none, not an unusable record */
    char *unread;                 /* completion that could not be read, although the case goes on, or NULL */
    char *answers[2];             /* completions of PROMPT_DEF and PROMPT_FILL, or NULL */
    char *corrected;              /* completion of PROMPT_CORRECT, or NULL */
    struct text_items omitted;    /* texts of candidates that this completion lacks */
    struct infill_interpretation *interpretations; /* default interpretations first */
    int n, cap;
    int *kept; /* in order; as published an interpretation may occur twice */
    int n_kept, kept_cap;
    struct infill_gold *golds; /* of stage 0; gold i belongs to interpretation i */
    int n_golds;
    uint64_t key;  /* hash of everything that its line depends on */
    int64_t drawn; /* random numbers that the published filter has used after this case */
};

/* Place and purpose of a record. */
struct infill_place {
    int64_t number;
    const char *db, *where; /* db: as in db_path.h */
    bool rewrites;          /* for stage 0 */
};
/* Takes the record.  A record that cannot be used is kept with its error.  For a line that could not be read, the
 * record is NULL and `bad` has the error. */
void infill_case_read(struct infill_case *c, json_t *record, const struct infill_place *place, const struct error *bad);
void infill_case_release(struct infill_case *c);
/* Ends the case with an error. */
void infill_case_fail(struct infill_case *c, const struct error *err);
/* Ends the case because a model did not complete its prompt: it still counts when the output is scored. */
void infill_case_unanswered(struct infill_case *c, const struct error *err);
/* Tells whether the line of the case has an error. */
bool infill_case_failed(const struct infill_case *c);

/* Adds interpretations: from a list of {"text", "sql"}, where "sql" is a string, a list of strings or missing; or from
 * a completion.  A completion without interpretations ends the case.  With `added` it is noted instead, unless it says
 * that none is missing. */
int infill_case_add_list(struct infill_case *c, const json_t *list, bool added, struct error *err);
void infill_case_add_answer(struct infill_case *c, const char *answer, bool added, bool published);
void infill_case_set_text(struct infill_case *c, int64_t interpretation, const char *answer, bool published);
/* Replaces the default interpretations by those of a completion of PROMPT_CORRECT.  A candidate that the completion
 * repeats, perhaps with other case or other marks at its end, keeps its text and SQL. */
void infill_case_correct(struct infill_case *c, const char *answer, bool published);
/* Adds each statement of a completion of PROMPT_E2E as an interpretation with the text of the question. */
void infill_case_add_statements(struct infill_case *c, const char *answer, bool published);
/* Sets the SQL from a completion; one without a statement is noted. */
void infill_case_set_answer(struct infill_case *c, int64_t interpretation, const char *answer, bool published);
/* Sets the SQL from a known value (interpretation_sql.h).  Returns -1 with err. */
int infill_case_set_known(struct infill_case *c, int64_t interpretation, const json_t *sql, struct error *err);

/*
 * Executes all SQL and chooses the interpretations to keep: the first of those with the same result.  As published,
 * annotate_filter() chooses among the default interpretations, with numbers of `random`, and none is added.
 */
void infill_case_filter(struct infill_case *c, struct exec_db *db, struct python_random *random, bool published);
/* As published: keeps every added interpretation, except statements that there are none. */
void infill_case_keep_added(struct infill_case *c);
/* As published, for PROMPT_E2E: keeps all. */
void infill_case_keep_all(struct infill_case *c);
/* Number of dropped interpretations that never had SQL. */
int infill_case_without_sql(const struct infill_case *c);
/* Texts of the interpretations that are kept, one a line, or ANNOTATE_NONE_EXIST; and texts of all interpretations. The
 * caller frees them. */
char *infill_case_existing(const struct infill_case *c);
char *infill_case_texts(const struct infill_case *c);

/* The output record without its provenance, with at most ten rows of each result.  A new reference. */
json_t *infill_case_json(const struct infill_case *c, struct exec_db *db);
/* The output record of a case with an error: the error and the completions.  A case that a model did not answer keeps
 * its golds, and has no interpretations, so that it counts when the output is scored.  A new reference. */
json_t *infill_case_failed_json(const struct infill_case *c);

/*
 * Stage 0: the interpretations of an AmbiQT record in words.
 *
 * For each gold a model puts the gold's own name into the question (PROMPT_REWRITE).  The SQL of the rewritten question
 * must give the gold's rows and no others (F1 of 1 against this gold alone); otherwise the model is asked again.  A
 * record is complete when every gold has such a question.  The stage belongs to infilling since it shares its models
 * and files.
 */
/* A gold; its newest question is the interpretation of the same number. */
struct infill_gold {
    const char *sql; /* of the record */
    char *word;      /* name of the gold in words */
    int tries;       /* number of questions so far */
    bool accepted;
    const char *waits; /* missing input, or NULL; static */
};

/* A record of ambit-data ambiguate --materialise, of kind C or T, as {"id", "db_id", "source_db", "type", "question",
 * "golds": [{"sql", "word"}]}; a record that has golds with words as it is.  Takes the record; NULL with
 * EXIT_CODE_DATA. */
json_t *infill_rewrite_record(json_t *record, const char *where, struct error *err);
/* Reads golds and interpretations of a record of that form.  Returns -1 with EXIT_CODE_DATA; the case frees them. */
int infill_rewrite_read(struct infill_case *c, const char *where, struct error *err);
/* Id of the prompt for the next try of a gold.  A new reference. */
json_t *infill_rewrite_id(const struct infill_case *c, int64_t gold);
/* Returns -1 with EXIT_CODE_DATA when golds fail, or give the same rows or no rows: they then distinguish nothing. */
int infill_rewrite_check(const struct infill_case *c, struct exec_db *db, bool published, struct error *err);
/* Executes the SQL of a gold's newest question, which ends this try. */
void infill_rewrite_judge(struct infill_case *c, int gold, struct exec_db *db, bool published);
/* The record with the accepted questions, input of ambit-data infilling annotate.  A new reference. */
json_t *infill_rewrite_json(const struct infill_case *c);

#endif
