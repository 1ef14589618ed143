/* Part of pre_tokenizer.h: what each step does. */
#include "models/pipeline/pre_tokenizer.h"
#include "models/unicode/char_class.h"
#include "models/unicode/normal_text.h"
#include "models/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>

bool pre_tokenizer_white(uint32_t cp)
{
    return char_class(cp) & CHAR_WHITE;
}

bool pre_tokenizer_punctuation(uint32_t cp)
{
    return char_class(cp) & CHAR_PUNCTUATION;
}

bool pre_tokenizer_numeric(uint32_t cp)
{
    return char_word_class(cp) & CHAR_NUMERIC;
}

static void hand_on(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    if (k + 1 == r->p->count)
        r->emit(r->to, text, start, stop);
    else
        r->p->steps[k + 1].run(r, k + 1, text, start, stop);
}

/* What a step needs is made when it first runs: most texts are short. */
static struct cut *cut_of(struct pre_tokenizer_run *r, int k)
{
    if (!r->cuts)
        r->cuts = xcalloc((size_t)r->p->count, sizeof *r->cuts);
    return r->cuts + k;
}

static struct normal_text *text_of(struct pre_tokenizer_run *r, int k)
{
    if (!r->texts)
        r->texts = xcalloc((size_t)r->p->count, sizeof *r->texts);
    r->texts[k].track = r->track;
    return r->texts + k;
}

void pre_tokenize_bert(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    bool last = k + 1 == r->p->count;

    for (int64_t at = start, end; bert_next_word(text->text, &at, stop, &end); at = end)
        if (last)
            r->emit(r->to, text, at, end);
        else
            hand_on(r, k, text, at, end);
}

/* Runs of word characters and runs of what is neither word nor white. */
void pre_tokenize_words(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    enum { WHITE, WORD, OTHER } kind = WHITE, last = WHITE;
    int64_t from = start, bytes;
    uint32_t cp;
    bool valid;

    for (int64_t at = start; at < stop; at += bytes, last = kind) {
        bytes = utf8_read(text->text + at, stop - at, &cp, &valid);
        kind = char_word_class(cp) & CHAR_WORD ? WORD : pre_tokenizer_white(cp) ? WHITE : OTHER;
        if (kind == last)
            continue;
        if (last != WHITE)
            hand_on(r, k, text, from, at);
        from = at;
    }
    if (last != WHITE)
        hand_on(r, k, text, from, stop);
}

/* Matches and what lies between, each by itself, unless one of the two is removed. */
static void cut_single(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    const struct pre_tokenizer_step *s = r->p->steps + k;
    bool matches = s->behavior == CUT_ISOLATED || s->invert, between = s->behavior == CUT_ISOLATED || !s->invert;
    struct pattern_walk *w = &cut_of(r, k)->walk;
    int64_t at = start;

    pattern_walk_start(w, &s->pattern, text->text + start, stop - start);
    for (int64_t from, to; pattern_walk_next(w, &from, &to); at = start + to) {
        if (between && start + from > at)
            hand_on(r, k, text, at, start + from);
        if (matches && to > from)
            hand_on(r, k, text, start + from, start + to);
    }
    if (between && at < stop)
        hand_on(r, k, text, at, stop);
}

void pre_tokenize_cut(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    const struct pre_tokenizer_step *s = r->p->steps + k;
    struct cut *c = cut_of(r, k);

    if (s->behavior == CUT_REMOVED || s->behavior == CUT_ISOLATED) {
        cut_single(r, k, text, start, stop);
        return;
    }
    cut_start(c, &s->pattern, s->behavior, s->invert, text->text + start, stop - start);
    for (int64_t from, to; cut_next(c, &from, &to);)
        hand_on(r, k, text, start + from, start + to);
}

/* Where the first character of a piece came from, for what is put before it. */
static struct token_span first_origin(const struct normal_text *text, int64_t start)
{
    return text->track ? text->origin[start] : (struct token_span){ 0 };
}

static void put_bytes(struct normal_text *out, const char *bytes, int64_t n, struct token_span from)
{
    normal_text_reserve(out, n + 1);
    memcpy(out->text + out->length, bytes, (size_t)n);
    for (int64_t i = 0; out->track && i < n; i++)
        out->origin[out->length + i] = from;
    out->length += n;
}

static void put_range(struct normal_text *out, const struct normal_text *text, int64_t start, int64_t stop)
{
    int64_t n = stop - start;

    normal_text_reserve(out, n + 1);
    memcpy(out->text + out->length, text->text + start, (size_t)n);
    if (out->track)
        memcpy(out->origin + out->length, text->origin + start, (size_t)n * sizeof *out->origin);
    out->length += n;
}

/* A blank before what does not begin with one. */
void pre_tokenize_blank(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct normal_text *out = text_of(r, k);

    if (text->text[start] == ' ') {
        hand_on(r, k, text, start, stop);
        return;
    }
    out->length = 0;
    put_bytes(out, " ", 1, first_origin(text, start));
    put_range(out, text, start, stop);
    hand_on(r, k, out, 0, out->length);
}

static bool wants_prefix(const struct pre_tokenizer_step *s, const struct normal_text *text, int64_t start,
                         int64_t stop)
{
    size_t n = strlen(s->blank);
    bool there =
        text->text[start] == ' ' || ((size_t)(stop - start) >= n && memcmp(text->text + start, s->blank, n) == 0);

    return !there && (s->prepend == PREPEND_ALWAYS || (s->prepend == PREPEND_FIRST && text->origin[start].start == 0));
}

void pre_tokenize_metaspace(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                            int64_t stop)
{
    const struct pre_tokenizer_step *s = r->p->steps + k;
    struct normal_text *out = text_of(r, k);
    int64_t n = (int64_t)strlen(s->blank);

    out->length = 0;
    if (wants_prefix(s, text, start, stop))
        put_bytes(out, s->blank, n, first_origin(text, start));
    while (start < stop) {
        const char *blank = memchr(text->text + start, ' ', (size_t)(stop - start));
        int64_t to = blank ? blank - text->text : stop;
        put_range(out, text, start, to);
        if (blank)
            put_bytes(out, s->blank, n, first_origin(text, to));
        start = to + (blank != NULL);
    }
    hand_on(r, k, out, 0, out->length);
}

void pre_tokenize_bytes(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    struct normal_text *out = text_of(r, k);
    char written[2];
    int64_t whole = 0; /* where the character of the byte came from */

    out->length = 0;
    for (int64_t at = start; at < stop; at++) {
        int64_t n = byte_alphabet_write(&r->p->alphabet, written, text->text + at, 1);
        struct token_span from = first_origin(text, at);
        whole = utf8_continues(text->text[at]) ? whole : from.start;
        put_bytes(out, written, n, (struct token_span){ whole, from.end });
    }
    hand_on(r, k, out, 0, out->length);
}

void pre_tokenizer_start(struct pre_tokenizer_run *r, const struct pre_tokenizer *p, bool track,
                         pre_tokenizer_emit_fn *emit, void *to)
{
    *r = (struct pre_tokenizer_run){ .p = p, .track = track, .emit = emit, .to = to };
}

void pre_tokenizer_cut(struct pre_tokenizer_run *r, const struct normal_text *text, int64_t start, int64_t stop)
{
    if (stop > start)
        hand_on(r, -1, text, start, stop);
}

void pre_tokenizer_end(struct pre_tokenizer_run *r)
{
    for (int i = 0; r->cuts && i < r->p->count; i++)
        cut_end(r->cuts + i);
    for (int i = 0; r->texts && i < r->p->count; i++)
        normal_text_release(r->texts + i);
    free(r->cuts);
    free(r->texts);
}
