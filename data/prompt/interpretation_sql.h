/*
 * interpretation_sql.h - known SQL of interpretations, by database and text, and completions of prompts, by id.
 *
 * SQL that other models wrote is found here, and generated interpretations are scored without a model that writes SQL.
 * Two texts are equal except for case, white space and final punctuation. A paraphrase is not found, so such a score
 * is a lower bound. The id of a prompt for SQL is a hash of its database and text.
 */
#ifndef DATA_PROMPT_INTERPRETATION_SQL_H
#define DATA_PROMPT_INTERPRETATION_SQL_H

#include "data/base/json.h"
#include "data/base/strings.h"
#include "data/prompt/model_output.h"

#include <jansson.h>

struct interpretation_sql {
    struct strings keys;
    json_t **sql; /* by key: a string, a list of strings, or {"completion"}: a completion without a statement */
    int cap;
};

/* Reads JSONL of one of three forms: {"db_id", "text", "sql"}; records whose "golds" and "readings" are lists of
 * {"text", "sql"}; {"id", "text"}. The last is a completion of the prompt of this id, which output_sql reads. Records
 * with "error" are omitted. The first SQL of a text counts. -1 with EXIT_CODE_DATA. The caller releases either way. */
int interpretation_sql_open(struct interpretation_sql *r, const char *path, bool published, struct error *err);
/* The SQL of a text, or NULL. Published completions without SQL give an empty list. Borrowed. */
json_t *interpretation_sql_find(const struct interpretation_sql *r, const char *db_id, const char *text);
/* For a result of interpretation_sql_find: the completion without a statement, or NULL. Borrowed. */
const char *interpretation_sql_unread(const json_t *sql);
/* The id of the prompt for an interpretation's SQL; a new reference. */
json_t *interpretation_sql_id(const char *db_id, const char *text);
/* Adds a completion of the prompt of that id, unless one is present. */
void interpretation_sql_add_answer(struct interpretation_sql *r, const char *id, const char *answer, bool published);
void interpretation_sql_release(struct interpretation_sql *r);

/* Completions of the prompts of prompt.h by models outside ambit, by the prompts' ids. A prompt may have several
 * completions; they are kept unchanged. */

struct query_answers {
    struct strings ids;
    struct text_items *texts; /* [ids.n] */
    int cap;
};

/* Reads JSONL of {"id", "text"} or {"id", "texts": [{"text"} or a text]}, as ambit-infer generate writes it. Records
 * with "error" are omitted. -1 with EXIT_CODE_DATA. The caller releases either way. */
int query_answers_open(struct query_answers *a, const char *path, struct error *err);
/* The completions of the record's prompt, or NULL. 5 and "5" are one id. */
const struct text_items *query_answers_find(const struct query_answers *a, const json_t *record);
void query_answers_release(struct query_answers *a);

#endif
