/* Part of normalizer.h: what each step does.  All but the first two read valid UTF-8. */
#include "models/pipeline/normalizer.h"
#include "models/unicode/byte_alphabet.h"
#include "models/unicode/char_class.h"
#include "models/unicode/utf8.h"

#include <string.h>

void normalize_form(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                    struct normal_text *out)
{
    normal_form_apply(s->form, text, start, end, out);
}

void normalize_bert(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                    struct normal_text *out)
{
    bert_normalize(&s->bert, text, start, end, out);
}

void normalize_lowercase(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                         struct normal_text *out)
{
    uint32_t cp, lower[2];
    bool valid;
    (void)s;

    for (int64_t at = start, bytes; at < end; at += bytes) {
        bytes = utf8_read(text + at, end - at, &cp, &valid);
        int n = char_lower(lower, cp);
        for (int i = 0; i < n; i++)
            normal_text_put(out, lower[i], (struct token_span){ at, at + bytes });
    }
}

static bool is_white(uint32_t cp)
{
    return char_class(cp) & CHAR_WHITE;
}

void normalize_strip(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                     struct normal_text *out)
{
    uint32_t cp;
    bool valid;
    int64_t last = end;

    for (int bytes; s->left && start < end; start += bytes) {
        bytes = utf8_read(text + start, end - start, &cp, &valid);
        if (!is_white(cp))
            break;
    }
    for (; s->right && last > start; end = last) {
        do
            last--;
        while (utf8_continues(text[last]));
        utf8_read(text + last, end - last, &cp, &valid);
        if (!is_white(cp))
            break;
    }
    normal_text_copy(out, text, start, end);
}

void normalize_accents(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                       struct normal_text *out)
{
    uint32_t cp;
    bool valid;
    (void)s;

    for (int64_t at = start, bytes; at < end; at += bytes) {
        bytes = utf8_read(text + at, end - at, &cp, &valid);
        if (!(char_word_class(cp) & CHAR_COMBINING))
            normal_text_copy(out, text, at, at + bytes);
    }
}

static bool nmt_drops(uint32_t cp)
{
    return (cp >= 1 && cp <= 8) || cp == 0xB || (cp >= 0xE && cp <= 0x1F) || cp == 0x7F || cp == 0x8F || cp == 0x9F;
}

static bool nmt_blank(uint32_t cp)
{
    return cp == 9 || cp == 0xA || cp == 0xC || cp == 0xD || cp == 0x1680 || (cp >= 0x200B && cp <= 0x200F) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x2581 || cp == 0xFEFF || cp == 0xFFFD;
}

void normalize_nmt(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                   struct normal_text *out)
{
    uint32_t cp;
    bool valid;
    (void)s;

    for (int64_t at = start, bytes; at < end; at += bytes) {
        bytes = utf8_read(text + at, end - at, &cp, &valid);
        if (!nmt_drops(cp))
            normal_text_put(out, nmt_blank(cp) ? ' ' : cp, (struct token_span){ at, at + bytes });
    }
}

/* Every byte of content, which comes from `from`. */
static void put_content(struct normal_text *out, const char *content, struct token_span from)
{
    int64_t n = (int64_t)strlen(content);

    normal_text_reserve(out, n + 1);
    memcpy(out->text + out->length, content, (size_t)n);
    for (int64_t i = 0; out->track && i < n; i++)
        out->origin[out->length + i] = from;
    out->length += n;
}

/* The character of text that begins, or ends, at a byte. */
static struct token_span char_at(const char *text, int64_t at, int64_t end)
{
    int64_t stop = at + 1;

    while (stop < end && utf8_continues(text[stop]))
        stop++;
    return (struct token_span){ at, stop };
}

static struct token_span char_before(const char *text, int64_t end)
{
    int64_t at = end - 1;

    while (utf8_continues(text[at]))
        at--;
    return (struct token_span){ at, end };
}

void normalize_prepend(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                       struct normal_text *out)
{
    if (end > start)
        put_content(out, s->content, char_at(text, start, end));
    normal_text_copy(out, text, start, end);
}

/* What is put in has, as in tokenizers, the place of the last character that it replaces. */
void normalize_replace(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                       struct normal_text *out)
{
    struct pattern_walk w = { 0 };
    int64_t at = start;

    pattern_walk_start(&w, &s->pattern, text + start, end - start);
    for (int64_t from, to; end > start && pattern_walk_next(&w, &from, &to); at = start + to) {
        normal_text_copy(out, text, at, start + from);
        put_content(out, s->content, to > 0 ? char_before(text, start + to) : char_at(text, start, end));
    }
    normal_text_copy(out, text, at, end);
    pattern_walk_end(&w);
}

void normalize_bytes(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                     struct normal_text *out)
{
    struct byte_alphabet a;
    (void)s;

    byte_alphabet_init(&a);
    for (int64_t at = start; at < end;) {
        struct token_span whole = char_at(text, at, end);
        for (; at < whole.end; at++)
            normal_text_put(out, a.chars[(unsigned char)text[at]], whole);
    }
}
