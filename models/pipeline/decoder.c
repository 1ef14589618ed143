#include "models/pipeline/decoder.h"

#include <stdlib.h>
#include <string.h>

static const char known[] = "BPEDecoder, ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip and WordPiece";

/* Text becomes the content of s; -1 when there is none. */
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
    return *s->content ? 0 : error_set(err, EXIT_CODE_CHECKPOINT, "%s: suffix is empty", c->where);
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
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: more than %d steps", c->where, COMPONENT_MAX_STEPS);
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
                         "%s: decoder: may make a text more than %d times as long, which is not supported", where,
                         COMPONENT_MAX_GROWTH);
    return 0;
}

/* What stands at the end need not see all of the tokens before it hands them on. */
static void let_flow(struct decoder *d)
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
        let_flow(d);
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
