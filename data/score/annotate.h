/*
 * annotate.h - which readings of a question a model already has, by execution: what it lacks is what infilling learns.
 *
 * A record has gold readings (a text and a SQL each) and the model's own readings (a text and the SQL written for it).
 * All SQL runs on the record's database.  Two ways to go on from there:
 *
 * annotate_honest     A reading means what the first of its SQLs that runs returns, by the strict rule of
 * result_match.h. Dropped are readings without text, introductions (a text that ends with a colon), texts that are SQL
 * themselves (they run), readings of which no SQL runs, and all but the first of those with the same meaning.
 * annotate_published  As the authors of "Disambiguate First, Parse Later" do it.  Dropped are texts with one of 53
 *                     capital words or signs of SQL in them, be it within a word, and texts shorter than half the
 *                     question.  The SQLs of the rest are grouped by the cells of their results, empty ones in one
 *                     group; from each group Python's random.choice takes one reading, so that a reading may be taken
 *                     twice.  A gold is covered when it is the first that a SQL of a taken reading matches.
 */
#ifndef DATA_SCORE_ANNOTATE_H
#define DATA_SCORE_ANNOTATE_H

#include "data/score/trial.h"
#include "data/stats/python_random.h"
#include "data/util/json.h"
#include "data/util/strings.h"

enum { ANNOTATE_SEED = 42 }; /* of the published filter, once for a file */

#define ANNOTATE_ALL_COVERED "All possible interpretations are covered"
#define ANNOTATE_NONE_EXIST "No existing interpretations available"

struct annotate_gold {
    const char *text, *sql; /* text NULL: not told */
    int covered_by;         /* a reading, or -1 */
};

struct annotate_reading {
    const char *text;
    int first, n;        /* its part of the record's SQL */
    const char *dropped; /* why, or NULL; not freed */
    int same_as;         /* the earlier reading that it repeats, or -1 */
};

/* Texts are borrowed from the JSON it was read from. */
struct annotation {
    const char *db_id, *question;
    struct annotate_gold *golds;
    struct annotate_reading *readings;
    struct trial_texts gold_sql, sql; /* sql: of all readings, end to end */
    int n_golds, n_readings;
    int *existing; /* readings that are kept, in order */
    int n_existing, existing_cap;
};

/* From a record {"db_id", "question", "golds": [{"sql", "text"}], "readings": [{"text", "sql"}]}; "readings" may be
 * missing.  A single gold without a text has the question's.  -1 with EXIT_CODE_DATA; either way the caller releases.
 */
int annotation_read(struct annotation *a, const json_t *record, const char *where, struct error *err);
void annotation_release(struct annotation *a);

/* Both run a trial and fill what stands after the texts above.  -1 with EXIT_CODE_DATA when a gold cannot be executed
 * or told from another. */
int annotate_honest(struct annotation *a, struct exec_db *db, struct error *err);
/* Draws from `random` whatever happens, so that later records get what they should. */
int annotate_published(struct annotation *a, struct exec_db *db, struct python_random *random, struct error *err);

/*
 * The other two systems that the authors train write all at once, and are taught nothing of what exists:
 *   ANNOTATE_E2E   the SQL of all readings, an empty line between two (PROMPT_E2E)
 *   ANNOTATE_GOLD  their texts, one a line (PROMPT_GOLD)
 */
enum annotate_target { ANNOTATE_INFILL, ANNOTATE_E2E, ANNOTATE_GOLD };

/* Whether the golds run and are told apart, by the published rule or the strict one; -1 with EXIT_CODE_DATA. */
int annotate_golds(const struct annotation *a, struct exec_db *db, bool published, struct error *err);
/* Fields of a training record of E2E or GOLD: target, golds.  NULL with EXIT_CODE_DATA where GOLD lacks a text. */
json_t *annotation_target_json(const struct annotation *a, enum annotate_target target, struct error *err);

/* The filters alone, on a trial of all the record's SQL: they fill existing and dropped, and same_as the honest one. */
void annotate_honest_filter(struct annotation *a, const struct trial *t, struct exec_db *db);
void annotate_filter(struct annotation *a, const struct trial *t, struct python_random *random);
/* Whether the published filter drops a text for a word in it. */
bool annotate_has_keyword(const char *text);
/* Length of a text in characters. */
int64_t annotate_length(const char *text);

/* Fields of the training record: existing, existing_text, missing, target, golds, readings.  NULL with EXIT_CODE_DATA
 * when a gold that is missing has no text. */
json_t *annotation_json(const struct annotation *a, struct error *err);

/* The trial of all that a record has. */
void annotate_trial(struct trial *t, const struct annotation *a, enum trial_rule rule, struct exec_db *db);

/*
 * Readings that a model gave, found by database and question, or its answer by the record's id.
 */

struct annotate_readings {
    struct strings keys;
    json_t **lists; /* by key: [{"text", "sql"}], or an answer as it was written */
    int cap;
};

/* JSONL of {"db_id", "question", "readings": [{"text", "sql"}]} or of {"id", "text"} (what ambit-infer generate
 * writes; records with "error" instead are passed over), or a published prediction file (dfpl.h), whose databases are
 * named by their files.  -1 with EXIT_CODE_DATA; either way the caller releases. */
int annotate_readings_open(struct annotate_readings *r, const char *path, struct error *err);
/* NULL when there are none.  Where a database is called DOMAIN__NAME its NAME is looked for too: the published files
 * have it so.  Borrowed. */
json_t *annotate_readings_find(const struct annotate_readings *r, const char *db_id, const char *question);
/* The answer to the record of this id (a string or a number, 5 and "5" being one); NULL when there is none.
 * Borrowed. */
const char *annotate_readings_answer(const struct annotate_readings *r, const json_t *id);
void annotate_readings_release(struct annotate_readings *r);

#endif
