/*
 * ambrosia.h - questions of AMBROSIA (Saparina and Lapata, NeurIPS 2024) as records that annotate.h reads.
 */
#ifndef DATA_CORPORA_AMBROSIA_H
#define DATA_CORPORA_AMBROSIA_H

#include "data/util/json.h"

/* Whether a record is one of its rows: it has "gold_queries". */
bool ambrosia_is_row(const json_t *record);

/*
 * {"db", "question", "ambig_type", "gold_queries", "gold_interpretations": [{"sql", "questions"}]} to {"id", "db_id",
 * "question", "golds": [{"sql", "text"}]}.  The i-th interpretation belongs to the i-th query, and its first question
 * is the gold's text; an unambiguous row has none.  Questions with an attachment end in "Show them in one table.",
 * which is added where it is missing.  The id is `number` where the row has none.  The caller owns the record; NULL
 * with EXIT_CODE_DATA.
 */
json_t *ambrosia_record(const json_t *row, int64_t number, const char *where, struct error *err);

/*
 * {"db", "question", "is_ambiguous", "ambig_type", "gold_queries"} as a label (labels.h): {"id", "db_id", "question",
 * "ambiguous", "kind", "sql"}, the id and the question as above, at most EXAMPLE_MAX_SQL statements.  The caller owns
 * it; NULL with EXIT_CODE_DATA.
 */
json_t *ambrosia_label(const json_t *row, int64_t number, const char *where, struct error *err);

#endif
