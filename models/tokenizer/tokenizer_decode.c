/* Part of tokenizer.h: ids back into text. */
#include "models/tokenizer/tokenizer_impl.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

/* An added token that is normalised is shown as it is matched; and it is no special token then, to tokenizers, when
 * that is another text than its own. */
static void put_normalized(const struct tokenizer_stream *s, const struct added_token *added, const char *token,
                           size_t length)
{
    struct normalizer_work w = { 0 };

    normalizer_run(&s->t->normalizer, token, 0, (int64_t)length, &w);
    bool same = w.out.length == (int64_t)length && memcmp(w.out.text, token, length) == 0;
    if (!(s->flags & TOKENIZER_SKIP_SPECIALS && added->special && same))
        decoder_put(s->run, w.out.text, (size_t)w.out.length);
    normalizer_work_release(&w);
}

static void put(const struct tokenizer_stream *s, int32_t id)
{
    const struct tokenizer *t = s->t;
    const char *token = tokenizer_token(t, id);
    const struct added_token *added = token ? tokenizer_added(t, id) : NULL;
    size_t length = token ? (size_t)vocab_length(&t->vocab, id) : 0;

    if (added && added->normalized)
        put_normalized(s, added, token, length);
    else if (token && !(s->flags & TOKENIZER_SKIP_SPECIALS && added && added->special))
        decoder_put(s->run, token, length);
}

/* Hands out what the decoder has made, but for the start of a character when more is to come. */
static const char *hand_out(struct tokenizer_stream *s, bool more, size_t *length)
{
    struct byte_buffer *made = &s->run->out;
    int64_t n = (int64_t)made->count, at = 0;
    uint32_t cp;
    bool valid;

    s->text.count = 0;
    byte_buffer_add(&s->text, "", 0);
    if (s->flags & TOKENIZER_EXACT_BYTES) {
        byte_buffer_add(&s->text, made->items, made->count);
        at = n;
    }
    while (at < n && !(more && utf8_is_cut(made->items + at, n - at))) {
        int bytes = utf8_read(made->items + at, n - at, &cp, &valid);
        byte_buffer_add(&s->text, valid ? made->items + at : "\xef\xbf\xbd", valid ? (size_t)bytes : 3);
        at += bytes;
    }
    if (at < n)
        memmove(made->items, made->items + at, (size_t)(n - at));
    made->count = (size_t)(n - at);
    *length = s->text.count;
    return s->text.items;
}

void tokenizer_stream_start(struct tokenizer_stream *s, const struct tokenizer *t, unsigned flags)
{
    *s = (struct tokenizer_stream){ .t = t, .flags = flags, .run = xmalloc(sizeof *s->run) };
    decoder_start(s->run, &t->decoder, flags & TOKENIZER_EXACT_BYTES);
}

const char *tokenizer_stream_next(struct tokenizer_stream *s, int32_t id, size_t *length)
{
    put(s, id);
    return hand_out(s, true, length);
}

const char *tokenizer_stream_end(struct tokenizer_stream *s, size_t *length)
{
    decoder_end(s->run);
    return hand_out(s, false, length);
}

void tokenizer_stream_release(struct tokenizer_stream *s)
{
    if (s->run)
        decoder_run_release(s->run);
    free(s->run);
    byte_buffer_release(&s->text);
    *s = (struct tokenizer_stream){ 0 };
}

char *tokenizer_decode(const struct tokenizer *t, const int32_t *ids, int64_t n, unsigned flags, size_t *length)
{
    struct tokenizer_stream s;
    size_t total;

    tokenizer_stream_start(&s, t, flags);
    for (int64_t i = 0; i < n; i++)
        put(&s, ids[i]);
    tokenizer_stream_end(&s, length ? length : &total);
    char *text = s.text.items;
    s.text = (struct byte_buffer){ 0 };
    tokenizer_stream_release(&s);
    return text;
}
