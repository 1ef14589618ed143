/*
 * tokenizer.h - text into token ids and back, exactly as Hugging Face's tokenizers do it.
 *
 * One opaque handle per vocabulary; what it does to a text, what kind of model it holds, WordPiece (BERT), BPE
 * (GPT-2, Llama, Qwen, DeepSeek) or Unigram (T5), and how it joins tokens is the handle's own business.  A handle never
 * changes after it was opened, so any number of threads may encode with it at once.  The text of a question is a
 * stranger's: names of special tokens in it ("[SEP]") stay text unless TOKENIZER_MATCH_SPECIALS asks for Hugging Face's
 * behaviour; with BPE, whose added tokens all steer the model ("<tool_call>"), that goes for added tokens which are not
 * called special too. The special tokens around a sequence are the caller's to add, by id.
 *
 * Text is UTF-8.  Bytes that are not valid UTF-8 become U+FFFD, one for each longest invalid part (Python's
 * errors="replace"); a normaliser that cleans text, as BERT's does, then drops them.
 */
#ifndef MODELS_TOKENIZER_TOKENIZER_H
#define MODELS_TOKENIZER_TOKENIZER_H

#include "models/pipeline/byte_buffer.h"
#include "models/unicode/normal_text.h"

/* Growing arrays; start them as { 0 }.  count may be set back to 0 to use one again. */
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
    TOKENIZER_MATCH_SPECIALS = 1, /* encode: special tokens named in the text become their ids */
    TOKENIZER_SKIP_SPECIALS = 1,  /* decode: leave special tokens out */
    TOKENIZER_EXACT_BYTES = 2     /* decode: bytes that are not UTF-8 stay as they are */
};

struct tokenizer;

/* Opens a model folder: tokenizer.json, which says of what kind it is, or else vocab.txt; tokenizer_config.json and
 * special_tokens_map.json are optional beside either, and what the former says of case, accents and Chinese characters
 * wins, as in transformers. Truncation and padding settings are ignored.  NULL with EXIT_CODE_CHECKPOINT. */
struct tokenizer *tokenizer_open(const char *dir, struct error *err);
/* The same for an encoder of `rows` embeddings, which needs CLS, SEP, PAD and UNK and no id beyond its rows. */
struct tokenizer *tokenizer_open_encoder(const char *dir, int rows, struct error *err);
void tokenizer_close(struct tokenizer *t);

/* Appends the ids of text to out and, unless spans is NULL, where each came from to spans: tokenizers' offsets, but in
 * bytes, and true to the text where canonical order moved a mark.  No special tokens are added.  Returns how many ids
 * were appended; cannot fail. */
int64_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, unsigned flags, struct ids *out,
                         struct token_spans *spans);

/* The text of the ids, joined as the decoder of tokenizer.json says; bytes that make no UTF-8 become U+FFFD unless
 * TOKENIZER_EXACT_BYTES.  Ids outside the vocabulary are left out.  A zero byte stands behind, *length (may be NULL)
 * counts those within.  The caller frees. */
char *tokenizer_decode(const struct tokenizer *t, const int32_t *ids, int64_t n, unsigned flags, size_t *length);

/* Decoding id by id, as a model makes them: the parts one after the other are what tokenizer_decode gives.  What later
 * ids may change is held back: a character whose bytes have not all come, or more where the decoder asks for it. */
struct tokenizer_stream {
    const struct tokenizer *t;
    unsigned flags;
    struct decoder_run *run;
    struct byte_buffer text;
};
void tokenizer_stream_start(struct tokenizer_stream *s, const struct tokenizer *t, unsigned flags);
/* The text that id makes known, *length bytes and a zero behind them, good until the next call. */
const char *tokenizer_stream_next(struct tokenizer_stream *s, int32_t id, size_t *length);
/* The same when no more ids come: what was held back. */
const char *tokenizer_stream_end(struct tokenizer_stream *s, size_t *length);
void tokenizer_stream_release(struct tokenizer_stream *s);

/* Every id is below this. */
int32_t tokenizer_vocab_size(const struct tokenizer *t);
/* The token's own text ("##ing"), owned by t; NULL when id is outside the vocabulary. */
const char *tokenizer_token(const struct tokenizer *t, int32_t id);
/* -1 when there is no such token. */
int32_t tokenizer_id(const struct tokenizer *t, const char *token);
/* -1 when there is none.  WordPiece has UNK and, as far as its vocabulary does, CLS, SEP, PAD and MASK; BPE has what
 * the folder names. */
int32_t tokenizer_special(const struct tokenizer *t, enum special_token which);

/* Writes tokenizer.json, tokenizer_config.json, special_tokens_map.json and for WordPiece vocab.txt into dir, which is
 * made when it is missing; transformers opens the folder with identical results.  What the tokenizer.json of a BPE
 * without CLS and SEP said of special tokens around a text is not kept, a Unigram's is. */
int tokenizer_save(const struct tokenizer *t, const char *dir, struct error *err);
/* The same without vocab.txt, whose tokens stand in tokenizer.json too. */
int tokenizer_save_json(const struct tokenizer *t, const char *dir, struct error *err);

#endif
