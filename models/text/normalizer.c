#include "models/text/normalizer.h"

#include "kernels/base.h"
#include "models/text/byte_alphabet.h"
#include "models/text/char_class.h"
#include "models/text/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* SentencePiece's precompiled character map (Kudo and Richardson 2018): replacement texts by prefix.
 *
 * The map is a trie in a double array over the bytes of a text. A leaf holds an offset among zero-terminated
 * replacement texts. The file is untrusted: each step checks its bounds and consumes a byte, so a lookup always ends.
 */

enum { CHARSMAP_MAX_BYTES = 16 << 20 };

struct charsmap {
    uint32_t *units;
    uint32_t n_units;
    char *texts; /* replacement texts: valid UTF-8, n_texts bytes and a zero */
    uint32_t n_texts;
    int64_t longest;        /* length in bytes of the longest replacement */
    const char *ascii[128]; /* replacement of each ASCII character, NULL: unchanged */
};

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Decodes base64 into out, which holds n / 4 * 3 bytes. Returns the number of bytes, or -1 if the text is not padded
 * base64. */
static int64_t base64_decode(unsigned char *out, const char *text, size_t n)
{
    size_t digits = n;
    uint32_t bits = 0;
    int64_t made = 0;

    while (digits > 0 && n - digits < 2 && text[digits - 1] == '=')
        digits--;
    if (n % 4)
        return -1;
    for (size_t i = 0; i < digits; i++) {
        int d = base64_digit(text[i]);
        if (d < 0)
            return -1;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4)
            out[made++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    return made;
}

static uint32_t read_u32(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static int read_texts(struct charsmap *m, const unsigned char *bytes, uint32_t n, struct error *err)
{
    uint32_t cp, at = 0;
    bool valid = true;

    m->texts = xmalloc((size_t)n + 1);
    memcpy(m->texts, bytes, n);
    m->texts[n] = '\0';
    m->n_texts = n;
    while (at < n && valid)
        at += (uint32_t)utf8_read(m->texts + at, n - at, &cp, &valid);
    if (!valid)
        return error_set(err, EXIT_CODE_CHECKPOINT, "the replacement texts are not UTF-8");
    for (at = 0; at < n; at += (uint32_t)strlen(m->texts + at) + 1)
        if ((int64_t)strlen(m->texts + at) > m->longest)
            m->longest = (int64_t)strlen(m->texts + at);
    return 0;
}

static int read_table(struct charsmap *m, const unsigned char *bytes, int64_t n, struct error *err)
{
    uint32_t size = n >= 4 ? read_u32(bytes) : 0;

    if (size == 0 || size % 4 || size > n - 4)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected a trie of 4-byte units, got %u of %lld bytes", size,
                         (long long)n);
    m->n_units = size / 4;
    m->units = xmalloc(size);
    for (uint32_t i = 0; i < m->n_units; i++)
        m->units[i] = read_u32(bytes + 4 + (size_t)4 * i);
    return read_texts(m, bytes + 4 + size, (uint32_t)(n - 4 - size), err);
}

/* Returns the base of a unit's children, to be combined with their bytes by exclusive or. */
static uint32_t trie_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & 1u << 9) >> 6);
}

/* Returns the replacement of the shortest prefix of these n bytes that is in the map, or NULL. */
static const char *charsmap_find(const struct charsmap *m, const char *text, int64_t n)
{
    /* A unit of Darts-clone: bits 0 to 7 are the byte, and bit 8 tells that a leaf follows. Bit 9 scales the offset in
     * bits 10 to 30. Bit 31 marks a leaf, whose other bits are its value. */
    uint32_t at = trie_offset(m->units[0]);

    for (int64_t i = 0; i < n && text[i]; i++) {
        unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (at >= m->n_units || (m->units[at] & (1u << 31 | 0xFF)) != byte)
            return NULL;
        uint32_t unit = m->units[at];
        at ^= trie_offset(unit);
        if (unit >> 8 & 1) {
            uint32_t place = at < m->n_units ? m->units[at] & ~(1u << 31) : m->n_texts;
            return place < m->n_texts && !utf8_continues(m->texts[place]) ? m->texts + place : NULL;
        }
    }
    return NULL;
}

/* Reads the map from base64. Returns -1 with EXIT_CODE_CHECKPOINT. */
static int charsmap_read(struct charsmap *m, const char *base64, struct error *err)
{
    size_t n = strlen(base64);

    if (n > CHARSMAP_MAX_BYTES)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected at most %d bytes, got %zu", CHARSMAP_MAX_BYTES, n);
    unsigned char *bytes = xmalloc(n + 1);
    int64_t made = base64_decode(bytes, base64, n);
    int rc = made < 0 ? error_set(err, EXIT_CODE_CHECKPOINT, "expected base64") : read_table(m, bytes, made, err);
    free(bytes);
    for (int c = 1; c < 128 && rc == 0; c++)
        m->ascii[c] = charsmap_find(m, &(char){ (char)c }, 1);
    return rc;
}

static void charsmap_release(struct charsmap *m)
{
    free(m->units);
    free(m->texts);
    *m = (struct charsmap){ 0 };
}

/* Returns the maximum factor by which the map lengthens a text, rounded up. */
static int64_t charsmap_growth(const struct charsmap *m)
{
    int64_t max = m->longest / 2 + 1; /* a character outside ASCII has at least two bytes */

    for (int c = 1; c < 128; c++)
        if (m->ascii[c] && (int64_t)strlen(m->ascii[c]) > max)
            max = (int64_t)strlen(m->ascii[c]);
    return max;
}

/* Application of the character map, as in Hugging Face's tokenizers. */

enum { MAX_CLUSTER = 5 }; /* maximum bytes of a grapheme cluster that is looked up as a whole */

/* Returns whether the code point is a mark that utf8proc's Unicode version does not know. */
static bool is_new_mark(uint32_t cp)
{
    return char_word_class(cp) & CHAR_COMBINING && utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_CN;
}

static bool is_control(uint32_t cp)
{
    unsigned kind = utf8proc_get_property((utf8proc_int32_t)cp)->boundclass;
    return kind >= UTF8PROC_BOUNDCLASS_CR && kind <= UTF8PROC_BOUNDCLASS_CONTROL;
}

/* Returns the end of the grapheme cluster that starts at `at`. */
static int64_t cluster_end(const char *text, int64_t at, int64_t end)
{
    utf8proc_int32_t state = 0;
    uint32_t cp, next;
    bool valid;

    at += utf8_read(text + at, end - at, &cp, &valid);
    while (at < end) {
        int bytes = utf8_read(text + at, end - at, &next, &valid);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)cp, (utf8proc_int32_t)next, &state) &&
            !(is_new_mark(next) && !is_control(cp)))
            break;
        at += bytes;
        cp = next;
    }
    return at;
}

static void put_replacement(struct normal_text *out, const char *text, int64_t start, int64_t end, const char *instead)
{
    int64_t n = instead ? (int64_t)strlen(instead) : 0;

    if (!instead) {
        normal_text_copy(out, text, start, end);
        return;
    }
    normal_text_reserve(out, n + 1);
    memcpy(out->text + out->length, instead, (size_t)n);
    for (int64_t i = 0; out->track && i < n; i++)
        out->origin[out->length + i] = (struct token_span){ start, end };
    out->length += n;
}

/* Replaces a short cluster by the replacement of its shortest mapped prefix. Otherwise each character is replaced by
 * itself. */
static void put_cluster(const struct charsmap *m, const char *text, int64_t at, int64_t end, struct normal_text *out)
{
    const char *instead = end - at <= MAX_CLUSTER ? charsmap_find(m, text + at, end - at) : NULL;
    uint32_t cp;
    bool valid;

    if (instead) {
        put_replacement(out, text, at, end, instead);
        return;
    }
    for (int64_t bytes; at < end; at += bytes) {
        bytes = utf8_read(text + at, end - at, &cp, &valid);
        put_replacement(out, text, at, at + bytes, charsmap_find(m, text + at, bytes));
    }
}

/* Returns whether the ASCII character at `at` is a grapheme cluster by itself. Most characters are. */
static bool is_single_cluster(const char *text, int64_t at, int64_t end)
{
    return (unsigned char)text[at] < 0x80 && text[at] != '\r' && (at + 1 == end || (unsigned char)text[at + 1] < 0x80);
}

/* The first character inherits the origin of removed text before it. The library's Metaspace relies on this to tell
 * whether a piece starts the text. */
static void begin_with_text(struct normal_text *out, int64_t start)
{
    for (int64_t i = 0; i < out->length && (i == 0 || utf8_continues(out->text[i])); i++)
        out->origin[i].start = start;
}

static void normalize_charsmap(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                               struct normal_text *out)
{
    const struct charsmap *m = s->charsmap;

    for (int64_t at = start, stop; at < end; at = stop) {
        stop = at;
        while (stop < end && is_single_cluster(text, stop, end) && !m->ascii[(int)text[stop]])
            stop++;
        if (stop > at)
            normal_text_copy(out, text, at, stop);
        if (stop < end && stop == at) {
            stop = cluster_end(text, at, end);
            put_cluster(m, text, at, stop, out);
        }
    }
    if (out->track)
        begin_with_text(out, start);
}

/* The steps. All but normalize_form and normalize_bert expect valid UTF-8. */

static void normalize_form(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                           struct normal_text *out)
{
    normal_form_apply(s->form, text, start, end, out);
}

static void normalize_bert(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                           struct normal_text *out)
{
    bert_normalize(&s->bert, text, start, end, out);
}

static void normalize_lowercase(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
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

static void normalize_strip(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
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

static void normalize_accents(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
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

static void normalize_nmt(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
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

/* Appends content; each of its bytes has the origin `from`. */
static void put_content(struct normal_text *out, const char *content, struct token_span from)
{
    int64_t n = (int64_t)strlen(content);

    normal_text_reserve(out, n + 1);
    memcpy(out->text + out->length, content, (size_t)n);
    for (int64_t i = 0; out->track && i < n; i++)
        out->origin[out->length + i] = from;
    out->length += n;
}

/* Returns the bytes of the character that starts at `at`. */
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

static void normalize_prepend(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                              struct normal_text *out)
{
    if (end > start)
        put_content(out, s->content, char_at(text, start, end));
    normal_text_copy(out, text, start, end);
}

/* The replacement has the origin of the last character that it replaces, as in Hugging Face's tokenizers. */
static void normalize_replace(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
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

static void normalize_bytes(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
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

static const char known[] = "BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, "
                            "Nmt, ByteLevel or Precompiled";

static int read_accents(const struct component *c, enum accents *out, struct error *err)
{
    const json_t *v = json_object_get(c->o, "strip_accents");
    bool strip = false;

    *out = ACCENTS_AS_CASE;
    if (!v || json_is_null(v))
        return 0;
    if (json_get_bool(c->o, "strip_accents", &strip, c->where, err))
        return -1;
    *out = strip ? ACCENTS_STRIP : ACCENTS_KEEP;
    return 0;
}

static int read_bert(struct normalizer_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "clean_text", "handle_chinese_chars", "strip_accents", "lowercase", NULL };
    struct bert_normalizer *n = &s->bert;

    s->run = normalize_bert;
    if (component_only(c, fields, err) || json_get_bool(c->o, "clean_text", &n->clean_text, c->where, err) ||
        json_get_bool(c->o, "handle_chinese_chars", &n->chinese, c->where, err) ||
        json_get_bool(c->o, "lowercase", &n->lowercase, c->where, err) || read_accents(c, &n->accents, err))
        return -1;
    bert_normalizer_prepare(n);
    return 0;
}

static int read_strip(struct normalizer_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "strip_left", "strip_right", NULL };

    s->run = normalize_strip;
    return component_only(c, fields, err) || json_get_bool(c->o, "strip_left", &s->left, c->where, err) ||
                   json_get_bool(c->o, "strip_right", &s->right, c->where, err)
               ? -1
               : 0;
}

static int read_prepend(struct normalizer_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "prepend", NULL };
    const char *text = component_only(c, fields, err) ? NULL : component_text(c, "prepend", err);

    s->run = normalize_prepend;
    s->content = text ? xstrdup(text) : NULL;
    return text ? 0 : -1;
}

static int read_replace(struct normalizer_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "pattern", "content", NULL };
    const char *text = component_only(c, fields, err) ? NULL : component_text(c, "content", err);

    s->run = normalize_replace;
    s->content = text ? xstrdup(text) : NULL;
    return text ? text_pattern_read(&s->pattern, c->o, c->where, err) : -1;
}

static int read_precompiled(struct normalizer_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "precompiled_charsmap", NULL };
    const char *base64 =
        component_only(c, fields, err) ? NULL : json_get_string(c->o, "precompiled_charsmap", c->where, err);

    if (!base64)
        return -1;
    s->run = normalize_charsmap;
    s->charsmap = xcalloc(1, sizeof *s->charsmap);
    return charsmap_read(s->charsmap, base64, err) ? error_prefix(err, "%s: precompiled_charsmap", c->where) : 0;
}

/* Steps without settings. */
static const struct {
    const char *type;
    normalizer_fn *run;
    enum normal_form form;
} plain[] = {
    { "NFC", normalize_form, FORM_NFC },
    { "NFD", normalize_form, FORM_NFD },
    { "NFKC", normalize_form, FORM_NFKC },
    { "NFKD", normalize_form, FORM_NFKD },
    { "Lowercase", normalize_lowercase, FORM_AS_IS },
    { "StripAccents", normalize_accents, FORM_AS_IS },
    { "Nmt", normalize_nmt, FORM_AS_IS },
    { "ByteLevel", normalize_bytes, FORM_AS_IS },
};

static int read_plain(struct normalizer_step *s, const struct component *c, struct error *err)
{
    static const char *const fields[] = { NULL };

    for (int i = 0; i < ARRAY_LEN(plain); i++)
        if (strcmp(plain[i].type, c->type) == 0) {
            s->run = plain[i].run;
            s->form = plain[i].form;
            return component_only(c, fields, err);
        }
    return 1;
}

static struct normalizer_step *add_step(struct normalizer *n)
{
    GROW(n->steps, n->count, n->cap);
    n->steps[n->count] = (struct normalizer_step){ .run = normalize_form };
    return n->steps + n->count++;
}

static int read_step(void *into, const struct component *c, struct error *err)
{
    static const struct {
        const char *type;
        int (*read)(struct normalizer_step *s, const struct component *c, struct error *err);
    } kinds[] = {
        { "BertNormalizer", read_bert }, { "Precompiled", read_precompiled }, { "Strip", read_strip },
        { "Prepend", read_prepend },     { "Replace", read_replace },
    };
    struct normalizer *n = into;
    struct normalizer_step *s = add_step(n);

    if (n->count > COMPONENT_MAX_STEPS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected at most %d steps", c->where, COMPONENT_MAX_STEPS);
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].type, c->type) == 0)
            return kinds[i].read(s, c, err);
    return read_plain(s, c, err);
}

/* Returns the maximum factor by which a step lengthens a text, rounded up. */
static int64_t growth(const struct normalizer_step *s)
{
    int64_t content = s->content ? (int64_t)strlen(s->content) : 0;

    if (s->run == normalize_form && s->form != FORM_AS_IS)
        return s->form == FORM_NFC || s->form == FORM_NFD ? 3 : 11;
    if (s->run == normalize_bert || s->run == normalize_lowercase || s->run == normalize_bytes)
        return 3;
    if (s->run == normalize_charsmap)
        return charsmap_growth(s->charsmap);
    if (s->run == normalize_replace && s->pattern.text)
        return content / s->pattern.length + 1;
    return content + 1;
}

static int check_growth(const struct normalizer *n, const char *where, struct error *err)
{
    int64_t total = 1;

    for (int i = 0; i < n->count && total <= COMPONENT_MAX_GROWTH; i++)
        total *= growth(n->steps + i);
    if (total > COMPONENT_MAX_GROWTH)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: normalizer: expected steps that lengthen a text by a factor of at most %d", where,
                         COMPONENT_MAX_GROWTH);
    return 0;
}

int normalizer_read(struct normalizer *n, const json_t *root, const char *where, struct error *err)
{
    if (components_read(root, "normalizer", "normalizers", read_step, known, n, where, err) ||
        check_growth(n, where, err))
        return -1;
    if (n->count > 0 && (n->steps[0].run == normalize_form || n->steps[0].run == normalize_bert))
        return 0;
    struct normalizer_step *first = add_step(n); /* makes the text valid UTF-8 */
    memmove(n->steps + 1, n->steps, (size_t)(first - n->steps) * sizeof *first);
    n->steps[0] = (struct normalizer_step){ .run = normalize_form };
    return 0;
}

struct bert_normalizer *normalizer_bert(const struct normalizer *n)
{
    return n->count == 1 && n->steps[0].run == normalize_bert ? &n->steps[0].bert : NULL;
}

bool normalizer_prepends(const struct normalizer *n)
{
    for (int i = 0; i < n->count; i++)
        if (n->steps[i].run == normalize_prepend)
            return true;
    return false;
}

void normalizer_release(struct normalizer *n)
{
    for (int i = 0; i < n->count; i++) {
        free(n->steps[i].content);
        text_pattern_release(&n->steps[i].pattern);
        if (n->steps[i].charsmap)
            charsmap_release(n->steps[i].charsmap);
        free(n->steps[i].charsmap);
    }
    free(n->steps);
    *n = (struct normalizer){ 0 };
}

/* Maps origins in the output of the previous step to origins in the raw text. */
static void map_origins(struct normal_text *out, const struct normal_text *last)
{
    for (int64_t i = 0; i < out->length; i++) {
        struct token_span *o = out->origin + i, whole = last->origin[o->start];
        for (int64_t k = o->start + 1; k < o->end; k++) {
            whole.start = last->origin[k].start < whole.start ? last->origin[k].start : whole.start;
            whole.end = last->origin[k].end > whole.end ? last->origin[k].end : whole.end;
        }
        *o = whole;
    }
}

void normalizer_run(const struct normalizer *n, const char *text, int64_t start, int64_t end, struct normalizer_work *w)
{
    w->last.track = w->out.track;
    for (int i = 0; i < n->count; i++) {
        if (i > 0) {
            struct normal_text swap = w->last;
            w->last = w->out;
            w->out = swap;
            text = w->last.text;
            start = 0;
            end = w->last.length;
        }
        w->out.length = 0;
        n->steps[i].run(n->steps + i, text, start, end, &w->out);
        if (i > 0 && w->out.track)
            map_origins(&w->out, &w->last);
        normal_text_reserve(&w->out, 1);
        w->out.text[w->out.length] = '\0';
    }
}

void normalizer_work_release(struct normalizer_work *w)
{
    normal_text_release(&w->out);
    normal_text_release(&w->last);
}
