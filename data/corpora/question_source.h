/*
 * question_source.h - questions with gold SQL from files of Spider, BIRD and AMBROSIA, as they are published.
 *
 * Each record says by its fields whose it is: Spider's SQL stands in "query", BIRD's in "SQL", AMBROSIA's in
 * "gold_queries", one for each reading.  All come out in one form, Spider's.
 */
#ifndef DATA_CORPORA_QUESTION_SOURCE_H
#define DATA_CORPORA_QUESTION_SOURCE_H

#include "data/util/json.h"

/*
 * {"db_id", "question", "query"} and whatever else a row of Spider or BIRD has; of AMBROSIA "ambig_type" too, and, in
 * place of "query", "golds": [{"sql", "text"}, ...] where a question has several readings.  "corpus" says "bird" or
 * "ambrosia"; Spider's rows stay as they are.  number is the row's in its file.  The caller owns the record; NULL with
 * EXIT_CODE_DATA naming field and what was expected.
 */
json_t *question_from_row(json_t *row, int64_t number, const char *where, struct error *err);

#endif
