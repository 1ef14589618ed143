/*
 * tokenizer_impl.h - what a struct tokenizer holds; for models/tokenizer and models/tokenizer_train only.
 */
#ifndef MODELS_TOKENIZER_TOKENIZER_IMPL_H
#define MODELS_TOKENIZER_TOKENIZER_IMPL_H

#include "models/tokenizer/added_tokens.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/regex_split.h"
#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/wordpiece.h"
#include "models/unicode/bert_normalizer.h"

#include <jansson.h>

/* What a byte-level tokenizer has besides its vocabulary. */
struct byte_level {
    bool nfc;
    struct regex *split;
    struct bpe bpe;
};

struct tokenizer {
    enum { TOKENIZER_WORDPIECE, TOKENIZER_BYTE_LEVEL } kind;
    struct vocab vocab;   /* the model's tokens, then those that were only added */
    int32_t model_tokens; /* how many are the model's */
    struct byte_level byte_level;
    struct wordpiece wordpiece;
    struct bert_normalizer normalizer;
    struct added_token *added;
    int32_t *added_of; /* [model_tokens + ADDED_MAX_TOKENS] place in added by id, -1 for a token of the model alone */
    int32_t n_added, cap_added;
    struct added_set raw, normalized; /* what they match in raw text and in normalised text */
    int32_t special[SPECIAL_COUNT];
    bool cleanup; /* WordPiece: the decoder takes out blanks before punctuation */
};

/* Field names in tokenizer_config.json: "cls_token" ..., and the usual texts: "[CLS]" ..., NULL where there is none. */
extern const char *const special_token_fields[SPECIAL_COUNT];
extern const char *const special_token_texts[SPECIAL_COUNT];

/* An empty uncased BERT tokenizer: prefix "##", words of 100 characters, no tokens yet. */
struct tokenizer *tokenizer_new(void);
/* Ends the model's part of the vocabulary: builds its tables and looks up unk (WordPiece). */
int tokenizer_end_model(struct tokenizer *t, const char *unk, struct error *err);
/* Enters an added token, after tokenizer_end_model: token->id must be the vocabulary's for this text, or, when the text
 * is new, the next free one. */
int tokenizer_add_token(struct tokenizer *t, const char *text, const struct added_token *token, struct error *err);
/* Builds the rest once the options and the added tokens are there; t is ready then. */
int tokenizer_prepare(struct tokenizer *t, struct error *err);
/* Replaces out with the normalised bytes [start, end) of text. */
void tokenizer_normalize(const struct tokenizer *t, const char *text, int64_t start, int64_t end,
                         struct normal_text *out);
/* The added token of this id, or NULL; before tokenizer_prepare too. */
const struct added_token *tokenizer_added(const struct tokenizer *t, int32_t id);

/* tokenizer.json of a byte-level tokenizer but its version and added tokens; a new reference. */
json_t *tokenizer_byte_level_json(const struct tokenizer *t);

struct tokenizer_folder;
/* From a parsed tokenizer.json, and from the bytes of a vocab.txt; f tells of the other files of the folder. */
struct tokenizer *tokenizer_from_json(const json_t *root, const struct tokenizer_folder *f, struct error *err);
struct tokenizer *tokenizer_from_lines(const char *text, size_t length, const struct tokenizer_folder *f,
                                       struct error *err);

#endif
