/* Part of normalizer.h: SentencePiece's table of characters, applied as tokenizers does. */
#include "models/pipeline/normalizer.h"
#include "models/unicode/char_class.h"
#include "models/unicode/utf8.h"

#include <string.h>
#include <utf8proc.h>

enum { MAX_CLUSTER = 5 }; /* bytes of a cluster that is looked up as a whole */

/* A mark that is newer than utf8proc's Unicode, which takes it for a letter. */
static bool is_new_mark(uint32_t cp)
{
    return char_word_class(cp) & CHAR_COMBINING && utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_CN;
}

static bool is_control(uint32_t cp)
{
    unsigned kind = utf8proc_get_property((utf8proc_int32_t)cp)->boundclass;
    return kind >= UTF8PROC_BOUNDCLASS_CR && kind <= UTF8PROC_BOUNDCLASS_CONTROL;
}

/* Where the grapheme cluster ends that begins at a byte. */
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

static void put(struct normal_text *out, const char *text, int64_t start, int64_t end, const char *instead)
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

/* A short cluster becomes, as a whole, what the shortest start of it becomes; else each character goes by itself. */
static void put_cluster(const struct charsmap *m, const char *text, int64_t at, int64_t end, struct normal_text *out)
{
    const char *instead = end - at <= MAX_CLUSTER ? charsmap_find(m, text + at, end - at) : NULL;
    uint32_t cp;
    bool valid;

    if (instead) {
        put(out, text, at, end, instead);
        return;
    }
    for (int64_t bytes; at < end; at += bytes) {
        bytes = utf8_read(text + at, end - at, &cp, &valid);
        put(out, text, at, at + bytes, charsmap_find(m, text + at, bytes));
    }
}

/* A character that is a cluster by itself, which most are. */
static bool stands_alone(const char *text, int64_t at, int64_t end)
{
    return (unsigned char)text[at] < 0x80 && text[at] != '\r' && (at + 1 == end || (unsigned char)text[at + 1] < 0x80);
}

/* What was left out before the first character belongs to it, as in tokenizers: its Metaspace asks whether a piece
 * begins the text. */
static void begin_with_text(struct normal_text *out, int64_t start)
{
    for (int64_t i = 0; i < out->length && (i == 0 || utf8_continues(out->text[i])); i++)
        out->origin[i].start = start;
}

void normalize_charsmap(const struct normalizer_step *s, const char *text, int64_t start, int64_t end,
                        struct normal_text *out)
{
    const struct charsmap *m = s->charsmap;

    for (int64_t at = start, stop; at < end; at = stop) {
        stop = at;
        while (stop < end && stands_alone(text, stop, end) && !m->ascii[(int)text[stop]])
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
