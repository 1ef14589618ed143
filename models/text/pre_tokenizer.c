#include "models/text/pre_tokenizer.h"

#include "models/text/char_class.h"
#include "models/text/normal_text.h"
#include "models/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* The steps. Each passes its pieces on to the step after it. */

static bool pre_tokenizer_white(uint32_t cp)
{
    return char_class(cp) & CHAR_WHITE;
}

static bool pre_tokenizer_punctuation(uint32_t cp)
{
    return char_class(cp) & CHAR_PUNCTUATION;
}

static bool pre_tokenizer_numeric(uint32_t cp)
{
    return char_word_class(cp) & CHAR_NUMERIC;
}

static void pass_on(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    if (k + 1 == r->p->count)
        r->emit(r->to, text, start, stop);
    else
        r->p->steps[k + 1].run(r, k + 1, text, start, stop);
}

/* Buffers are allocated when a step first needs them, because most texts are short. */
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
            pass_on(r, k, text, at, end);
}

/* Cuts into runs of word characters and runs of other characters; white space is removed. */
static void pre_tokenize_words(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                               int64_t stop)
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
            pass_on(r, k, text, from, at);
        from = at;
    }
    if (last != WHITE)
        pass_on(r, k, text, from, stop);
}

/* Cuts out matches and the text between them. One of the two is dropped if the behaviour is Removed. */
static void cut_single(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start, int64_t stop)
{
    const struct pre_tokenizer_step *s = r->p->steps + k;
    bool matches = s->behavior == CUT_ISOLATED || s->invert, between = s->behavior == CUT_ISOLATED || !s->invert;
    struct pattern_walk *w = &cut_of(r, k)->walk;
    int64_t at = start;

    pattern_walk_start(w, &s->pattern, text->text + start, stop - start);
    for (int64_t from, to; pattern_walk_next(w, &from, &to); at = start + to) {
        if (between && start + from > at)
            pass_on(r, k, text, at, start + from);
        if (matches && to > from)
            pass_on(r, k, text, start + from, start + to);
    }
    if (between && at < stop)
        pass_on(r, k, text, at, stop);
}

static void pre_tokenize_cut(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                             int64_t stop)
{
    const struct pre_tokenizer_step *s = r->p->steps + k;
    struct cut *c = cut_of(r, k);

    if (s->behavior == CUT_REMOVED || s->behavior == CUT_ISOLATED) {
        cut_single(r, k, text, start, stop);
        return;
    }
    cut_start(c, &s->pattern, s->behavior, s->invert, text->text + start, stop - start);
    for (int64_t from, to; cut_next(c, &from, &to);)
        pass_on(r, k, text, start + from, start + to);
}

/* Returns the origin of the first character of a piece, for text that is inserted before it. */
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

/* Puts a space before a piece that does not start with one. */
static void pre_tokenize_blank(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                               int64_t stop)
{
    struct normal_text *out = text_of(r, k);

    if (text->text[start] == ' ') {
        pass_on(r, k, text, start, stop);
        return;
    }
    out->length = 0;
    put_bytes(out, " ", 1, first_origin(text, start));
    put_range(out, text, start, stop);
    pass_on(r, k, out, 0, out->length);
}

static bool wants_prefix(const struct pre_tokenizer_step *s, const struct normal_text *text, int64_t start,
                         int64_t stop)
{
    size_t n = strlen(s->blank);
    bool there =
        text->text[start] == ' ' || ((size_t)(stop - start) >= n && memcmp(text->text + start, s->blank, n) == 0);

    return !there && (s->prepend == PREPEND_ALWAYS || (s->prepend == PREPEND_FIRST && text->origin[start].start == 0));
}

static void pre_tokenize_metaspace(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
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
    pass_on(r, k, out, 0, out->length);
}

static void pre_tokenize_bytes(struct pre_tokenizer_run *r, int k, const struct normal_text *text, int64_t start,
                               int64_t stop)
{
    struct normal_text *out = text_of(r, k);
    char written[2];
    int64_t whole = 0; /* start of the current character in the raw text */

    out->length = 0;
    for (int64_t at = start; at < stop; at++) {
        int64_t n = byte_alphabet_write(&r->p->alphabet, written, text->text + at, 1);
        struct token_span from = first_origin(text, at);
        whole = utf8_continues(text->text[at]) ? whole : from.start;
        put_bytes(out, written, n, (struct token_span){ whole, from.end });
    }
    pass_on(r, k, out, 0, out->length);
}

void pre_tokenizer_start(struct pre_tokenizer_run *r, const struct pre_tokenizer *p, bool track,
                         pre_tokenizer_emit_fn *emit, void *to)
{
    *r = (struct pre_tokenizer_run){ .p = p, .track = track, .emit = emit, .to = to };
}

void pre_tokenizer_cut(struct pre_tokenizer_run *r, const struct normal_text *text, int64_t start, int64_t stop)
{
    if (stop > start)
        pass_on(r, -1, text, start, stop);
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

/* Maximum factor by which the steps may lengthen a text: enough for a Metaspace and two ByteLevels. */
enum { MAX_GROWTH = 16 };

static const char known[] = "BertPreTokenizer, ByteLevel, Digits, Metaspace, Punctuation, Split, Whitespace, "
                            "WhitespaceSplit or CharDelimiterSplit";

static struct pre_tokenizer_step *add_step(struct pre_tokenizer *p, pre_tokenizer_fn *run)
{
    GROW(p->steps, p->count, p->cap);
    p->steps[p->count] = (struct pre_tokenizer_step){ .run = run };
    return p->steps + p->count++;
}

static struct pre_tokenizer_step *add_cut(struct pre_tokenizer *p, char_test *is, enum cut_behavior behavior)
{
    struct pre_tokenizer_step *s = add_step(p, pre_tokenize_cut);
    s->pattern.is = is;
    s->behavior = behavior;
    return s;
}

static int read_plain(const struct component *c, struct error *err)
{
    static const char *const fields[] = { NULL };
    return component_only(c, fields, err);
}

static int read_bert(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    add_step(p, pre_tokenize_bert);
    return read_plain(c, err);
}

static int read_whitespace(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    add_step(p, pre_tokenize_words);
    return read_plain(c, err);
}

static int read_whitespace_split(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    add_cut(p, pre_tokenizer_white, CUT_REMOVED);
    return read_plain(c, err);
}

static int read_digits(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "individual_digits", NULL };
    bool single = false;

    if (component_only(c, fields, err) || json_get_bool(c->o, "individual_digits", &single, c->where, err))
        return -1;
    add_cut(p, pre_tokenizer_numeric, single ? CUT_ISOLATED : CUT_CONTIGUOUS);
    return 0;
}

static int read_punctuation(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "behavior", NULL };
    struct pre_tokenizer_step *s = add_cut(p, pre_tokenizer_punctuation, CUT_ISOLATED);
    const char *name = "Isolated";

    if (component_only(c, fields, err) ||
        (json_object_get(c->o, "behavior") && !(name = json_get_string(c->o, "behavior", c->where, err))))
        return -1;
    return cut_behavior_read(&s->behavior, name, c->where, err);
}

static int read_split(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "pattern", "behavior", "invert", NULL };
    struct pre_tokenizer_step *s = add_step(p, pre_tokenize_cut);
    const char *name = component_only(c, fields, err) ? NULL : json_get_string(c->o, "behavior", c->where, err);

    return !name || cut_behavior_read(&s->behavior, name, c->where, err) ||
                   json_get_bool(c->o, "invert", &s->invert, c->where, err) ||
                   text_pattern_read(&s->pattern, c->o, c->where, err)
               ? -1
               : 0;
}

static int read_delimiter(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "delimiter", NULL };
    const char *text = component_only(c, fields, err) ? NULL : component_char(c, "delimiter", err);

    if (text)
        text_pattern_set(&add_cut(p, NULL, CUT_REMOVED)->pattern, text);
    return text ? 0 : -1;
}

/* ByteLevel becomes up to three steps: a leading space, the split by its regular expression, and the byte alphabet. */
static int read_byte_level(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    static const char *const fields[] = { "add_prefix_space", "trim_offsets", "use_regex", NULL };
    bool blank = false, pattern = true, trim;

    if (component_only(c, fields, err) || json_get_bool(c->o, "add_prefix_space", &blank, c->where, err) ||
        component_bool(c, "trim_offsets", &trim, err) || component_bool(c, "use_regex", &pattern, err))
        return -1;
    if (blank)
        add_step(p, pre_tokenize_blank);
    p->adds_blank |= blank;
    p->only_bytes |= !blank;
    if (pattern) {
        struct pre_tokenizer_step *s = add_cut(p, NULL, CUT_ISOLATED);
        s->pattern.regex = regex_open(regex_gpt2, err);
        CHECK(s->pattern.regex, "the pattern of ByteLevel does not compile");
    }
    add_step(p, pre_tokenize_bytes);
    return 0;
}

static int read_scheme(struct pre_tokenizer_step *s, const struct component *c, struct error *err)
{
    static const char *const names[] = { "always", "first", "never" };
    const char *name = names[PREPEND_ALWAYS];
    bool blank = true;
    int i = 0;

    if ((json_object_get(c->o, "prepend_scheme") && !(name = component_text(c, "prepend_scheme", err))) ||
        component_bool(c, "add_prefix_space", &blank, err))
        return -1;
    while (i < ARRAY_LEN(names) && strcmp(names[i], name) != 0)
        i++;
    if (i == ARRAY_LEN(names))
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: prepend_scheme: expected always, first or never, got \"%.80s\"", c->where, name);
    s->prepend = i == PREPEND_ALWAYS ? PREPEND_ALWAYS : i == PREPEND_FIRST ? PREPEND_FIRST : PREPEND_NEVER;
    if (!blank && s->prepend != PREPEND_NEVER)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: add_prefix_space: false, but prepend_scheme is not never",
                         c->where);
    return 0;
}

static int read_metaspace(struct pre_tokenizer *p, const struct component *c, struct error *err)
{
    static const char *const fields[] = {
        "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep", NULL
    };
    struct pre_tokenizer_step *s = add_step(p, pre_tokenize_metaspace);
    const char *blank = component_only(c, fields, err) ? NULL : component_char(c, "replacement", err);
    bool cuts = true;

    if (!blank || read_scheme(s, c, err) || component_bool(c, "split", &cuts, err))
        return -1;
    snprintf(s->blank, sizeof s->blank, "%s", blank);
    p->adds_blank |= s->prepend != PREPEND_NEVER;
    p->needs_origin |= s->prepend == PREPEND_FIRST;
    if (cuts)
        text_pattern_set(&add_cut(p, NULL, CUT_MERGED_WITH_NEXT)->pattern, blank);
    return 0;
}

static int read_step(void *into, const struct component *c, struct error *err)
{
    static const struct {
        const char *type;
        int (*read)(struct pre_tokenizer *p, const struct component *c, struct error *err);
    } kinds[] = {
        { "BertPreTokenizer", read_bert },
        { "ByteLevel", read_byte_level },
        { "Digits", read_digits },
        { "Metaspace", read_metaspace },
        { "Punctuation", read_punctuation },
        { "Split", read_split },
        { "Whitespace", read_whitespace },
        { "WhitespaceSplit", read_whitespace_split },
        { "CharDelimiterSplit", read_delimiter },
    };
    struct pre_tokenizer *p = into;

    if (p->count > COMPONENT_MAX_STEPS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected at most %d steps", c->where, COMPONENT_MAX_STEPS);
    for (int i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i].type, c->type) == 0)
            return kinds[i].read(p, c, err);
    return 1;
}

int pre_tokenizer_read(struct pre_tokenizer *p, const json_t *root, const char *where, struct error *err)
{
    int64_t growth = 1;

    byte_alphabet_init(&p->alphabet);
    if (components_read(root, "pre_tokenizer", "pretokenizers", read_step, known, p, where, err))
        return -1;
    for (int i = 0; i < p->count && growth <= MAX_GROWTH; i++)
        growth *= p->steps[i].run == pre_tokenize_metaspace ? 4 : p->steps[i].run == pre_tokenize_bytes ? 2 : 1;
    if (growth > MAX_GROWTH)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: pre_tokenizer: expected steps that lengthen a text by a factor of at most %d", where,
                         MAX_GROWTH);
    return 0;
}

void pre_tokenizer_leave_bytes(struct pre_tokenizer *p)
{
    p->bytes = p->count > 0 && p->steps[p->count - 1].run == pre_tokenize_bytes;
    p->count -= p->bytes;
}

void pre_tokenizer_release(struct pre_tokenizer *p)
{
    for (int i = 0; i < p->count; i++)
        text_pattern_release(&p->steps[i].pattern);
    free(p->steps);
    *p = (struct pre_tokenizer){ 0 };
}
