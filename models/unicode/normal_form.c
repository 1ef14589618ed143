#include "models/unicode/normal_form.h"

#include "models/unicode/char_class.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <utf8proc.h>

/* A character of a segment: one that stands by itself, decomposed, and all behind it that may join it. */
struct form_char {
    uint32_t cp;
    int class;
    int64_t place; /* among the parts before they are put in order */
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

/* Is the character its own form? */
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

/* Its own form, and it joins nothing before it. */
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
        return (cp < 0x1160 || cp > 0x11FF) && is_own_form(form, cp); /* vowels and final consonants of Korean */
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

/* Marks by rising class, those of one class in the order they came. */
static void put_in_order(struct form_segment *s)
{
    for (int64_t i = 0, end; i < s->count; i = end) {
        for (end = i + 1; s->items[i].class && end < s->count && s->items[end].class; end++)
            ;
        if (end - i > 1)
            qsort(s->items + i, (size_t)(end - i), sizeof *s->items, compare_parts);
    }
}

/* Joins part to the character at starter when they make one and nothing stands between; class is the last one between,
 * 0 for none. */
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

/* Where the run of characters that stay as they are ends; the last of them begins at *last (or -1). */
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

/* A character that stands alone and those that may join it, from at on; returns where the segment ends. */
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
