/*
 * tokenizer_file.h - model folders: tokenizer.json, or else vocab.txt, and the files beside them.
 *
 * tokenizer.h opens and saves folders; these are its parts.
 */
#ifndef MODELS_TOKENIZER_TOKENIZER_FILE_H
#define MODELS_TOKENIZER_TOKENIZER_FILE_H

#include "models/tokenizer/tokenizer.h"

#include <jansson.h>

/* Ends an opening: t when rc is 0, else NULL, t closed and the exit code that of a bad model folder. */
struct tokenizer *tokenizer_opened(struct tokenizer *t, int rc, struct error *err);

enum { TOKENIZER_MAX_PATH = 4096 };

/* A folder's parsed files; config and specials are NULL when they are missing. */
struct tokenizer_folder {
    const char *dir;
    char config_file[TOKENIZER_MAX_PATH];   /* tokenizer_config.json */
    char specials_file[TOKENIZER_MAX_PATH]; /* special_tokens_map.json */
    const json_t *config, *specials;
};

/* From a parsed tokenizer.json, and from the bytes of a vocab.txt; f tells of the other files of the folder. */
struct tokenizer *tokenizer_from_json(const json_t *root, const struct tokenizer_folder *f, struct error *err);
struct tokenizer *tokenizer_from_lines(const char *text, size_t length, const struct tokenizer_folder *f,
                                       struct error *err);

#endif
