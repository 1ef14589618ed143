/*
 * shots.h - worked examples in a prompt for the SQL of all readings: other questions that are ambiguous, their
 * databases cut to the tables that the SQL says, their SQL, and each reading alone with its own.
 *
 * Which ones follows from the seed and the record's id, so that a question has the same examples whatever else is
 * asked, and no two questions need have the same.  (The authors draw three once for a run, with Python's random.sample
 * over a table that is grouped by question.)
 */
#ifndef DATA_PROMPT_SHOTS_H
#define DATA_PROMPT_SHOTS_H

#include "data/prompt/prompter.h"

struct shots_request {
    const char *path,
        *db; /* JSONL of {"db_id", "question", "golds": [{"text", "sql"}]} or AMBROSIA's rows; db_path.h */
    const struct prompter_options *prompt;
    int64_t n, seed; /* examples of a prompt */
};

/* Start as { 0 }. */
struct shots {
    struct shots_request q;
    json_t **records; /* those with several golds */
    char **texts;     /* [count] of each that was shown */
    int count, cap;
    struct prompter prompter;
};

/* -1 with EXIT_CODE_DATA: a record without the fields, fewer than q->n that are ambiguous.  q's strings are borrowed;
 * the caller releases either way. */
int shots_open(struct shots *s, const struct shots_request *q, struct error *err);
/* The examples for a record, none of its own question; the caller frees.  NULL with EXIT_CODE_DATA. */
char *shots_text(struct shots *s, const json_t *record, struct error *err);
void shots_release(struct shots *s);

#endif
