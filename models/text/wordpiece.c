#include "models/text/wordpiece.h"

#include "models/text/utf8.h"

int wordpiece_prepare(struct wordpiece *w, const struct vocab *v, int32_t n, struct error *err)
{
    if (piece_table_build(&w->first, v, n, "", err))
        return -1;
    return piece_table_build(&w->next, v, n, w->prefix, err);
}

void wordpiece_release(struct wordpiece *w)
{
    piece_table_release(&w->first);
    piece_table_release(&w->next);
}

static bool too_long(const char *word, int64_t length, int32_t max_chars)
{
    if (length <= max_chars)
        return false;
    int64_t chars = 0;
    for (int64_t i = 0; i < length; i++)
        chars += !utf8_continues(word[i]);
    return chars > max_chars;
}

/* Returns the token with the longest key that is a prefix of text, and its length in *length. -1 if there is none. */
static int32_t longest_match(const struct piece_table *t, const struct vocab *v, const char *text, int64_t *length)
{
    uint64_t hashes[VOCAB_MAX_TOKEN + 1];
    int64_t n = *length < t->longest ? *length : t->longest;
    int64_t rest = *length;

    hashes[0] = piece_hash_start();
    for (int64_t i = 0; i < n; i++)
        hashes[i + 1] = piece_hash_add(hashes[i], text[i]);
    for (; n > 0; n--) {
        if (n < rest && utf8_continues(text[n]))
            continue;
        int32_t id = piece_table_find(t, v, text, n, hashes[n]);
        if (id >= 0) {
            *length = n;
            return id;
        }
    }
    return -1;
}

int wordpiece_split(const struct wordpiece *w, const struct vocab *v, const char *word, int64_t length,
                    struct token_piece out[WORDPIECE_MAX_CHARS])
{
    int n = 0;

    if (!too_long(word, length, w->max_chars)) {
        for (int64_t at = 0; at < length;) {
            int64_t bytes = length - at;
            int32_t id = longest_match(at ? &w->next : &w->first, v, word + at, &bytes);
            if (id < 0)
                break;
            out[n++] = (struct token_piece){ id, at, at + bytes };
            at += bytes;
        }
        if (n > 0 && out[n - 1].end == length)
            return n;
    }
    out[0] = (struct token_piece){ w->unk, 0, length };
    return 1;
}
