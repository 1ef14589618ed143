#include "models/text/decoder.h"

#include "models/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The steps of a decoder. Each passes its tokens on to the step after it. */

static void pass_on(struct decoder_run *r, int k, const char *token, size_t n)
{
    if (k + 1 == r->d->count)
        byte_buffer_add(&r->out, token, n);
    else
        r->d->steps[k + 1].put(r, k + 1, token, n);
}

static struct byte_buffer *clear(struct byte_buffer *b)
{
    b->count = 0;
    byte_buffer_add(b, "", 0);
    return b;
}

static void decode_join(struct decoder_run *r, int k, const char *token, size_t n)
{
    if (r->states[k].seen++ > 0)
        pass_on(r, k, " ", 1);
    pass_on(r, k, token, n);
}

/* Decodes a token of the byte alphabet. A token outside the alphabet stays as it is. */
static void decode_byte_level(struct decoder_run *r, int k, const char *token, size_t n)
{
    struct byte_buffer *b = clear(&r->states[k].made);
    int64_t bytes = byte_alphabet_read(&r->d->alphabet, byte_buffer_reserve(b, n), token, (int64_t)n);
    bool holds = r->d->steps[k].end != NULL;

    if (bytes >= 0) {
        b->count = (size_t)bytes;
        token = b->items;
        n = b->count;
    }
    if (holds)
        byte_buffer_add(&r->states[k].held, token, n);
    else
        pass_on(r, k, token, n);
}

/* Replaces each `from` in b by `to`, which must not be longer. */
static void replace_all(struct byte_buffer *b, const char *from, const char *to)
{
    size_t n = strlen(from), m = strlen(to), kept = 0, at = 0;

    while (at < b->count) {
        bool found = b->count - at >= n && memcmp(b->items + at, from, n) == 0;
        if (found)
            memcpy(b->items + kept, to, m);
        else
            b->items[kept] = b->items[at];
        kept += found ? m : 1;
        at += found ? n : 1;
    }
    b->count = kept;
}

static void clean_up(struct byte_buffer *b)
{
    static const char *const changes[][2] = {
        { " .", "." },   { " ?", "?" },     { " !", "!" },     { " ,", "," },
        { " ' ", "'" },  { " n't", "n't" }, { " 'm", "'m" },   { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };

    for (int i = 0; i < ARRAY_LEN(changes) && memchr(b->items, ' ', b->count); i++)
        replace_all(b, changes[i][0], changes[i][1]);
}

/* A token with the prefix continues the word before it; another token starts a word, after a space. The first token is
 * left as it is. */
static void decode_word_piece(struct decoder_run *r, int k, const char *token, size_t n)
{
    const struct decoder_step *s = r->d->steps + k;
    struct byte_buffer *b = clear(&r->states[k].made);
    size_t skip = strlen(s->content);
    bool first = r->states[k].seen++ == 0, goes_on = n >= skip && memcmp(token, s->content, skip) == 0;

    if (!first && !goes_on)
        byte_buffer_add(b, " ", 1);
    skip = !first && goes_on ? skip : 0;
    byte_buffer_add(b, token + skip, n - skip);
    if (s->cleanup)
        clean_up(b);
    pass_on(r, k, b->items, b->count);
}

static void decode_metaspace(struct decoder_run *r, int k, const char *token, size_t n)
{
    const struct decoder_step *s = r->d->steps + k;
    struct byte_buffer *b = clear(&r->states[k].made);
    bool drops = r->states[k].seen++ == 0 && s->drops_first;
    size_t skip = strlen(s->content);

    for (const char *end = token + n, *found; token < end; token = found + skip) {
        found = memmem(token, (size_t)(end - token), s->content, skip);
        byte_buffer_add(b, token, (size_t)((found ? found : end) - token));
        if (!found)
            break;
        if (!drops)
            byte_buffer_add(b, " ", 1);
    }
    pass_on(r, k, b->items, b->count);
}

static void decode_replace(struct decoder_run *r, int k, const char *token, size_t n)
{
    const struct decoder_step *s = r->d->steps + k;
    struct decoder_state *t = r->states + k;
    struct byte_buffer *b = clear(&t->made);
    int64_t at = 0;

    pattern_walk_start(&t->walk, &s->pattern, token, (int64_t)n);
    for (int64_t from, to; n > 0 && pattern_walk_next(&t->walk, &from, &to); at = to) {
        byte_buffer_add(b, token + at, (size_t)(from - at));
        byte_buffer_add(b, s->content, strlen(s->content));
    }
    byte_buffer_add(b, token + at, n - (size_t)at);
    pass_on(r, k, b->items, b->count);
}

static void decode_strip(struct decoder_run *r, int k, const char *token, size_t n)
{
    const struct decoder_step *s = r->d->steps + k;
    size_t skip = strlen(s->content), end = n, at = 0;

    for (int64_t i = 0; i < s->start && n - at >= skip && memcmp(token + at, s->content, skip) == 0; i++)
        at += skip;
    for (int64_t i = 0; i < s->stop && end >= skip && memcmp(token + end - skip, s->content, skip) == 0; i++)
        end -= skip;
    pass_on(r, k, token + at, end > at ? end - at : 0);
}

/* Strips the start of the text rather than of each token; used behind a Fuse. */
static void decode_strip_start(struct decoder_run *r, int k, const char *token, size_t n)
{
    const struct decoder_step *s = r->d->steps + k;
    struct decoder_state *t = r->states + k;
    size_t skip = strlen(s->content), at = 0;

    for (; t->seen < s->start && n - at >= skip && memcmp(token + at, s->content, skip) == 0; at += skip)
        t->seen++;
    if (at < n)
        t->seen = s->start;
    pass_on(r, k, token + at, n - at);
}

/* Returns NN for a token <0xNN>, or -1. */
static int byte_of(const char *token, size_t n)
{
    char *end;

    if (n != 6 || memcmp(token, "<0x", 3) != 0 || token[5] != '>')
        return -1;
    const char digits[3] = { token[3], token[4], '\0' };
    long byte = strtol(digits, &end, 16);
    if (token[3] == '+' && end == digits + 2)
        return (int)byte; /* Rust's parser accepts a sign too */
    return strspn(digits, "0123456789abcdefABCDEF") == 2 ? (int)byte : -1;
}

static bool is_utf8(const struct byte_buffer *b)
{
    uint32_t cp;
    bool valid = true;

    for (size_t at = 0; at < b->count && valid;)
        at += (size_t)utf8_read(b->items + at, (int64_t)(b->count - at), &cp, &valid);
    return valid;
}

/* If the held bytes are not valid UTF-8, each of them becomes U+FFFD. */
static void decode_byte_fallback_end(struct decoder_run *r, int k)
{
    struct byte_buffer *b = &r->states[k].held;
    size_t n = b->count;

    if (n > 0 && (r->exact || is_utf8(b)))
        pass_on(r, k, b->items, n);
    else
        for (size_t i = 0; i < n; i++)
            pass_on(r, k, "\xef\xbf\xbd", 3);
    b->count = 0;
}

static void decode_byte_fallback(struct decoder_run *r, int k, const char *token, size_t n)
{
    int byte = byte_of(token, n);

    if (byte >= 0) {
        byte_buffer_add(&r->states[k].held, &(char){ (char)byte }, 1);
        return;
    }
    decode_byte_fallback_end(r, k);
    pass_on(r, k, token, n);
}

static void put_bpe(struct decoder_run *r, int k, const char *blank)
{
    struct decoder_state *t = r->states + k;
    const char *suffix = r->d->steps[k].content, *at = t->held.items, *end = at + t->held.count;
    struct byte_buffer *b = clear(&t->made);
    size_t skip = strlen(suffix);

    for (const char *found; at < end; at = found + skip) {
        found = memmem(at, (size_t)(end - at), suffix, skip);
        byte_buffer_add(b, at, (size_t)((found ? found : end) - at));
        if (!found)
            break;
        byte_buffer_add(b, blank, strlen(blank));
    }
    pass_on(r, k, b->items, b->count);
}

/* The suffix marks the end of a word. It becomes a space, except in the last token. */
static void decode_bpe(struct decoder_run *r, int k, const char *token, size_t n)
{
    if (r->states[k].seen++ > 0)
        put_bpe(r, k, " ");
    byte_buffer_add(clear(&r->states[k].held), token, n);
}

static void decode_bpe_end(struct decoder_run *r, int k)
{
    if (r->states[k].seen > 0)
        put_bpe(r, k, "");
    r->states[k].seen = 0;
}

static void decode_hold(struct decoder_run *r, int k, const char *token, size_t n)
{
    byte_buffer_add(&r->states[k].held, token, n);
}

static void decode_hold_end(struct decoder_run *r, int k)
{
    struct byte_buffer *b = &r->states[k].held;

    byte_buffer_add(b, "", 0);
    pass_on(r, k, b->items, b->count);
    b->count = 0;
}

static void decode_hold_utf8_end(struct decoder_run *r, int k)
{
    struct byte_buffer *b = &r->states[k].held, *text = clear(&r->states[k].made);
    uint32_t cp;
    bool valid;

    for (size_t at = 0, n; at < b->count; at += n) {
        n = (size_t)utf8_read(b->items + at, (int64_t)(b->count - at), &cp, &valid);
        byte_buffer_add(text, valid ? b->items + at : "\xef\xbf\xbd", valid ? n : 3);
    }
    b->count = 0;
    pass_on(r, k, text->items, text->count);
}

void decoder_start(struct decoder_run *r, const struct decoder *d, bool exact)
{
    *r = (struct decoder_run){ .d = d, .exact = exact };
    r->states = xcalloc((size_t)d->count + 1, sizeof *r->states);
    clear(&r->out);
}

void decoder_put(struct decoder_run *r, const char *token, size_t n)
{
    pass_on(r, -1, token, n);
}

void decoder_end(struct decoder_run *r)
{
    for (int k = 0; k < r->d->count; k++)
        if (r->d->steps[k].end)
            r->d->steps[k].end(r, k);
}

void decoder_run_release(struct decoder_run *r)
{
    for (int k = 0; k < r->d->count; k++) {
        byte_buffer_release(&r->states[k].held);
        byte_buffer_release(&r->states[k].made);
        pattern_walk_end(&r->states[k].walk);
    }
    free(r->states);
    byte_buffer_release(&r->out);
}

static const char known[] = "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip or WordPiece";

/* Copies text to the content of s. Returns -1 if text is NULL. */
static int read_content(struct decoder_step *s, const char *text)
{
    s->content = text ? xstrdup(text) : NULL;
    return text ? 0 : -1;
}

static int read_replace(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "pattern", "content", NULL };

    s->put = decode_replace;
    if (component_only(c, fields, err) || read_content(s, component_text(c, "content", err)))
        return -1;
    return text_pattern_read(&s->pattern, c->o, c->where, err);
}

static int read_byte_level(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "add_prefix_space", "trim_offsets", "use_regex", NULL };

    s->put = decode_byte_level;
    s->end = decode_hold_utf8_end;
    return component_only(c, fields, err);
}

static int read_fuse(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { NULL };

    s->put = decode_hold;
    s->end = decode_hold_end;
    return component_only(c, fields, err);
}

static int read_byte_fallback(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { NULL };

    s->put = decode_byte_fallback;
    s->end = decode_byte_fallback_end;
    return component_only(c, fields, err);
}

static int read_strip(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "content", "start", "stop", NULL };

    s->put = decode_strip;
    return component_only(c, fields, err) || read_content(s, component_char(c, "content", err)) ||
                   json_get_int(c->o, "start", 0, INT32_MAX, &s->start, c->where, err) ||
                   json_get_int(c->o, "stop", 0, INT32_MAX, &s->stop, c->where, err)
               ? -1
               : 0;
}

static int read_word_piece(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "prefix", "cleanup", NULL };

    s->put = decode_word_piece;
    return component_only(c, fields, err) || read_content(s, component_text(c, "prefix", err)) ||
                   json_get_bool(c->o, "cleanup", &s->cleanup, c->where, err)
               ? -1
               : 0;
}

static int read_metaspace(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = {
        "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep", NULL
    };
    const char *scheme = json_string_value(json_object_get(c->o, "prepend_scheme"));
    bool blank = true;

    s->put = decode_metaspace;
    if (component_only(c, fields, err) || read_content(s, component_char(c, "replacement", err)) ||
        component_bool(c, "add_prefix_space", &blank, err))
        return -1;
    s->drops_first = blank && !(scheme && strcmp(scheme, "never") == 0);
    return 0;
}

static int read_bpe(struct decoder_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "suffix", NULL };

    s->put = decode_bpe;
    s->end = decode_bpe_end;
    if (component_only(c, fields, err) || read_content(s, component_text(c, "suffix", err)))
        return -1;
    return *s->content
               ? 0
               : error_set(err, EXIT_CODE_CHECKPOINT, "%s: suffix: expected a text, got an empty one", c->where);
}

static struct decoder_step *add_step(struct decoder *d)
{
    GROW(d->steps, d->count, d->cap);
    d->steps[d->count] = (struct decoder_step){ .put = decode_join };
    return d->steps + d->count++;
}

static int read_step(void *into, const struct component *c, struct error *err)
{
    static const struct {
        const char *type;
        int (*read)(struct decoder_step *s, const struct component *c, struct error *err);
    } kinds[] = {
        { "BPEDecoder", read_bpe }, { "ByteFallback", read_byte_fallback }, { "ByteLevel", read_byte_level },
        { "Fuse", read_fuse },      { "Metaspace", read_metaspace },        { "Replace", read_replace },
        { "Strip", read_strip },    { "WordPiece", read_word_piece },
    };
    struct decoder *d = into;

    if (d->count == COMPONENT_MAX_STEPS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected at most %d steps", c->where, COMPONENT_MAX_STEPS);
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].type, c->type) == 0)
            return kinds[i].read(add_step(d), c, err);
    return 1;
}

static int check_growth(const struct decoder *d, const char *where, struct error *err)
{
    int64_t total = 1;

    for (int i = 0; i < d->count && total <= COMPONENT_MAX_GROWTH; i++)
        if (d->steps[i].put == decode_replace) {
            const struct text_pattern *p = &d->steps[i].pattern;
            total *= (int64_t)strlen(d->steps[i].content) / (p->text ? p->length : 1) + 1;
        }
    if (total > COMPONENT_MAX_GROWTH)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: decoder: expected steps that lengthen a text by a factor of at most %d", where,
                         COMPONENT_MAX_GROWTH);
    return 0;
}

/* Lets the last steps pass tokens on at once where the result is the same. A Fuse is dropped, a Strip behind a Fuse
 * strips the start of the text, and a ByteLevel holds nothing. */
static void avoid_holding(struct decoder *d)
{
    struct decoder_step *last = d->steps + d->count - 1;

    if (d->count > 1 && last->put == decode_strip && last->stop == 0 && last[-1].put == decode_hold) {
        last->put = decode_strip_start;
        last[-1] = *last;
        d->count--;
    } else if (last->put == decode_hold) {
        d->count--;
    } else if (last->put == decode_byte_level) {
        last->end = NULL;
    }
}

int decoder_read(struct decoder *d, const json_t *root, const char *where, struct error *err)
{
    byte_alphabet_init(&d->alphabet);
    if (components_read(root, "decoder", "decoders", read_step, known, d, where, err) || check_growth(d, where, err))
        return -1;
    const json_t *o = json_object_get(root, "decoder");
    if (!o || json_is_null(o))
        add_step(d);
    if (d->count > 0)
        avoid_holding(d);
    return 0;
}

void decoder_release(struct decoder *d)
{
    for (int i = 0; i < d->count; i++) {
        text_pattern_release(&d->steps[i].pattern);
        free(d->steps[i].content);
    }
    free(d->steps);
    *d = (struct decoder){ 0 };
}
