/* Part of tokenizer.h: the BPE model of a tokenizer.json. */
#include "data/util/log.h"
#include "models/tokenizer/tokenizer_read.h"

#include <string.h>

/* "a b", or since tokenizers 0.20 ["a", "b"] */
static int read_merge(struct tokenizer *t, const json_t *o, struct error *err)
{
    const char *left = json_string_value(json_is_array(o) ? json_array_get(o, 0) : o);
    const char *right = json_string_value(json_array_get(o, 1)), *blank = NULL;

    if (left && json_is_string(o) && (blank = strchr(left, ' ')))
        right = blank + 1;
    if (!left || !right || (blank && strchr(right, ' ')) || (json_is_array(o) && json_array_size(o) != 2))
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected two tokens, \"a b\" or [\"a\", \"b\"]");
    return bpe_add_merge(&t->bpe, &t->vocab, left, blank ? blank - left : (int64_t)strlen(left), right, err);
}

static int read_merges(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    const json_t *list = json_get_array(model, "merges", where, err), *o;
    size_t i;

    if (!list)
        return -1;
    json_array_foreach(list, i, o)
    {
        if (i == 0 && json_is_string(o) && strncmp(json_string_value(o), "#version", 8) == 0)
            continue;
        if (read_merge(t, o, err))
            return error_prefix(err, "%s: merges[%zu]", where, i);
    }
    return bpe_prepare(&t->bpe, &t->vocab, t->model_tokens, err) ? error_prefix(err, "%s", where) : 0;
}

/* A text that may be absent or null. */
static int read_affix(char out[BPE_MAX_AFFIX + 1], const json_t *model, const char *field, const char *where,
                      struct error *err)
{
    const json_t *v = json_object_get(model, field);
    const char *text = v && !json_is_null(v) ? json_get_string(model, field, where, err) : "";

    if (!text)
        return -1;
    if (strlen(text) > BPE_MAX_AFFIX)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s: expected at most %d bytes, got \"%.80s\"", where, field,
                         BPE_MAX_AFFIX, text);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

/* Merges that are dropped by chance: for training only. */
static int refuse_dropout(const json_t *model, const char *where, struct error *err)
{
    const json_t *v = json_object_get(model, "dropout");

    if (!v || json_is_null(v) || (json_is_number(v) && json_number_value(v) == 0))
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: dropout is set, which is not supported", where);
}

static int read_settings(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    static const char *const fields[] = { "dropout",       "unk_token",
                                          "fuse_unk",      "byte_fallback",
                                          "ignore_merges", "continuing_subword_prefix",
                                          "vocab",         "end_of_word_suffix",
                                          "merges",        NULL };
    const struct component c = { model, "BPE", where };
    struct bpe *b = &t->bpe;

    return component_only(&c, fields, err) || refuse_dropout(model, where, err) ||
                   tokenizer_read_bool(model, "fuse_unk", &b->fuse_unk, where, err) < 0 ||
                   tokenizer_read_bool(model, "byte_fallback", &b->byte_fallback, where, err) < 0 ||
                   tokenizer_read_bool(model, "ignore_merges", &b->ignore_merges, where, err) < 0 ||
                   read_affix(b->prefix, model, "continuing_subword_prefix", where, err) ||
                   read_affix(b->suffix, model, "end_of_word_suffix", where, err)
               ? -1
               : 0;
}

int tokenizer_read_bpe(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    const json_t *unk = json_object_get(model, "unk_token");
    const char *text = NULL;
    struct bpe *b = &t->bpe;

    if (read_settings(t, model, where, err) ||
        (unk && !json_is_null(unk) && !(text = json_get_string(model, "unk_token", where, err))))
        return -1;
    if (!*b->prefix && !*b->suffix)
        pre_tokenizer_leave_bytes(&t->pre_tokenizer);
    b->bytes = t->pre_tokenizer.bytes;
    if (tokenizer_read_vocab(t, model, where, err))
        return -1;
    if (tokenizer_end_model(t, text, err))
        return error_prefix(err, "%s: vocab", where);
    if (b->bytes && !text && !b->byte_fallback && b->missing > 0)
        log_warn("%s: %d bytes have no token and there is no unk_token: they are left out of a text", where,
                 b->missing);
    return read_merges(t, model, where, err);
}
