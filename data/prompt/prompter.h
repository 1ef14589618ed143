/*
 * prompter.h - prompts about databases: the templates, and the text of every database that was asked about.
 */
#ifndef DATA_PROMPT_PROMPTER_H
#define DATA_PROMPT_PROMPTER_H

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

/* The rows of a command's table for prompter_options, whose offsets are given. */
#define PROMPTER_ROWS(dir_at, context_at, rows_at)                                                                     \
    { .name = "prompt-dir",                                                                                            \
      .type = OPTION_STRING,                                                                                           \
      .offset = (dir_at),                                                                                              \
      .value = "DIR",                                                                                                  \
      .help = "prompts in place of the built-in ones (ambit-data prompts writes those)" },                             \
        { .name = "context",                                                                                           \
          .type = OPTION_CHOICE,                                                                                       \
          .offset = (context_at),                                                                                      \
          .choices = PROMPTER_CONTEXTS,                                                                                \
          .value = "FORM",                                                                                             \
          .help = "databases in prompts: CREATE and INSERT; table: column, ... in words, for small models; as the "    \
                  "authors told "                                                                                      \
                  "AmbiQT's" },                                                                                        \
    {                                                                                                                  \
        .name = "rows", .type = OPTION_INT, .offset = (rows_at), .value = "N",                                         \
        .help = "rows of each table in a dump; -1: all, in the form ambiqt five", .low = -1, .high = 1e9               \
    }

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
