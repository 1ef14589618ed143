#include "models/unicode/bert_normalizer.h"

#include "models/unicode/char_class.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>

/* A character that waits until all of its neighbours are known, because their order depends on the combining class. */
struct pending_char {
    uint32_t cp;
    int class;
    struct token_span from;
};

struct normalizer_run {
    const struct bert_normalizer *n;
    struct normal_text *out;
    struct token_span from; /* the character being worked on */
    struct pending_char *pending;
    int64_t n_pending, cap_pending;
};

static bool strips_accents(const struct bert_normalizer *n)
{
    return n->accents == ACCENTS_STRIP || (n->accents == ACCENTS_AS_CASE && n->lowercase);
}

void bert_normalizer_prepare(struct bert_normalizer *n)
{
    for (int c = 0; c < 128; c++) {
        unsigned bits = char_class((uint32_t)c);
        n->ascii[c] = (int16_t)(n->lowercase && c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        if (n->clean_text && bits & CHAR_CONTROL)
            n->ascii[c] = -1;
        else if (n->clean_text && bits & CHAR_WHITE)
            n->ascii[c] = ' ';
    }
}

static void put_lower(struct normalizer_run *r, uint32_t cp, struct token_span from)
{
    uint32_t lower[2] = { cp };
    int n = r->n->lowercase ? char_lower(lower, cp) : 1;
    for (int i = 0; i < n; i++)
        normal_text_put(r->out, lower[i], from);
}

/* Puts the pending characters by rising class, those of one class in the order they came. */
static void flush(struct normalizer_run *r)
{
    for (int last = 0, next; r->n_pending > 0 && last < 256; last = next) {
        next = 256;
        for (int64_t i = 0; i < r->n_pending; i++) {
            const struct pending_char *w = r->pending + i;
            if (w->class == last)
                put_lower(r, w->cp, w->from);
            else if (w->class > last && w->class < next)
                next = w->class;
        }
    }
    r->n_pending = 0;
}

/* One character of a decomposition, in the order the text has them. */
static void put_decomposed(struct normalizer_run *r, uint32_t cp)
{
    unsigned bits = char_class(cp);
    int class = bits & (CHAR_MARK | CHAR_ORDERED) ? char_combining_class(cp) : 0;

    if (class == 0)
        flush(r);
    if (bits & CHAR_MARK)
        return;
    if (class == 0) {
        put_lower(r, cp, r->from);
        return;
    }
    GROW(r->pending, r->n_pending, r->cap_pending);
    r->pending[r->n_pending++] = (struct pending_char){ cp, class, r->from };
}

/* A character outside ASCII, or a byte that is no text. */
static void put_character(struct normalizer_run *r, uint32_t cp)
{
    unsigned bits = char_class(cp);
    bool chinese = r->n->chinese && bits & CHAR_CHINESE;
    uint32_t parts[CHAR_MAX_DECOMPOSED] = { cp };

    if (r->n->clean_text && bits & CHAR_CONTROL)
        return;
    if (r->n->clean_text && bits & CHAR_WHITE)
        parts[0] = cp = ' ';
    if (chinese) {
        flush(r);
        normal_text_put(r->out, ' ', r->from);
    }
    if (strips_accents(r->n)) {
        int n = char_decompose(parts, cp);
        for (int i = 0; i < n; i++)
            put_decomposed(r, parts[i]);
    } else {
        put_lower(r, cp, r->from);
    }
    if (chinese) {
        flush(r);
        normal_text_put(r->out, ' ', r->from);
    }
}

/* The ASCII characters from at on; returns where they end. */
static int64_t put_ascii(struct normalizer_run *r, const char *text, int64_t at, int64_t end)
{
    struct normal_text *out = r->out;
    int64_t length = out->length;

    for (; at < end && !(text[at] & 0x80); at++) {
        int16_t c = r->n->ascii[(unsigned char)text[at]];
        if (c < 0)
            continue;
        if (out->track)
            out->origin[length] = (struct token_span){ at, at + 1 };
        out->text[length++] = (char)c;
    }
    out->length = length;
    return at;
}

void bert_normalize(const struct bert_normalizer *n, const char *text, int64_t start, int64_t end,
                    struct normal_text *out)
{
    struct normalizer_run r = { .n = n, .out = out };
    uint32_t cp;
    bool valid;

    out->length = 0;
    for (int64_t at = start; at < end;) {
        if (!(text[at] & 0x80)) {
            flush(&r);
            normal_text_reserve(out, end - at);
            at = put_ascii(&r, text, at, end);
            continue;
        }
        int bytes = utf8_read(text + at, end - at, &cp, &valid);
        r.from = (struct token_span){ at, at + bytes };
        put_character(&r, cp);
        at += bytes;
    }
    flush(&r);
    free(r.pending);
    normal_text_reserve(out, 1);
    out->text[out->length] = '\0';
}

/* What ends words: CHAR_WHITE, CHAR_PUNCTUATION or 0, and the bytes of the character. */
static unsigned separates(const char *text, int64_t left, int *bytes)
{
    static const uint64_t white[2] = { 0x0000000100003E00, 0 };
    static const uint64_t punctuation[2] = { 0xFC00FFFE00000000, 0x78000001F8000001 };
    unsigned char c = (unsigned char)*text;
    uint32_t cp;
    bool valid;

    *bytes = 1;
    if (c < 128)
        return white[c / 64] >> c % 64 & 1 ? CHAR_WHITE : punctuation[c / 64] >> c % 64 & 1 ? CHAR_PUNCTUATION : 0;
    *bytes = utf8_read(text, left, &cp, &valid);
    return char_class(cp) & (CHAR_WHITE | CHAR_PUNCTUATION);
}

bool bert_next_word(const char *text, int64_t *at, int64_t end, int64_t *stop)
{
    unsigned kind = CHAR_WHITE;
    int bytes = 0;

    for (; *at < end && (kind = separates(text + *at, end - *at, &bytes)) == CHAR_WHITE; *at += bytes)
        ;
    if (*at >= end)
        return false;
    *stop = *at + bytes;
    if (kind == CHAR_PUNCTUATION)
        return true;
    for (; *stop < end && separates(text + *stop, end - *stop, &bytes) == 0; *stop += bytes)
        ;
    return true;
}
