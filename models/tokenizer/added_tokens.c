#include "models/tokenizer/added_tokens.h"

#include "models/unicode/char_class.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

void added_set_add(struct added_set *s, const char *text, int64_t length, const struct added_token *token)
{
    CHECK(length > 0, "added token %d is empty", (int)token->id);
    GROW(s->items, s->count, s->cap);
    struct added_pattern *p = s->items + s->count++;
    *p = (struct added_pattern){ xmalloc((size_t)length), length, *token };
    memcpy(p->text, text, (size_t)length);
    s->starts[(unsigned char)*text] = true;
}

/* By text, a start before what it starts; of equal texts (two tokens may normalise to one) the special one first, then
 * the lower id. */
static int compare_patterns(const void *a, const void *b)
{
    const struct added_pattern *x = a, *y = b;
    int c = memcmp(x->text, y->text, (size_t)(x->length < y->length ? x->length : y->length));
    if (c == 0)
        c = (x->length > y->length) - (x->length < y->length);
    if (c == 0)
        c = y->token.special - x->token.special;
    return c ? c : (x->token.id > y->token.id) - (x->token.id < y->token.id);
}

void added_set_prepare(struct added_set *s)
{
    if (s->count > 1)
        qsort(s->items, (size_t)s->count, sizeof *s->items, compare_patterns);
}

void added_set_release(struct added_set *s)
{
    for (int32_t i = 0; i < s->count; i++)
        free(s->items[i].text);
    free(s->items);
    *s = (struct added_set){ 0 };
}

/* The first of items [low, high), which share their first k bytes and are longer, whose byte k is at least c. */
static int32_t lower_edge(const struct added_set *s, int32_t low, int32_t high, int64_t k, int c)
{
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((unsigned char)s->items[middle].text[k] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest pattern that text starts with, n bytes being left. */
static const struct added_pattern *longest_at(const struct added_set *s, const char *text, int64_t n)
{
    const struct added_pattern *best = NULL;
    int32_t low = 0, high = s->count;

    for (int64_t k = 0; low < high && k < n; k++) {
        int c = (unsigned char)text[k];
        low = lower_edge(s, low, high, k, c);
        high = lower_edge(s, low, high, k, c + 1);
        if (low < high && s->items[low].length == k + 1)
            best = s->items + low;
        while (low < high && s->items[low].length == k + 1)
            low++;
    }
    return best;
}

/* The character before at. */
static uint32_t char_before(const char *text, int64_t at, int64_t *start)
{
    uint32_t cp;
    bool valid;
    for (*start = at - 1; *start > 0 && at - *start < 4 && utf8_continues(text[*start]); --*start)
        ;
    if (utf8_read(text + *start, at - *start, &cp, &valid) != at - *start) {
        *start = at - 1;
        cp = UTF8_REPLACEMENT;
    }
    return cp;
}

static bool alone(const char *text, int64_t end, const struct added_match *m)
{
    int64_t start;
    uint32_t cp;
    bool valid;

    if (m->start > 0 && char_word_class(char_before(text, m->start, &start)) & CHAR_WORD)
        return false;
    if (m->end == end)
        return true;
    utf8_read(text + m->end, end - m->end, &cp, &valid);
    return !(char_word_class(cp) & CHAR_WORD);
}

/* Takes in the white space before, as far as no match took it already, and behind. */
static void widen(const char *text, int64_t taken, int64_t end, const struct added_token *t, struct added_match *m)
{
    int64_t start;
    uint32_t cp;
    bool valid;

    if (t->lstrip && m->start < taken && taken < m->end)
        m->start = taken;
    while (t->lstrip && m->start > taken && char_class(char_before(text, m->start, &start)) & CHAR_WHITE)
        m->start = start;
    while (t->rstrip && m->end < end) {
        int bytes = utf8_read(text + m->end, end - m->end, &cp, &valid);
        if (!(char_class(cp) & CHAR_WHITE))
            break;
        m->end += bytes;
    }
}

bool added_set_find(const struct added_set *s, const char *text, int64_t end, bool specials, struct added_match *match)
{
    int64_t taken = match->end;

    if (s->count == 0)
        return false;
    for (int64_t at = match->next; at < end; at++) {
        const struct added_pattern *p = s->starts[(unsigned char)text[at]] ? longest_at(s, text + at, end - at) : NULL;
        if (!p)
            continue;
        *match = (struct added_match){ at, at + p->length, at + p->length, p->token.id };
        if ((p->token.special && !specials) || (p->token.single_word && !alone(text, end, match))) {
            at = match->next - 1;
            continue;
        }
        widen(text, taken, end, &p->token, match);
        return true;
    }
    return false;
}
