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

#endif
