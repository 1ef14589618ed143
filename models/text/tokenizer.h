/*
 * tokenizer.h - converts text to token ids and back, exactly as Hugging Face's tokenizers library.
 *
 * A struct tokenizer is an opaque handle for one vocabulary: WordPiece (BERT), BPE (GPT-2, Llama, Qwen, DeepSeek) or
 * Unigram (T5). It does not change after it is opened, so threads may share it. Close it with tokenizer_close.
 *
 * Text is untrusted: names of special tokens in it ("[SEP]") remain plain text unless TOKENIZER_MATCH_SPECIALS is set.
 * In a BPE vocabulary that holds for all added tokens, because they all steer the model ("<tool_call>"). The caller
 * adds the special tokens around a sequence by id.
 *
 * Text is UTF-8. Each longest invalid sequence becomes U+FFFD (Python's errors="replace"); a normaliser that cleans
 * text, such as BERT's, then removes it.
 */
#ifndef MODELS_TEXT_TOKENIZER_H
#define MODELS_TEXT_TOKENIZER_H

#include "models/text/byte_buffer.h"
#include "models/text/normal_text.h"

/* Growing arrays. Start as { 0 }; set count to 0 to reuse one. */
struct ids {
    int32_t *items;
    int64_t count, cap;
};

struct token_spans {
    struct token_span *items;
    int64_t count, cap;
};

void ids_push(struct ids *ids, int32_t id);
void ids_release(struct ids *ids);
void token_spans_release(struct token_spans *spans);

enum special_token {
    SPECIAL_CLS,
    SPECIAL_SEP,
    SPECIAL_PAD,
    SPECIAL_UNK,
    SPECIAL_MASK,
    SPECIAL_BOS,
    SPECIAL_EOS,
    SPECIAL_COUNT
};

enum tokenizer_flags {
    TOKENIZER_MATCH_SPECIALS = 1, /* encode: special tokens in the text become their ids */
    TOKENIZER_SKIP_SPECIALS = 1,  /* decode: omit special tokens */
    TOKENIZER_EXACT_BYTES = 2     /* decode: keep invalid UTF-8 */
};

struct tokenizer;

/* Opens a model folder with tokenizer.json or vocab.txt. tokenizer_config.json and special_tokens_map.json are
 * optional. Settings of tokenizer_config.json for case, accents and CJK ideographs take precedence, as in transformers.
 * Truncation and padding are ignored. Returns NULL with EXIT_CODE_CHECKPOINT. */
struct tokenizer *tokenizer_open(const char *dir, struct error *err);
/* tokenizer_open for an encoder with `rows` embeddings: requires CLS, SEP, PAD and UNK, and ids below rows. */
struct tokenizer *tokenizer_open_encoder(const char *dir, int rows, struct error *err);
void tokenizer_close(struct tokenizer *t);

/* Appends the ids of text to out. Unless spans is NULL, appends the bytes of text that each id covers. Spans are the
 * offsets of Hugging Face's tokenizers, but in bytes, and correct where canonical ordering moved a mark. No special
 * tokens are added. Returns the number of ids appended; cannot fail. */
int64_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, unsigned flags, struct ids *out,
                         struct token_spans *spans);

/* Returns the text of the ids, joined by the decoder of tokenizer.json. Invalid UTF-8 becomes U+FFFD unless
 * TOKENIZER_EXACT_BYTES is set. Ids outside the vocabulary are ignored. The text ends in a zero byte; *length (may be
 * NULL) is its length. The caller frees it. */
char *tokenizer_decode(const struct tokenizer *t, const int32_t *ids, int64_t n, unsigned flags, size_t *length);

/* Incremental decoding: the concatenated parts equal the result of tokenizer_decode. Text that later ids may change is
 * held back, such as an incomplete character. */
struct tokenizer_stream {
    const struct tokenizer *t;
    unsigned flags;
    struct decoder_run *run;
    struct byte_buffer text;
};
void tokenizer_stream_start(struct tokenizer_stream *s, const struct tokenizer *t, unsigned flags);
/* Returns the text that becomes final with this id: *length bytes and a zero byte, valid until the next call. */
const char *tokenizer_stream_next(struct tokenizer_stream *s, int32_t id, size_t *length);
/* Returns the text that was held back; no more ids come. */
const char *tokenizer_stream_end(struct tokenizer_stream *s, size_t *length);
void tokenizer_stream_release(struct tokenizer_stream *s);

/* All ids are below this number. */
int32_t tokenizer_vocab_size(const struct tokenizer *t);
/* Returns the text of a token, such as "##ing", owned by t. NULL if id is outside the vocabulary. */
const char *tokenizer_token(const struct tokenizer *t, int32_t id);
/* Returns the id of a token, or -1. */
int32_t tokenizer_id(const struct tokenizer *t, const char *token);
/* Returns the id of a special token, or -1. WordPiece always has UNK. It has CLS, SEP, PAD and MASK if they are in the
 * vocabulary. A BPE has those that the folder names. */
int32_t tokenizer_special(const struct tokenizer *t, enum special_token which);

/* Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json into dir, which is created if needed. A
 * WordPiece has vocab.txt too. transformers reads the folder with identical results. The post-processor of a BPE
 * without CLS and SEP is not kept; that of a Unigram is. */
int tokenizer_save(const struct tokenizer *t, const char *dir, struct error *err);
/* tokenizer_save without vocab.txt, whose tokens are in tokenizer.json too. */
int tokenizer_save_json(const struct tokenizer *t, const char *dir, struct error *err);

#endif
