/*
 * infill_case.h - one question on its way through infilling: its readings, what is known of each, what is left.
 */
#ifndef INFER_INFILL_INFILL_CASE_H
#define INFER_INFILL_INFILL_CASE_H

#include "data/prompt/model_output.h"
#include "data/score/annotate.h"
#include "infer/infill/infill_rewrite.h"

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
/* A default reading without SQL; and another one in its place, the first that an answer has, whose SQL is not known: ""
 * where it has none. */
void infill_case_add_text(struct infill_case *c, const char *text);
void infill_case_set_text(struct infill_case *c, int64_t reading, const char *answer, bool published);
/* The readings that an answer to PROMPT_CORRECT leaves, in place of the default ones; those of the same text keep their
 * SQL. */
void infill_case_correct(struct infill_case *c, const char *answer, bool published);
/* Of an answer to PROMPT_E2E: each of its statements as a reading in the question's own words. */
void infill_case_add_statements(struct infill_case *c, const char *answer, bool published);
/* From a string or a list of them. */
int infill_reading_set_sql(struct infill_reading *r, const json_t *sql, const char *from, struct error *err);
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

#endif
