#include "models/tokenizer/tokenizer_impl.h"
#include "models/unicode/nfc.h"

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
    t->normalizer = (struct bert_normalizer){ .clean_text = true, .chinese = true, .lowercase = true };
    t->wordpiece.max_chars = 100;
    memcpy(t->wordpiece.prefix, "##", sizeof "##");
    t->cleanup = true;
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
    bpe_release(&t->byte_level.bpe);
    regex_close(t->byte_level.split);
    added_set_release(&t->raw);
    added_set_release(&t->normalized);
    free(t->added);
    free(t->added_of);
    free(t);
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
    if (t->kind == TOKENIZER_BYTE_LEVEL)
        return bpe_tokens(&t->byte_level.bpe, &t->vocab, n, err);
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

void tokenizer_normalize(const struct tokenizer *t, const char *text, int64_t start, int64_t end,
                         struct normal_text *out)
{
    if (t->kind == TOKENIZER_BYTE_LEVEL)
        nfc_normalize(t->byte_level.nfc, text, start, end, out);
    else
        bert_normalize(&t->normalizer, text, start, end, out);
}

/* A token that is matched against normalised text is matched by its own normalised text. */
static int enter_added(struct tokenizer *t, struct normal_text *buffer, const struct added_token *a, struct error *err)
{
    const char *text = vocab_text(&t->vocab, a->id);
    int64_t length = vocab_length(&t->vocab, a->id);

    if (!a->normalized) {
        added_set_add(&t->raw, text, length, a);
        return 0;
    }
    tokenizer_normalize(t, text, 0, length, buffer);
    if (buffer->length == 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "added token %d \"%s\" is empty when normalized", (int)a->id, text);
    added_set_add(&t->normalized, buffer->text, buffer->length, a);
    return 0;
}

int tokenizer_prepare(struct tokenizer *t, struct error *err)
{
    struct normal_text buffer = { 0 };
    int rc = 0;

    bert_normalizer_prepare(&t->normalizer);
    for (int32_t i = 0; i < t->n_added && rc == 0; i++)
        rc = enter_added(t, &buffer, t->added + i, err);
    normal_text_release(&buffer);
    added_set_prepare(&t->raw);
    added_set_prepare(&t->normalized);
    return rc;
}

struct encoder {
    const struct tokenizer *t;
    bool specials;
    struct normal_text text; /* of the piece being worked on */
    struct bpe_work work;
    struct ids *out;
    struct token_spans *spans;
};

static void push(struct encoder *e, int32_t id, int64_t start, int64_t end)
{
    ids_push(e->out, id);
    if (!e->spans)
        return;
    GROW(e->spans->items, e->spans->count, e->spans->cap);
    e->spans->items[e->spans->count++] = (struct token_span){ start, end };
}

/* A token over bytes [start, end) of the normalised text.  Marks may have changed places, so its first byte need not
 * come from the first of the raw text. */
static void push_normal(struct encoder *e, int32_t id, int64_t start, int64_t end)
{
    const struct token_span *origin = e->text.origin;

    if (!e->spans) {
        ids_push(e->out, id);
        return;
    }
    struct token_span whole = origin[start];
    for (int64_t i = start + 1; i < end; i++) {
        whole.start = origin[i].start < whole.start ? origin[i].start : whole.start;
        whole.end = origin[i].end > whole.end ? origin[i].end : whole.end;
    }
    push(e, id, whole.start, whole.end);
}

static void encode_words(struct encoder *e, int64_t at, int64_t end)
{
    struct token_piece pieces[WORDPIECE_MAX_CHARS];
    const char *text = e->text.text;

    for (int64_t stop; bert_next_word(text, &at, end, &stop); at = stop) {
        int n = wordpiece_split(&e->t->wordpiece, &e->t->vocab, text + at, stop - at, pieces);
        for (int64_t i = 0, from = 0; i < n; from = pieces[i++].end)
            push_normal(e, pieces[i].id, at + from, at + pieces[i].end);
    }
}

static void encode_bytes(struct encoder *e, int64_t at, int64_t end)
{
    const struct byte_level *b = &e->t->byte_level;
    struct bpe_work *w = &e->work;
    struct regex_walk walk;

    regex_walk_start(&walk, b->split, e->text.text, at, end);
    for (int64_t start, stop; regex_walk_next(&walk, &start, &stop);) {
        bpe_split(&b->bpe, &e->t->vocab, w, e->text.text + start, stop - start);
        for (int64_t i = 0, from = 0; i < w->count; from = w->pieces[i++].end)
            push_normal(e, w->pieces[i].id, start + from, start + w->pieces[i].end);
    }
    regex_walk_end(&walk);
}

static void encode_text(struct encoder *e, int64_t at, int64_t end)
{
    if (e->t->kind == TOKENIZER_BYTE_LEVEL)
        encode_bytes(e, at, end);
    else
        encode_words(e, at, end);
}

/* The next added token that is looked for at all. */
static bool find_added(const struct encoder *e, const struct added_set *s, const char *text, int64_t from, int64_t end,
                       struct added_match *m)
{
    if (e->t->kind == TOKENIZER_BYTE_LEVEL && !e->specials)
        return false;
    return added_set_find(s, text, 0, from, end, e->specials, m);
}

/* Normalises bytes [start, end) of the raw text and encodes them. */
static void encode_piece(struct encoder *e, const char *raw, int64_t start, int64_t end)
{
    struct added_match m;
    int64_t at = 0;

    tokenizer_normalize(e->t, raw, start, end, &e->text);
    while (find_added(e, &e->t->normalized, e->text.text, at, e->text.length, &m)) {
        encode_text(e, at, m.start);
        push_normal(e, m.id, m.start, m.end);
        at = m.end;
    }
    encode_text(e, at, e->text.length);
}

int64_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t length, unsigned flags, struct ids *out,
                         struct token_spans *spans)
{
    struct encoder e = { .t = t, .specials = flags & TOKENIZER_MATCH_SPECIALS, .out = out, .spans = spans };
    int64_t at = 0, before = out->count, end = (int64_t)length;
    struct added_match m;

    e.text.track = spans != NULL;
    while (find_added(&e, &t->raw, text, at, end, &m)) {
        encode_piece(&e, text, at, m.start);
        push(&e, m.id, m.start, m.end);
        at = m.end;
    }
    encode_piece(&e, text, at, end);
    normal_text_release(&e.text);
    bpe_work_release(&e.work);
    return out->count - before;
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
    const struct piece_table *tokens =
        t->kind == TOKENIZER_BYTE_LEVEL ? &t->byte_level.bpe.tokens : &t->wordpiece.first;
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
