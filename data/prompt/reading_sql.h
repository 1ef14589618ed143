/*
 * reading_sql.h - SQL that is known for readings, found by database and text: what other models wrote, and what scores
 * a generated reading by execution where no model writes SQL.
 *
 * Texts are the same when they have the same letters: case, white space and punctuation at the end do not count.
 * A reading in other words is not found, so what is scored this way is a lower bound.  What a model answered to the
 * prompt for a reading is found by the prompt's id, which its very letters make.
 */
#ifndef DATA_PROMPT_READING_SQL_H
#define DATA_PROMPT_READING_SQL_H

#include "data/prompt/model_output.h"
#include "data/util/json.h"
#include "data/util/strings.h"

#include <jansson.h>

struct reading_sql {
    struct strings keys;
    json_t **sql; /* by key: a string, a list of strings, or {"answer"}: an answer without a statement */
    int cap;
};

/* JSONL of {"db_id", "text", "sql"}, of records whose "golds" and "readings" are lists of {"text", "sql"} (what
 * ambit-data annotate and reword write), or of {"id", "text"}: what a model answered to the prompt of this id, read by
 * output_sql; with "error" instead of "text" it is passed over.  The first SQL of a text counts.  -1 with
 * EXIT_CODE_DATA; the caller releases either way. */
int reading_sql_open(struct reading_sql *r, const char *path, bool published, struct error *err);
/* NULL when none is known; what was read as published and has no SQL is an empty list.  Borrowed. */
json_t *reading_sql_find(const struct reading_sql *r, const char *db_id, const char *text);
/* Of what reading_sql_find returns: the answer in which no statement was found, or NULL.  Borrowed. */
const char *reading_sql_unread(const json_t *sql);
/* The id of the prompt that asks for a reading's SQL; a new reference. */
json_t *reading_sql_id(const char *db_id, const char *text);
/* Keeps what a model answered to the prompt of that id, unless an answer to it is there. */
void reading_sql_add_answer(struct reading_sql *r, const char *id, const char *answer, bool published);
void reading_sql_release(struct reading_sql *r);

/*
 * What models elsewhere answered to the prompts of prompt.h, by the prompts' ids.
 *
 * A prompt may have several answers, where a model was asked again and again.  They are kept as they were.
 */

struct query_answers {
    struct strings ids;
    struct text_items *texts; /* of each id */
    int cap;
};

/* JSONL of {"id", "text"} or {"id", "texts": [{"text"} or a text]}, as ambit-infer generate writes them; records with
 * "error" instead are passed over.  -1 with EXIT_CODE_DATA; the caller releases either way. */
int query_answers_open(struct query_answers *a, const char *path, struct error *err);
/* The answers to the record's prompt; NULL when there are none.  5 and "5" are one id. */
const struct text_items *query_answers_find(const struct query_answers *a, const json_t *record);
void query_answers_release(struct query_answers *a);

#endif
