/*
 * tokenizer_read.h - what reading tokenizer.json and reading vocab.txt have in common; for the files of this folder
 * only.
 */
#ifndef MODELS_TOKENIZER_TOKENIZER_READ_H
#define MODELS_TOKENIZER_TOKENIZER_READ_H

#include "data/util/json.h"
#include "models/tokenizer/tokenizer_impl.h"

enum { TOKENIZER_MAX_PATH = 4096, TOKENIZER_MAX_WHERE = TOKENIZER_MAX_PATH + 64 };

/* A folder's parsed files; config and specials are NULL when they are missing. */
struct tokenizer_folder {
    const char *dir;
    char config_file[TOKENIZER_MAX_PATH];   /* tokenizer_config.json */
    char specials_file[TOKENIZER_MAX_PATH]; /* special_tokens_map.json */
    const json_t *config, *specials;
};

/* A boolean that may be absent or null.  Returns 1 when it was there, 0 when not, -1 on another type. */
int tokenizer_read_bool(const json_t *o, const char *field, bool *out, const char *where, struct error *err);
/* strip_accents: null leaves it to the case. */
int tokenizer_read_accents(const json_t *o, enum accents *out, const char *where, struct error *err);
/* One added token.  In tokenizer_config.json its id is the key of the object; give -1 where it is a field. */
int tokenizer_read_added(struct tokenizer *t, const json_t *o, int64_t id, const char *where, struct error *err);

/* The vocabulary of a model, token by id. */
int tokenizer_read_vocab(struct tokenizer *t, const json_t *model, const char *where, struct error *err);
/* A BPE model, once the pre-tokenizer is read. */
int tokenizer_read_bpe(struct tokenizer *t, const json_t *model, const char *where, struct error *err);
/* A Unigram model. */
int tokenizer_read_unigram(struct tokenizer *t, const json_t *model, const char *where, struct error *err);

/* What tokenizer_config.json says of case, accents and Chinese characters.  Returns 1 when that changes t, 0, or -1.
 * Of another tokenizer than BERT's it may only say what is so anyway. */
int tokenizer_read_config(struct tokenizer *t, const struct tokenizer_folder *f, struct error *err);
/* added_tokens_decoder of tokenizer_config.json, the only place a folder without tokenizer.json has for added tokens.
 */
int tokenizer_read_decoder(struct tokenizer *t, const struct tokenizer_folder *f, struct error *err);
/* The text of a special token as tokenizer_config.json, or else special_tokens_map.json, has it; *text is NULL when
 * neither does. */
int tokenizer_special_text(const struct tokenizer_folder *f, enum special_token which, const char **text,
                           struct error *err);
/* Looks up the special tokens and makes them added tokens; all that are named must be in the vocabulary, and when
 * `required` those of BERT but mask. */
int tokenizer_find_specials(struct tokenizer *t, const struct tokenizer_folder *f, bool required, struct error *err);

/* Ends an opening: t when rc is 0, else NULL, t closed and the exit code that of a bad model folder. */
struct tokenizer *tokenizer_opened(struct tokenizer *t, int rc, struct error *err);

#endif
