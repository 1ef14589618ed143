/*
 * prompter.h - fills prompts about databases: the templates, the text of every database in use, and few-shot examples.
 *
 * Texts of databases are cached. A prompter belongs to one thread.
 */
#ifndef DATA_PROMPT_PROMPTER_H
#define DATA_PROMPT_PROMPTER_H

#include "data/base/option_rows.h"
#include "data/base/strings.h"
#include "data/prompt/db_text.h"
#include "data/prompt/prompt.h"

#include <jansson.h>

struct prompter_options {
    const char *dir;     /* folder of templates, or NULL: the built-in ones */
    const char *context; /* one of PROMPTER_CONTEXTS */
    int64_t rows;        /* maximum rows of a table, as db_text takes them */
};

#define PROMPTER_CONTEXTS "dump|compact|ambiqt"
#define PROMPTER_DEFAULTS                                                                                              \
    {                                                                                                                  \
        .context = "dump", .rows = -1                                                                                  \
    }

/* Option rows for a command's prompter_options; at is their offset. */
/* clang-format off */
#define PROMPTER_AT(at, field) ((at) + offsetof(struct prompter_options, field))
#define PROMPTER_OPTIONS(at) \
    STRING_OPTION("prompt-dir", PROMPTER_AT(at, dir), "DIR", \
                  "prompts in place of the built-in ones (ambit-data infilling prompts writes those)"), \
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
    char **texts; /* [paths.n] NULL: the database could not be read */
    int cap;
    size_t bytes; /* of all texts */
};

/* -1 as prompts_open. The caller releases either way. */
int prompter_open(struct prompter *p, const struct prompter_options *o, struct error *err);
void prompter_release(struct prompter *p);

/* The text of the database at path, valid until the next call. NULL with EXIT_CODE_DATA. */
const char *prompter_database(struct prompter *p, const char *path, struct error *err);
/* [{"role": "user", "content": the filled prompt}], followed by the assistant's answer unless it is NULL. A new
 * reference. */
json_t *prompter_messages(const struct prompter *p, enum prompt_kind kind, const char *const *slots,
                          const char *answer);

/*
 * Few-shot examples in a prompt for the SQL of all interpretations. They are other ambiguous questions with their SQL,
 * each interpretation with its own SQL, and databases reduced to the tables that the SQL mentions.
 *
 * The choice depends on the seed and the record's id alone, so a question has the same examples in every run. (The
 * authors sample three once per run, with Python's random.sample over a table grouped by question.)
 */

struct shots_request {
    const char *path,
        *db; /* JSONL of {"db_id", "question", "golds": [{"text", "sql"}]} or rows of AMBROSIA; db as in db_path.h */
    const struct prompter_options *prompt;
    int64_t n, seed; /* number of examples in a prompt */
};

/* Start as { 0 }. */
struct shots {
    struct shots_request q;
    json_t **records; /* those with several golds */
    char **texts;     /* [count] texts of the examples shown so far */
    int count, cap;
    struct prompter prompter;
};

/* -1 with EXIT_CODE_DATA: a record lacks the fields, or fewer than q->n are ambiguous. Strings of q are borrowed. The
 * caller releases either way. */
int shots_open(struct shots *s, const struct shots_request *q, struct error *err);
/* The examples for a record, none with its own question. The caller frees. NULL with EXIT_CODE_DATA. */
char *shots_text(struct shots *s, const json_t *record, struct error *err);
void shots_release(struct shots *s);

#endif
