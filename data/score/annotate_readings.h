/*
 * annotate_readings.h - readings that a model gave, found by database and question, or its answer by the record's id.
 */
#ifndef DATA_SCORE_ANNOTATE_READINGS_H
#define DATA_SCORE_ANNOTATE_READINGS_H

#include "data/util/json.h"
#include "data/util/strings.h"

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
