/*
 * annotate.h - finds by execution which gold interpretations a model's interpretations cover; infilling learns the
 * others.
 *
 * A record has gold interpretations and a model's own readings, each with a text and SQL. All SQL runs on the record's
 * database. There are two rules:
 *
 * annotate_honest: the first SQL of a reading that runs is its meaning, compared by the strict rule of result_match.h.
 * Readings are dropped if they have no text, end with a colon, are SQL themselves, have no SQL that runs, or repeat
 * the meaning of an earlier reading.
 *
 * annotate_published: the rule of the authors of "Disambiguate First, Parse Later". Readings are dropped if they
 * contain one of 53 SQL keywords or signs, also within a word, or are shorter than half the question. The other SQL is
 * grouped by the cells of its results. Python's random.choice takes a reading from each group; one reading may be
 * taken twice. A gold is covered if it is the first that a SQL of a taken reading matches.
 */
#ifndef DATA_EVAL_ANNOTATE_H
#define DATA_EVAL_ANNOTATE_H

#include "data/base/json.h"
#include "data/base/python_random.h"
#include "data/base/strings.h"
#include "data/eval/trial.h"

enum { ANNOTATE_SEED = 42 }; /* of the published rule, once for a file */

#define ANNOTATE_ALL_COVERED "All possible interpretations are covered"
#define ANNOTATE_NONE_EXIST "No existing interpretations available"

struct annotate_gold {
    const char *text, *sql; /* text may be NULL */
    int covered_by;         /* index of a reading, or -1 */
};

struct annotate_interpretation {
    const char *text;
    int first, n;        /* range in the record's SQL */
    const char *dropped; /* the reason, or NULL; static */
    int same_as;         /* index of the earlier reading that it repeats, or -1 */
};

/* Texts are borrowed from the JSON. */
struct annotation {
    const char *db_id, *question;
    struct annotate_gold *golds;
    struct annotate_interpretation *interpretations;
    struct trial_texts gold_sql, sql; /* sql: of all readings, concatenated */
    int n_golds, n_interpretations;
    int *existing; /* kept readings, in order */
    int n_existing, existing_cap;
};

/* Reads a record {"db_id", "question", "golds": [{"sql", "text"}], "readings": [{"text", "sql"}]}; "readings" is
 * optional. A single gold without a text gets the question. -1 with EXIT_CODE_DATA. The caller releases either way. */
int annotation_read(struct annotation *a, const json_t *record, const char *where, struct error *err);
void annotation_release(struct annotation *a);

/* Both run a trial and fill covered_by, dropped, same_as and existing. -1 with EXIT_CODE_DATA if a gold fails or
 * equals another. */
int annotate_honest(struct annotation *a, struct exec_db *db, struct error *err);
/* Samples from `random` also on failure, so that later records are unaffected. */
int annotate_published(struct annotation *a, struct exec_db *db, struct python_random *random, struct error *err);

/* The targets of training records. The authors train two other systems, which see no existing interpretations.
 * ANNOTATE_E2E writes the SQL of all interpretations, separated by empty lines (PROMPT_E2E). ANNOTATE_GOLD writes
 * their texts, one a line (PROMPT_GOLD). ANNOTATE_PAIRS writes each text and, on the next line,
 * its SQL with a semicolon (PROMPT_PAIRS). Empty lines separate the pairs. The completions of IntentRL hold such pairs
 * (Saparina and Lapata 2025, arXiv 2511.10453). */
enum annotate_target { ANNOTATE_INFILL, ANNOTATE_E2E, ANNOTATE_GOLD, ANNOTATE_PAIRS };
/* Names of the targets, which are also the field "task" of the records. */
extern const char *const annotate_targets[];

/* Checks that the golds run and differ, by the published or the strict rule. -1 with EXIT_CODE_DATA. */
int annotate_golds(const struct annotation *a, struct exec_db *db, bool published, struct error *err);
/* The fields target and golds of a training record of a target other than INFILL. NULL with EXIT_CODE_DATA if GOLD
 * or PAIRS lacks a text. */
json_t *annotation_target_json(const struct annotation *a, enum annotate_target target, struct error *err);

/* The filters alone, on a trial of all the record's SQL. They fill existing and dropped; the honest one also same_as.
 */
void annotate_honest_filter(struct annotation *a, const struct trial *t, struct exec_db *db);
void annotate_filter(struct annotation *a, const struct trial *t, struct python_random *random);
/* Whether the published rule drops a text for a keyword. */
bool annotate_has_keyword(const char *text);
/* The length of a text in code points. */
int64_t annotate_length(const char *text);

/* The fields existing, existing_text, missing, target, golds and readings of a training record. NULL with
 * EXIT_CODE_DATA if a missing gold has no text. */
json_t *annotation_json(const struct annotation *a, struct error *err);

/* Runs the trial of all SQL of a record. */
void annotate_trial(struct trial *t, const struct annotation *a, enum trial_rule rule, struct exec_db *db);

/* A model's interpretations, found by database and question, or its completions, found by the record's id. */

struct annotate_interpretations {
    struct strings keys;
    json_t **lists; /* by key: [{"text", "sql"}], or an unread completion */
    int cap;
};

/* Reads JSONL of {"db_id", "question", "readings": [{"text", "sql"}]}, JSONL of completions {"id", "text"}, or a
 * published prediction file (dfpl.h). Records with "error" are omitted. -1 with EXIT_CODE_DATA. The caller releases
 * either way. */
int annotate_interpretations_open(struct annotate_interpretations *r, const char *path, struct error *err);
/* NULL if there are none. For a database DOMAIN__NAME, NAME is tried too, as published files have it. Borrowed. */
json_t *annotate_interpretations_find(const struct annotate_interpretations *r, const char *db_id,
                                      const char *question);
/* The completion for the record of this id, or NULL. 5 and "5" are one id. Borrowed. */
const char *annotate_interpretations_answer(const struct annotate_interpretations *r, const json_t *id);
/* The error line {"id", "error"} in place of that completion, or NULL. Borrowed. */
const char *annotate_interpretations_error(const struct annotate_interpretations *r, const json_t *id);
void annotate_interpretations_release(struct annotate_interpretations *r);

#endif
