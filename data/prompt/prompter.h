/*
 * prompter.h - prompts about databases: the templates, and the text of every database that was asked about.
 */
#ifndef DATA_PROMPT_PROMPTER_H
#define DATA_PROMPT_PROMPTER_H

#include "data/cli/option_rows.h"
#include "data/prompt/db_text.h"
#include "data/prompt/prompt.h"
#include "data/util/strings.h"

#include <jansson.h>

struct prompter_options {
    const char *dir;     /* of templates; NULL: the built-in ones */
    const char *context; /* one of PROMPTER_CONTEXTS */
    int64_t rows;        /* as db_text takes it */
};

#define PROMPTER_CONTEXTS "dump|compact|ambiqt"
#define PROMPTER_DEFAULTS                                                                                              \
    {                                                                                                                  \
        .context = "dump", .rows = -1                                                                                  \
    }

/* The rows of a command's table for its prompter_options: AT(prompt) is their offset. */
/* clang-format off */
#define PROMPTER_AT(at, field) ((at) + offsetof(struct prompter_options, field))
#define PROMPTER_OPTIONS(at) \
    STRING_OPTION("prompt-dir", PROMPTER_AT(at, dir), "DIR", \
                  "prompts in place of the built-in ones (ambit-data prompts writes those)"), \
    WORD_OPTION("context", PROMPTER_AT(at, context), "FORM", PROMPTER_CONTEXTS, \
                "databases in prompts: CREATE and INSERT; table: column, ... in words, for small models; as the " \
                "authors told AmbiQT's"), \
    INT_OPTION("rows", PROMPTER_AT(at, rows), "N", -1, 1e9, \
               "rows of each table in a dump; -1: all, in the form ambiqt five")
/* clang-format on */

struct prompter {
    struct prompts prompts;
    enum db_text_form form;
    int64_t rows;
    struct strings paths;
    char **texts; /* [paths.n], NULL where it failed */
    int cap;
    size_t bytes; /* of the texts */
};

/* -1 as prompts_open; released by the caller either way. */
int prompter_open(struct prompter *p, const struct prompter_options *o, struct error *err);
void prompter_release(struct prompter *p);

/* The text of the database at path, the prompter's own until the next call; NULL with EXIT_CODE_DATA. */
const char *prompter_database(struct prompter *p, const char *path, struct error *err);
/* [{"role": "user", "content": the filled prompt}], and the assistant's answer behind it unless that is NULL. */
json_t *prompter_messages(const struct prompter *p, enum prompt_kind kind, const char *const *slots,
                          const char *answer);

/*
 * Worked examples in a prompt for the SQL of all readings: other questions that are ambiguous, their
 * databases cut to the tables that the SQL says, their SQL, and each reading alone with its own.
 *
 * Which ones follows from the seed and the record's id, so that a question has the same examples whatever else is
 * asked, and no two questions need have the same.  (The authors draw three once for a run, with Python's random.sample
 * over a table that is grouped by question.)
 */

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
