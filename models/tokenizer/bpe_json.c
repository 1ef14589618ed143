/* Part of tokenizer.h: a byte-level tokenizer.json, which is Split by a regular expression, then BPE over bytes.  Its
 * post_processor only adds special tokens, which callers do themselves, and is not read. */
#include "data/util/log.h"
#include "models/tokenizer/tokenizer_read.h"

#include <string.h>

/* A field that nobody here knows may change the result. */
static int only_fields(const json_t *o, const char *const *fields, const char *where, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)o, key, value)
    {
        int i = 0;
        while (fields[i] && strcmp(fields[i], key) != 0)
            i++;
        if (!fields[i])
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: field \"%.80s\" is not known", where, key);
    }
    return 0;
}

/* A boolean that must be there and have this value. */
static int want_bool(const json_t *o, const char *field, bool wanted, const char *where, struct error *err)
{
    bool found;

    if (json_get_bool(o, field, &found, where, err))
        return -1;
    if (found != wanted)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected %s, got %s", where, field,
                         wanted ? "true" : "false", found ? "true" : "false");
    return 0;
}

static int want_string(const json_t *o, const char *field, const char *wanted, const char *where, struct error *err)
{
    const char *found = json_get_string(o, field, where, err);

    if (!found)
        return -1;
    if (strcmp(found, wanted) != 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected \"%s\", got \"%.80s\"", where, field, wanted,
                         found);
    return 0;
}

static int read_normalizer(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    static const char *const fields[] = { "type", NULL };
    char inside[TOKENIZER_MAX_WHERE];
    const json_t *o = json_object_get(root, "normalizer");

    if (!o || json_is_null(o))
        return 0;
    if (!(o = tokenizer_read_typed(root, "normalizer", "NFC", where, err)))
        return -1;
    t->byte_level.nfc = true;
    snprintf(inside, sizeof inside, "%s: normalizer", where);
    return only_fields(o, fields, inside, err);
}

static int read_split(struct tokenizer *t, const json_t *o, const char *where, struct error *err)
{
    static const char *const fields[] = { "type", "pattern", "behavior", "invert", NULL };
    const json_t *pattern = NULL;
    const char *text = NULL;

    if (want_string(o, "type", "Split", where, err) || only_fields(o, fields, where, err) ||
        want_string(o, "behavior", "Isolated", where, err) || want_bool(o, "invert", false, where, err) ||
        !(pattern = json_get_object(o, "pattern", where, err)) ||
        !(text = json_get_string(pattern, "Regex", where, err)))
        return -1;
    if (!(t->byte_level.split = regex_open(text, err)))
        return error_prefix(err, "%s", where);
    if (strcmp(text, regex_llama3) != 0 && strcmp(text, regex_qwen2) != 0)
        log_warn("%s: the pattern is neither Llama 3's nor Qwen 2's; ids were not compared with tokenizers", where);
    return 0;
}

static int read_bytes(const json_t *o, const char *where, struct error *err)
{
    static const char *const fields[] = { "type", "add_prefix_space", "trim_offsets", "use_regex", NULL };

    return want_string(o, "type", "ByteLevel", where, err) || only_fields(o, fields, where, err) ||
                   want_bool(o, "add_prefix_space", false, where, err) || want_bool(o, "use_regex", false, where, err)
               ? -1
               : 0;
}

static int read_pre_tokenizer(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE], first[TOKENIZER_MAX_WHERE + 32], second[TOKENIZER_MAX_WHERE + 32];
    const json_t *o = tokenizer_read_typed(root, "pre_tokenizer", "Sequence", where, err), *list = NULL;

    snprintf(inside, sizeof inside, "%s: pre_tokenizer", where);
    if (!o || !(list = json_get_array(o, "pretokenizers", inside, err)))
        return -1;
    if (json_array_size(list) != 2)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected Split and ByteLevel, got %zu pretokenizers", inside,
                         json_array_size(list));
    snprintf(first, sizeof first, "%s: pretokenizers[0]", inside);
    snprintf(second, sizeof second, "%s: pretokenizers[1]", inside);
    return read_split(t, json_array_get(list, 0), first, err) || read_bytes(json_array_get(list, 1), second, err) ? -1
                                                                                                                  : 0;
}

/* "a b", or since tokenizers 0.20 ["a", "b"] */
static int read_merge(struct tokenizer *t, const json_t *o, struct error *err)
{
    const char *left = json_string_value(json_is_array(o) ? json_array_get(o, 0) : o);
    const char *right = json_string_value(json_array_get(o, 1)), *blank = NULL;

    if (left && json_is_string(o) && (blank = strchr(left, ' ')))
        right = blank + 1;
    if (!left || !right || strchr(right, ' ') || (json_is_array(o) && json_array_size(o) != 2))
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected two tokens, \"a b\" or [\"a\", \"b\"]");
    return bpe_add_merge(&t->byte_level.bpe, &t->vocab, left, blank ? blank - left : (int64_t)strlen(left), right, err);
}

static int read_merges(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    const json_t *list = json_get_array(model, "merges", where, err), *o;
    size_t i;

    if (!list)
        return -1;
    json_array_foreach(list, i, o)
    {
        if (read_merge(t, o, err))
            return error_prefix(err, "%s: merges[%zu]", where, i);
    }
    return bpe_prepare(&t->byte_level.bpe, &t->vocab, t->model_tokens, err) ? error_prefix(err, "%s", where) : 0;
}

/* Settings that must be at rest: absent, null, false, zero or empty. */
static int refuse_settings(const json_t *model, const char *where, struct error *err)
{
    static const char *const names[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix",
                                         "byte_fallback" };

    for (int i = 0; i < ARRAY_LEN(names); i++) {
        const json_t *v = json_object_get(model, names[i]);
        bool rests = !v || json_is_null(v) || json_is_false(v) || (json_is_string(v) && !*json_string_value(v)) ||
                     (json_is_number(v) && json_number_value(v) <= 0);
        if (!rests)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s is set, which is not supported", where, names[i]);
    }
    return 0;
}

/* unk_token and fuse_unk say what becomes of bytes without a token; there are none. */
static int read_model(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    static const char *const fields[] = { "type",
                                          "dropout",
                                          "unk_token",
                                          "fuse_unk",
                                          "byte_fallback",
                                          "continuing_subword_prefix",
                                          "ignore_merges",
                                          "vocab",
                                          "merges",
                                          "end_of_word_suffix",
                                          NULL };
    char inside[TOKENIZER_MAX_WHERE];
    const json_t *model = tokenizer_read_typed(root, "model", "BPE", where, err);

    snprintf(inside, sizeof inside, "%s: model", where);
    if (!model || only_fields(model, fields, inside, err) || refuse_settings(model, inside, err) ||
        tokenizer_read_bool(model, "ignore_merges", &t->byte_level.bpe.ignore_merges, inside, err) < 0 ||
        tokenizer_read_vocab(t, model, inside, err))
        return -1;
    if (tokenizer_end_model(t, NULL, err))
        return error_prefix(err, "%s: vocab", inside);
    return read_merges(t, model, inside, err);
}

static int read_decoder(const json_t *root, const char *where, struct error *err)
{
    return tokenizer_read_typed(root, "decoder", "ByteLevel", where, err) ? 0 : -1;
}

int tokenizer_read_byte_level(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    static const char *const fields[] = { "version",       "truncation",     "padding", "added_tokens", "normalizer",
                                          "pre_tokenizer", "post_processor", "decoder", "model",        NULL };

    return only_fields(root, fields, where, err) || read_normalizer(t, root, where, err) ||
                   read_pre_tokenizer(t, root, where, err) || read_decoder(root, where, err) ||
                   read_model(t, root, where, err)
               ? -1
               : 0;
}
