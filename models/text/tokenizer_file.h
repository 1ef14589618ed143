/*
 * tokenizer_file.h - the parts of tokenizer_open: reads tokenizer.json or vocab.txt and the files beside them.
 *
 * Functions return a tokenizer that the caller closes, or NULL with EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_TEXT_TOKENIZER_FILE_H
#define MODELS_TEXT_TOKENIZER_FILE_H

#include "models/text/tokenizer.h"

#include <jansson.h>

/* Ends an opening. Returns t if rc is 0. Otherwise closes t, turns EXIT_CODE_DATA into EXIT_CODE_CHECKPOINT and returns
 * NULL. */
struct tokenizer *tokenizer_opened(struct tokenizer *t, int rc, struct error *err);

enum { TOKENIZER_MAX_PATH = 4096 };

/* The parsed files of a folder. config and specials are NULL if the files are missing. */
struct tokenizer_folder {
    const char *dir;
    char config_file[TOKENIZER_MAX_PATH];   /* path of tokenizer_config.json */
    char specials_file[TOKENIZER_MAX_PATH]; /* path of special_tokens_map.json */
    const json_t *config, *specials;
};

/* Builds a tokenizer from a parsed tokenizer.json, or from the bytes of a vocab.txt. f has the other files. */
struct tokenizer *tokenizer_from_json(const json_t *root, const struct tokenizer_folder *f, struct error *err);
struct tokenizer *tokenizer_from_lines(const char *text, size_t length, const struct tokenizer_folder *f,
                                       struct error *err);

#endif
