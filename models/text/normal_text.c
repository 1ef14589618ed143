#include "models/text/normal_text.h"

#include "models/text/char_class.h"
#include "models/text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void normal_text_reserve(struct normal_text *t, int64_t more)
{
    if (t->cap - t->length >= more)
        return;
    t->cap = (t->length + more) * 3 / 2 + 64;
    t->text = xrealloc(t->text, (size_t)t->cap);
    if (t->track)
        t->origin = xrealloc(t->origin, (size_t)t->cap * sizeof *t->origin);
}

void normal_text_put(struct normal_text *t, uint32_t cp, struct token_span from)
{
    normal_text_reserve(t, 4);
    int n = utf8_write(t->text + t->length, cp);
    bool same = from.end - from.start == n; /* same length: map byte to byte */
    for (int i = 0; t->track && i < n; i++)
        t->origin[t->length + i] = same ? (struct token_span){ from.start + i, from.start + i + 1 } : from;
    t->length += n;
}

void normal_text_copy(struct normal_text *t, const char *text, int64_t start, int64_t end)
{
    normal_text_reserve(t, end - start + 1);
    memcpy(t->text + t->length, text + start, (size_t)(end - start));
    for (int64_t i = start; t->track && i < end; i++)
        t->origin[t->length + i - start] = (struct token_span){ i, i + 1 };
    t->length += end - start;
}

void normal_text_release(struct normal_text *t)
{
    free(t->text);
    free(t->origin);
    *t = (struct normal_text){ 0 };
}

/* A character of a segment. A segment is a decomposed character that stands alone, and the characters after it that may
 * compose with it. */
struct form_char {
    uint32_t cp;
    int class;
    int64_t place; /* position before canonical ordering */
    struct token_span from;
};

struct form_segment {
    enum normal_form form;
    struct form_char *items;
    int64_t count, cap;
};

static int class_of(uint32_t cp)
{
    return char_class(cp) & (CHAR_MARK | CHAR_ORDERED) ? char_combining_class(cp) : 0;
}

static bool composes(enum normal_form form)
{
    return form == FORM_NFC || form == FORM_NFKC;
}

static int decompose(enum normal_form form, uint32_t out[CHAR_MAX_COMPATIBLE], uint32_t cp)
{
    return form == FORM_NFKC || form == FORM_NFKD ? char_decompose_compatible(out, cp) : char_decompose(out, cp);
}

/* Returns whether the normal form of the character is the character itself. */
static bool is_own_form(enum normal_form form, uint32_t cp)
{
    uint32_t parts[CHAR_MAX_COMPATIBLE];
    int n = decompose(form, parts, cp);

    if (!composes(form))
        return n == 1 && parts[0] == cp;
    for (int i = 1; i < n && parts[0]; i++)
        parts[0] = char_compose(parts[0], parts[i]);
    return parts[0] == cp;
}

/* Returns whether the character is its own normal form and never composes with a character before it. */
static bool stands_alone(enum normal_form form, uint32_t cp)
{
    if (cp < (form == FORM_NFC ? 0x300 : form == FORM_NFD ? 0xC0 : 0xA0))
        return true;
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return false;
    default:
        return (cp < 0x1160 || cp > 0x11FF) && is_own_form(form, cp); /* Hangul vowels and final consonants */
    }
}

static void segment_add(struct form_segment *s, uint32_t cp, struct token_span from)
{
    uint32_t parts[CHAR_MAX_COMPATIBLE];
    int n = decompose(s->form, parts, cp);

    for (int i = 0; i < n; i++) {
        GROW(s->items, s->count, s->cap);
        s->items[s->count] = (struct form_char){ parts[i], class_of(parts[i]), s->count, from };
        s->count++;
    }
}

static int compare_parts(const void *a, const void *b)
{
    const struct form_char *x = a, *y = b;
    return x->class != y->class ? x->class - y->class : (x->place > y->place) - (x->place < y->place);
}

/* Canonical ordering: sorts each run of marks by combining class, stably. */
static void put_in_order(struct form_segment *s)
{
    for (int64_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; s->items[i].class && end < s->count && s->items[end].class; end++)
            ;
        if (end - i > 1)
            qsort(s->items + i, (size_t)(end - i), sizeof *s->items, compare_parts);
    }
}

/* Composes part with the character at starter, if they compose and no mark blocks them. class is the combining class of
 * the last character between them, 0 for none. */
static bool join(struct form_char *starter, const struct form_char *part, int class)
{
    uint32_t cp = class == 0 || class < part->class ? char_compose(starter->cp, part->cp) : 0;
    if (cp == 0)
        return false;
    starter->cp = cp;
    starter->from.start = part->from.start < starter->from.start ? part->from.start : starter->from.start;
    starter->from.end = part->from.end > starter->from.end ? part->from.end : starter->from.end;
    return true;
}

/* Canonical composition: composes each character with the last starter before it. A mark between them with the same
 * combining class or a higher one blocks the composition. */
static void compose(struct form_segment *s)
{
    struct form_char *starter = NULL;
    int64_t kept = 0;
    int class = 0;

    for (int64_t i = 0; i < s->count; i++) {
        const struct form_char *p = s->items + i;
        if (starter && join(starter, p, class))
            continue;
        s->items[kept] = *p;
        class = p->class;
        if (class == 0)
            starter = s->items + kept;
        kept++;
    }
    s->count = kept;
}

static void segment_flush(struct form_segment *s, struct normal_text *out)
{
    put_in_order(s);
    if (composes(s->form))
        compose(s);
    for (int64_t i = 0; i < s->count; i++)
        normal_text_put(out, s->items[i].cp, s->items[i].from);
    s->count = 0;
}

/* Returns the end of the run of characters that stay as they are. *last is the start of its last character, -1 if the
 * run is empty. */
static int64_t plain_run(enum normal_form form, const char *text, int64_t at, int64_t end, int64_t *last)
{
    uint32_t cp;
    bool valid;

    for (*last = -1; at < end;) {
        int bytes = 1;
        if (text[at] & 0x80) {
            bytes = utf8_read(text + at, end - at, &cp, &valid);
            if (!valid || (form != FORM_AS_IS && !stands_alone(form, cp)))
                break;
        }
        *last = at;
        at += bytes;
    }
    return at;
}

/* Reads a segment that starts at `at`. Returns its end. */
static int64_t read_segment(struct form_segment *s, const char *text, int64_t at, int64_t end)
{
    uint32_t cp;
    bool valid;

    while (at < end) {
        int bytes = utf8_read(text + at, end - at, &cp, &valid);
        if (!valid || (s->count > 0 && stands_alone(s->form, cp)))
            break;
        segment_add(s, cp, (struct token_span){ at, at + bytes });
        at += bytes;
    }
    return at;
}

void normal_form_apply(enum normal_form form, const char *text, int64_t start, int64_t end, struct normal_text *out)
{
    struct form_segment s = { .form = form };
    uint32_t cp;
    bool valid = true;

    out->length = 0;
    for (int64_t at = start; at < end;) {
        int64_t last, stop = plain_run(form, text, at, end, &last);
        int bytes = stop < end ? utf8_read(text + stop, end - stop, &cp, &valid) : 0;
        bool joins = bytes > 0 && valid;
        normal_text_copy(out, text, at, joins && last >= 0 ? last : stop);
        at = joins && last >= 0 ? last : stop;
        if (joins) {
            at = read_segment(&s, text, at, end);
            segment_flush(&s, out);
        } else if (bytes > 0) {
            normal_text_put(out, UTF8_REPLACEMENT, (struct token_span){ at, at + bytes });
            at += bytes;
        }
    }
    free(s.items);
    normal_text_reserve(out, 1);
    out->text[out->length] = '\0';
}

/* A character that waits for its neighbours, because canonical ordering sorts them by combining class. */
struct pending_char {
    uint32_t cp;
    int class;
    struct token_span from;
};

struct normalizer_run {
    const struct bert_normalizer *n;
    struct normal_text *out;
    struct token_span from; /* bytes of the current character in the raw text */
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

/* Writes the pending characters in canonical order. */
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

/* Writes one character of a decomposition. */
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

/* Writes a character outside ASCII, or U+FFFD for an invalid byte. */
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

/* Writes the run of ASCII characters that starts at `at`. Returns its end. */
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

/* Returns CHAR_WHITE, CHAR_PUNCTUATION or 0 for the character at text; *bytes is its length. */
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
