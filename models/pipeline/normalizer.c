#include "models/pipeline/normalizer.h"

#include <stdlib.h>
#include <string.h>

static const char known[] = "BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, "
                            "Nmt, ByteLevel and Precompiled";

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
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: more than %d steps", c->where, COMPONENT_MAX_STEPS);
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].type, c->type) == 0)
            return kinds[i].read(s, c, err);
    return read_plain(s, c, err);
}

/* How many times as long a step may make a text, rounded up. */
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
                         "%s: normalizer: may make a text more than %d times as long, which is not supported", where,
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
    struct normalizer_step *first = add_step(n); /* which makes UTF-8 of a text */
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

/* Places in the text of the step before become places in the text as it was given. */
static void trace(struct normal_text *out, const struct normal_text *last)
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
            trace(&w->out, &w->last);
        normal_text_reserve(&w->out, 1);
        w->out.text[w->out.length] = '\0';
    }
}

void normalizer_work_release(struct normalizer_work *w)
{
    normal_text_release(&w->out);
    normal_text_release(&w->last);
}
