#include "models/pipeline/pre_tokenizer.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GROWTH = 16 }; /* times that the steps may make a text as long: a Metaspace and two ByteLevels */

static const char known[] = "BertPreTokenizer, ByteLevel, Digits, Metaspace, Punctuation, Split, Whitespace, "
                            "WhitespaceSplit and CharDelimiterSplit";

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

/* Three steps: a blank before, ByteLevel's own pattern, and the bytes in their alphabet. */
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
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: more than %d steps", c->where, COMPONENT_MAX_STEPS);
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
                         "%s: pre_tokenizer: may make a text more than %d times as long, which is not supported", where,
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
