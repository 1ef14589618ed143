/*
 * tokenizer_parts.h - what a struct tokenizer holds, and how one is built; for models/tokenizer and
 * models/tokenizer_train only.
 */
#ifndef MODELS_TOKENIZER_TOKENIZER_PARTS_H
#define MODELS_TOKENIZER_TOKENIZER_PARTS_H

#include "models/pipeline/decoder.h"
#include "models/pipeline/normalizer.h"
#include "models/pipeline/pre_tokenizer.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/unigram.h"
#include "models/tokenizer/wordpiece.h"

#include <jansson.h>

/* Tokens cut out of the text before the model sees it.
 *
 * Matching is leftmost-longest and stops at nothing; single_word, lstrip and rstrip then judge or widen a match, as in
 * tokenizers' AddedVocabulary.  Tokens that are matched against raw text and those matched against normalised text are
 * two separate sets. */
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
    bool starts[256]; /* bytes a pattern starts with */
};

struct tokenizer {
    enum { TOKENIZER_WORDPIECE, TOKENIZER_BPE, TOKENIZER_UNIGRAM } kind;
    struct normalizer normalizer;
    struct pre_tokenizer pre_tokenizer;
    struct vocab vocab;   /* the model's tokens, then those that were only added */
    int32_t model_tokens; /* how many are the model's */
    struct bpe bpe;
    struct wordpiece wordpiece;
    struct unigram unigram;
    struct decoder decoder;
    json_t *parts; /* normalizer, pre_tokenizer, decoder and post_processor as they were read */
    struct added_token *added;
    int32_t *added_of; /* [model_tokens + ADDED_MAX_TOKENS] place in added by id, -1 for a token of the model alone */
    int32_t n_added, cap_added;
    struct added_set raw, normalized; /* what they match in raw text and in normalised text */
    int32_t special[SPECIAL_COUNT];
};

/* Field names in tokenizer_config.json: "cls_token" ..., and the usual texts: "[CLS]" ..., NULL where there is none. */
extern const char *const special_token_fields[SPECIAL_COUNT];
extern const char *const special_token_texts[SPECIAL_COUNT];

/* No parts and no tokens yet; WordPiece with the prefix "##" and words of 100 characters. */
struct tokenizer *tokenizer_new(void);
/* Reads the parts around the model out of a tokenizer.json. */
int tokenizer_read_parts(struct tokenizer *t, const json_t *root, const char *where, struct error *err);
/* The same of an uncased BERT. */
void tokenizer_bert_parts(struct tokenizer *t);
/* Ends the model's part of the vocabulary: builds its tables and looks up unk, which BPE may do without (NULL). */
int tokenizer_end_model(struct tokenizer *t, const char *unk, struct error *err);
/* Enters an added token, after tokenizer_end_model: token->id must be the vocabulary's for this text, or, when the text
 * is new, the next free one. */
int tokenizer_add_token(struct tokenizer *t, const char *text, const struct added_token *token, struct error *err);
/* Builds the rest once the options and the added tokens are there; t is ready then. */
int tokenizer_prepare(struct tokenizer *t, struct error *err);
/* The pieces of a text that the model would see. */
void tokenizer_pieces(const struct tokenizer *t, const char *text, int64_t length, pre_tokenizer_emit_fn *emit,
                      void *to);
/* The added token of this id, or NULL; before tokenizer_prepare too. */
const struct added_token *tokenizer_added(const struct tokenizer *t, int32_t id);

#endif
