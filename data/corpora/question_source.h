/*
 * question_source.h - published questions of Spider, BIRD and AMBROSIA in one form, that of Spider.
 *
 * The field with the SQL identifies the corpus: "query" (Spider), "SQL" (BIRD) or "gold_queries" (AMBROSIA, one for
 * each interpretation).
 */
#ifndef DATA_CORPORA_QUESTION_SOURCE_H
#define DATA_CORPORA_QUESTION_SOURCE_H

#include "data/base/json.h"

/*
 * Converts a row to {"db_id", "question", "query"}, plus all other fields of Spider's and BIRD's rows and "ambig_type"
 * of AMBROSIA's. A question with several interpretations has "golds": [{"sql", "text"}, ...] instead of "query". The
 * field "corpus" is "bird" or "ambrosia"; Spider's rows are unchanged. `number` is the row's number in its file. The
 * caller owns the record. Returns NULL with EXIT_CODE_DATA; the message has the field and the expected value.
 */
json_t *question_from_row(json_t *row, int64_t number, const char *where, struct error *err);

#endif
