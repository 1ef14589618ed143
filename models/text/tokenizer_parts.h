/*
 * tokenizer_parts.h - struct tokenizer, and functions that build one; for the files of models/text
 * only.
 *
 * A tokenizer is built in this order: tokenizer_new, tokenizer_read_parts or tokenizer_bert_parts, the vocabulary,
 * tokenizer_end_model, added tokens, tokenizer_prepare. It does not change afterwards. Errors have EXIT_CODE_CHECKPOINT
 * or EXIT_CODE_DATA.
 */
#ifndef MODELS_TEXT_TOKENIZER_PARTS_H
#define MODELS_TEXT_TOKENIZER_PARTS_H

#include "models/text/bpe.h"
#include "models/text/decoder.h"
#include "models/text/normalizer.h"
#include "models/text/pre_tokenizer.h"
#include "models/text/tokenizer.h"
#include "models/text/unigram.h"
#include "models/text/wordpiece.h"

#include <jansson.h>

/* Added tokens are cut out of the text before the model sees it, as in AddedVocabulary of Hugging Face's tokenizers.
 * The leftmost-longest match counts; single_word may reject it, and lstrip and rstrip widen it. Tokens with
 * `normalized` are matched against normalised text, the others against raw text. */
enum { ADDED_MAX_TOKENS = 1 << 13 };

struct added_token {
    int32_t id;
    bool special, normalized, single_word, lstrip, rstrip;
};

struct added_pattern {
    char *text;
    int64_t length;
    struct added_token token;
};

struct added_set {
    struct added_pattern *items; /* sorted by text */
    int32_t count, cap;
    bool starts[256]; /* bytes that start a pattern */
};

struct tokenizer {
    enum { TOKENIZER_WORDPIECE, TOKENIZER_BPE, TOKENIZER_UNIGRAM } model_type;
    struct normalizer normalizer;
    struct pre_tokenizer pre_tokenizer;
    struct vocab vocab;   /* the model's tokens, then tokens that were only added */
    int32_t model_tokens; /* number of the model's tokens */
    struct bpe bpe;
    struct wordpiece wordpiece;
    struct unigram unigram;
    struct decoder decoder;
    json_t *parts; /* normalizer, pre_tokenizer, decoder and post_processor as they were read */
    struct added_token *added;
    int32_t *added_of; /* [model_tokens + ADDED_MAX_TOKENS] index into added by id, -1 for other tokens */
    int32_t n_added, cap_added;
    struct added_set raw, normalized; /* added tokens that are matched against raw and against normalised text */
    int32_t special[SPECIAL_COUNT];
};

/* Names of special tokens in tokenizer_config.json ("cls_token"), and their usual texts ("[CLS]"), or NULL. */
extern const char *const special_token_fields[SPECIAL_COUNT];
extern const char *const special_token_texts[SPECIAL_COUNT];

/* Returns a tokenizer without parts and tokens. Its WordPiece settings are the prefix "##" and words of at most 100
 * characters. */
struct tokenizer *tokenizer_new(void);
/* Reads normaliser, pre-tokenizer and decoder of a tokenizer.json. */
int tokenizer_read_parts(struct tokenizer *t, const json_t *root, const char *where, struct error *err);
/* Sets the parts of an uncased BERT. */
void tokenizer_bert_parts(struct tokenizer *t);
/* Ends the model's vocabulary: builds its tables and looks up the unknown token. unk may be NULL for a BPE. */
int tokenizer_end_model(struct tokenizer *t, const char *unk, struct error *err);
/* Adds an added token. token->id must be the id of this text in the vocabulary, or the next free id for a new text. */
int tokenizer_add_token(struct tokenizer *t, const char *text, const struct added_token *token, struct error *err);
/* Builds the sets of added tokens. t is ready afterwards. */
int tokenizer_prepare(struct tokenizer *t, struct error *err);
/* Splits a text into the pieces that the model would encode. */
void tokenizer_pieces(const struct tokenizer *t, const char *text, int64_t length, pre_tokenizer_emit_fn *emit,
                      void *to);
/* Returns the added token with this id, or NULL. May be called before tokenizer_prepare. */
const struct added_token *tokenizer_added(const struct tokenizer *t, int32_t id);

#endif
