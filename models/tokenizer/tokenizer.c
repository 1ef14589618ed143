#include "models/tokenizer/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

const char *const special_token_fields[SPECIAL_COUNT] = { "cls_token",  "sep_token", "pad_token", "unk_token",
                                                          "mask_token", "bos_token", "eos_token" };
const char *const special_token_texts[SPECIAL_COUNT] = { "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", NULL, NULL };

void ids_push(struct ids *ids, int32_t id)
{
    GROW(ids->items, ids->count, ids->cap);
    ids->items[ids->count++] = id;
}

void ids_release(struct ids *ids)
{
    free(ids->items);
    *ids = (struct ids){ 0 };
}

void token_spans_release(struct token_spans *spans)
{
    free(spans->items);
    *spans = (struct token_spans){ 0 };
}

struct tokenizer *tokenizer_new(void)
{
    struct tokenizer *t = xcalloc(1, sizeof *t);
    t->wordpiece.max_chars = 100;
    memcpy(t->wordpiece.prefix, "##", sizeof "##");
    t->bpe.unk = -1;
    for (int i = 0; i < SPECIAL_COUNT; i++)
        t->special[i] = -1;
    return t;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    vocab_release(&t->vocab);
    wordpiece_release(&t->wordpiece);
    bpe_release(&t->bpe);
    unigram_release(&t->unigram);
    normalizer_release(&t->normalizer);
    pre_tokenizer_release(&t->pre_tokenizer);
    decoder_release(&t->decoder);
    json_decref(t->parts);
    added_set_release(&t->raw);
    added_set_release(&t->normalized);
    free(t->added);
    free(t->added_of);
    free(t);
}

int tokenizer_read_parts(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    static const char *const names[] = { "normalizer", "pre_tokenizer", "decoder", "post_processor" };

    t->parts = json_object();
    for (int i = 0; i < ARRAY_LEN(names); i++) {
        json_t *part = json_object_get(root, names[i]);
        json_object_set_new(t->parts, names[i], part ? json_incref(part) : json_null());
    }
    return normalizer_read(&t->normalizer, root, where, err) ||
                   pre_tokenizer_read(&t->pre_tokenizer, root, where, err) ||
                   decoder_read(&t->decoder, root, where, err)
               ? -1
               : 0;
}

void tokenizer_bert_parts(struct tokenizer *t)
{
    struct error err;
    json_t *root =
        json_pack("{s:{s:s, s:b, s:b, s:n, s:b}, s:{s:s}, s:{s:s, s:s, s:b}}", "normalizer", "type", "BertNormalizer",
                  "clean_text", 1, "handle_chinese_chars", 1, "strip_accents", "lowercase", 1, "pre_tokenizer", "type",
                  "BertPreTokenizer", "decoder", "type", "WordPiece", "prefix", t->wordpiece.prefix, "cleanup", 1);

    CHECK(root && tokenizer_read_parts(t, root, "BERT", &err) == 0, "%s", root ? err.text : "out of memory");
    json_decref(root);
}

static int end_bpe(struct tokenizer *t, const char *unk, struct error *err)
{
    struct bpe *b = &t->bpe;

    if (bpe_tokens(b, &t->vocab, t->model_tokens, err))
        return -1;
    b->unk = unk ? tokenizer_id(t, unk) : -1;
    if (unk && b->unk < 0 && !(b->bytes && b->missing == 0))
        return error_set(err, EXIT_CODE_CHECKPOINT, "unk_token \"%.80s\" is not in the vocabulary", unk);
    return 0;
}

int tokenizer_end_model(struct tokenizer *t, const char *unk, struct error *err)
{
    int32_t n = t->vocab.count, slots = n + ADDED_MAX_TOKENS;

    if (n == 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "the vocabulary is empty");
    t->model_tokens = n;
    t->added_of = xmalloc((size_t)slots * sizeof *t->added_of);
    for (int32_t i = 0; i < slots; i++)
        t->added_of[i] = -1;
    if (t->kind == TOKENIZER_BPE)
        return end_bpe(t, unk, err);
    if (t->kind == TOKENIZER_UNIGRAM)
        return unigram_prepare(&t->unigram, &t->vocab, n, err);
    if (wordpiece_prepare(&t->wordpiece, &t->vocab, n, err))
        return -1;
    t->wordpiece.unk = tokenizer_id(t, unk);
    if (t->wordpiece.unk < 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "unk_token \"%.80s\" is not in the vocabulary", unk);
    return 0;
}

int tokenizer_add_token(struct tokenizer *t, const char *text, const struct added_token *token, struct error *err)
{
    int32_t known = tokenizer_id(t, text);

    if (!*text)
        return error_set(err, EXIT_CODE_CHECKPOINT, "added token %d is empty", (int)token->id);
    if (t->n_added == ADDED_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "more than %d added tokens", ADDED_MAX_TOKENS);
    if (known >= 0 ? token->id != known : token->id != t->vocab.count)
        return error_set(err, EXIT_CODE_CHECKPOINT, "added token \"%.80s\": expected id %d, %s, got %d", text,
                         (int)(known >= 0 ? known : t->vocab.count),
                         known >= 0 ? "which the vocabulary has" : "the next free one", (int)token->id);
    if (tokenizer_added(t, token->id))
        return error_set(err, EXIT_CODE_CHECKPOINT, "token %d \"%.80s\" is added twice", (int)token->id, text);
    if (known < 0 && vocab_add(&t->vocab, text, err))
        return -1;
    GROW(t->added, t->n_added, t->cap_added);
    t->added_of[token->id] = t->n_added;
    t->added[t->n_added++] = *token;
    return 0;
}

const struct added_token *tokenizer_added(const struct tokenizer *t, int32_t id)
{
    return t->added_of[id] >= 0 ? t->added + t->added_of[id] : NULL;
}

/* A token that is matched against normalised text is matched by its own normalised text. */
static int enter_added(struct tokenizer *t, struct normalizer_work *w, const struct added_token *a, struct error *err)
{
    const char *text = vocab_text(&t->vocab, a->id);
    int64_t length = vocab_length(&t->vocab, a->id);

    if (!a->normalized) {
        added_set_add(&t->raw, text, length, a);
        return 0;
    }
    normalizer_run(&t->normalizer, text, 0, length, w);
    if (w->out.length == 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "added token %d \"%s\" is empty when normalized", (int)a->id, text);
    added_set_add(&t->normalized, w->out.text, w->out.length, a);
    return 0;
}

int tokenizer_prepare(struct tokenizer *t, struct error *err)
{
    struct normalizer_work w = { 0 };
    int rc = 0;

    for (int32_t i = 0; i < t->n_added && rc == 0; i++)
        rc = enter_added(t, &w, t->added + i, err);
    normalizer_work_release(&w);
    added_set_prepare(&t->raw);
    added_set_prepare(&t->normalized);
    return rc;
}

int32_t tokenizer_vocab_size(const struct tokenizer *t)
{
    return t->vocab.count;
}

const char *tokenizer_token(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->vocab.count ? vocab_text(&t->vocab, id) : NULL;
}

int32_t tokenizer_id(const struct tokenizer *t, const char *token)
{
    const struct piece_table *tokens = t->kind == TOKENIZER_BPE       ? &t->bpe.tokens
                                       : t->kind == TOKENIZER_UNIGRAM ? &t->unigram.tokens
                                                                      : &t->wordpiece.first;
    int32_t id = piece_table_find_text(tokens, &t->vocab, token, (int64_t)strlen(token));
    for (int32_t i = t->model_tokens; id < 0 && i < t->vocab.count; i++)
        if (strcmp(vocab_text(&t->vocab, i), token) == 0)
            id = i;
    return id;
}

int32_t tokenizer_special(const struct tokenizer *t, enum special_token which)
{
    return t->special[which];
}
