/* Part of tokenizer.h: ids back into text. */
#include "models/tokenizer/tokenizer_impl.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Room for n bytes more and a zero. */
static char *reserve(struct byte_buffer *b, size_t n)
{
    if (b->cap - b->count <= n) {
        b->cap = (b->cap + n) * 2 + 64;
        b->items = xrealloc(b->items, b->cap);
    }
    return b->items + b->count;
}

static void append(struct byte_buffer *b, const char *text, size_t length)
{
    memcpy(reserve(b, length), text, length);
    b->count += length;
    b->items[b->count] = '\0';
}

/* Tokens that the cleanup of tokenizers' decoder moves up to the word before. */
static bool closes(const char *token)
{
    static const char *const starts[] = { ".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re" };
    for (int i = 0; i < ARRAY_LEN(starts); i++)
        if (strncmp(token, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* A piece goes on with the word before it, anything else starts a new one; the first token stands as it is. */
static void append_word_piece(struct byte_buffer *b, const struct tokenizer *t, const char *token, size_t length,
                              bool first)
{
    size_t skip = strlen(t->wordpiece.prefix);

    if (!first && strncmp(token, t->wordpiece.prefix, skip) == 0) {
        token += skip;
        length -= skip;
    } else if (!first && (!t->cleanup || !closes(token))) {
        append(b, " ", 1);
    }
    append(b, token, length);
}

/* The bytes that a token stands for, or its own text when it is not written in their alphabet. */
static void append_bytes(struct byte_buffer *b, const struct tokenizer *t, const char *token, size_t length)
{
    int64_t n = byte_alphabet_read(&t->byte_level.bpe.alphabet, reserve(b, length), token, (int64_t)length);

    if (n < 0) {
        append(b, token, length);
        return;
    }
    b->count += (size_t)n;
    b->items[b->count] = '\0';
}

static void append_token(struct byte_buffer *b, const struct tokenizer *t, const char *token, size_t length, bool first)
{
    if (t->kind == TOKENIZER_BYTE_LEVEL)
        append_bytes(b, t, token, length);
    else
        append_word_piece(b, t, token, length, first);
}

static void hold(struct tokenizer_stream *s, int32_t id)
{
    const char *token = tokenizer_token(s->t, id);
    const struct added_token *added = token ? tokenizer_added(s->t, id) : NULL;

    if (!token || (s->flags & TOKENIZER_SKIP_SPECIALS && added && added->special))
        return;
    if (added && added->normalized) { /* shown as it is matched */
        struct normal_text normal = { 0 };
        tokenizer_normalize(s->t, token, 0, (int64_t)strlen(token), &normal);
        append_token(&s->held, s->t, normal.text, (size_t)normal.length, s->shown == 0);
        normal_text_release(&normal);
    } else {
        append_token(&s->held, s->t, token, strlen(token), s->shown == 0);
    }
    s->shown++;
}

/* Hands out what is held, but for the start of a character when more is to come. */
static const char *hand_out(struct tokenizer_stream *s, bool more, size_t *length)
{
    int64_t n = (int64_t)s->held.count, at = 0;
    uint32_t cp;
    bool valid;

    s->text.count = 0;
    append(&s->text, "", 0);
    if (s->flags & TOKENIZER_EXACT_BYTES) {
        append(&s->text, s->held.items ? s->held.items : "", s->held.count);
        at = n;
    }
    while (at < n && !(more && utf8_is_cut(s->held.items + at, n - at))) {
        int bytes = utf8_read(s->held.items + at, n - at, &cp, &valid);
        append(&s->text, valid ? s->held.items + at : "\xef\xbf\xbd", valid ? (size_t)bytes : 3);
        at += bytes;
    }
    if (at < n)
        memmove(s->held.items, s->held.items + at, (size_t)(n - at));
    s->held.count = (size_t)(n - at);
    *length = s->text.count;
    return s->text.items;
}

void tokenizer_stream_start(struct tokenizer_stream *s, const struct tokenizer *t, unsigned flags)
{
    *s = (struct tokenizer_stream){ .t = t, .flags = flags };
}

const char *tokenizer_stream_next(struct tokenizer_stream *s, int32_t id, size_t *length)
{
    hold(s, id);
    return hand_out(s, true, length);
}

const char *tokenizer_stream_end(struct tokenizer_stream *s, size_t *length)
{
    return hand_out(s, false, length);
}

void tokenizer_stream_release(struct tokenizer_stream *s)
{
    free(s->held.items);
    free(s->text.items);
    *s = (struct tokenizer_stream){ 0 };
}

char *tokenizer_decode(const struct tokenizer *t, const int32_t *ids, int64_t n, unsigned flags, size_t *length)
{
    struct tokenizer_stream s;
    size_t total;

    tokenizer_stream_start(&s, t, flags);
    for (int64_t i = 0; i < n; i++)
        hold(&s, ids[i]);
    hand_out(&s, false, length ? length : &total);
    free(s.held.items);
    return s.text.items;
}
