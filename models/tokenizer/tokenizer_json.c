/* Part of tokenizer.h: tokenizer.json: the parts around the model, WordPiece, and what models share. */
#include "data/util/log.h"
#include "models/tokenizer/tokenizer_read.h"

#include <stdlib.h>
#include <string.h>

/* Puts the texts of the vocabulary in the order of their ids, [0, n) without holes or repetition. */
static int order_vocab(const char **texts, json_t *vocab, int64_t n, const char *where, struct error *err)
{
    const char *text;
    json_t *value;

    json_object_foreach(vocab, text, value)
    {
        int64_t id = json_integer_value(value);
        if (!json_is_integer(value))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: id of \"%.80s\": expected an integer", where, text);
        if (id < 0 || id >= n)
            return error_set(err, EXIT_CODE_CHECKPOINT,
                             "%s: vocab: id of \"%.80s\": expected an integer below %lld without holes, got %lld",
                             where, text, (long long)n, (long long)id);
        if (texts[id])
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: \"%.80s\" and \"%.80s\" both have id %lld", where,
                             texts[id], text, (long long)id);
        texts[id] = text;
    }
    return 0;
}

int tokenizer_read_vocab(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    json_t *vocab = json_get_object(model, "vocab", where, err);
    int64_t n = vocab ? (int64_t)json_object_size(vocab) : 0;

    if (!vocab)
        return -1;
    if (n > VOCAB_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: expected at most %d tokens, got %lld", where,
                         VOCAB_MAX_TOKENS, (long long)n);
    const char **texts = xcalloc((size_t)n, sizeof *texts);
    int rc = order_vocab(texts, vocab, n, where, err);
    for (int64_t i = 0; i < n && rc == 0; i++)
        if ((rc = vocab_add(&t->vocab, texts[i], err)))
            error_prefix(err, "%s: vocab", where);
    free(texts);
    return rc;
}

static int read_word_piece(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    int64_t max_chars = 0;
    const char *unk = json_get_string(model, "unk_token", where, err);
    const char *prefix = unk ? json_get_string(model, "continuing_subword_prefix", where, err) : NULL;

    if (!prefix || json_get_int(model, "max_input_chars_per_word", 1, WORDPIECE_MAX_CHARS, &max_chars, where, err) ||
        tokenizer_read_vocab(t, model, where, err))
        return -1;
    if (strlen(prefix) > WORDPIECE_MAX_PREFIX)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: continuing_subword_prefix: expected at most %d bytes, got \"%.80s\"", where,
                         WORDPIECE_MAX_PREFIX, prefix);
    memcpy(t->wordpiece.prefix, prefix, strlen(prefix) + 1);
    t->wordpiece.max_chars = (int32_t)max_chars;
    return tokenizer_end_model(t, unk, err) ? error_prefix(err, "%s", where) : 0;
}

static int read_added_list(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    const json_t *list = json_object_get(root, "added_tokens"), *o;
    size_t i;

    if (!list || json_is_null(list))
        return 0;
    if (!(list = json_get_array(root, "added_tokens", where, err)))
        return -1;
    json_array_foreach(list, i, o)
    {
        snprintf(inside, sizeof inside, "%s: added_tokens[%zu]", where, i);
        if (tokenizer_read_added(t, o, -1, inside, err))
            return -1;
    }
    return 0;
}

/* The text of the special token at one end of a template, NULL when something else is there. */
static const char *template_token(const json_t *template, size_t i)
{
    const json_t *o = json_object_get(json_array_get(template, i), "SpecialToken");
    return json_string_value(json_object_get(o, "id"));
}

/* The one of a Sequence of post-processors that adds tokens; a ByteLevel, which adds none, is none at all. */
static const json_t *token_processor(const json_t *o)
{
    const json_t *list = json_object_get(o, "processors"), *part, *found = NULL;
    const char *type = json_string_value(json_object_get(o, "type"));
    size_t i;

    if (!type || json_is_null(o) || strcmp(type, "ByteLevel") == 0)
        return json_is_null(o) || type ? NULL : o;
    if (strcmp(type, "Sequence") != 0)
        return o;
    json_array_foreach(list, i, part)
    {
        const char *inner = json_string_value(json_object_get(part, "type"));
        if (!found && !(inner && strcmp(inner, "ByteLevel") == 0))
            found = part;
    }
    return found;
}

/* The post-processor has to put cls and sep where callers put them. */
static int check_template(const struct tokenizer *t, const json_t *root, struct error *err)
{
    const json_t *o = token_processor(json_object_get(root, "post_processor")), *single = json_object_get(o, "single");
    const char *type = json_string_value(json_object_get(o, "type")), *cls = NULL, *sep = NULL;
    int32_t wanted[2] = { t->special[SPECIAL_CLS], t->special[SPECIAL_SEP] };

    if (!o)
        return 0;
    if (type && strcmp(type, "TemplateProcessing") == 0 && json_array_size(single) == 3) {
        cls = template_token(single, 0);
        sep = template_token(single, 2);
    } else if (type && strcmp(type, "BertProcessing") == 0) {
        cls = json_string_value(json_array_get(json_object_get(o, "cls"), 0));
        sep = json_string_value(json_array_get(json_object_get(o, "sep"), 0));
    }
    if (cls && sep && wanted[0] >= 0 && wanted[1] >= 0 && tokenizer_id(t, cls) == wanted[0] &&
        tokenizer_id(t, sep) == wanted[1])
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "post_processor: type: expected TemplateProcessing or BertProcessing that puts %s before and %s "
                     "behind a sequence, both of the vocabulary, got \"%.80s\"",
                     wanted[0] >= 0 ? tokenizer_token(t, wanted[0]) : special_token_texts[SPECIAL_CLS],
                     wanted[1] >= 0 ? tokenizer_token(t, wanted[1]) : special_token_texts[SPECIAL_SEP],
                     type ? type : "?");
}

/* What kind of model it is; older files do not say, but their fields do. */
static const char *model_type(const json_t *model)
{
    const json_t *type = json_object_get(model, "type");

    if (type)
        return json_is_string(type) ? json_string_value(type) : "?";
    if (json_object_get(model, "merges"))
        return "BPE";
    if (json_object_get(model, "continuing_subword_prefix"))
        return "WordPiece";
    return json_is_array(json_object_get(model, "vocab")) ? "Unigram" : "WordLevel";
}

static int read_model(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    const json_t *model = json_get_object(root, "model", where, err);
    const char *type = model ? model_type(model) : NULL;

    snprintf(inside, sizeof inside, "%s: model", where);
    if (!model)
        return -1;
    if (strcmp(type, "BPE") == 0) {
        t->kind = TOKENIZER_BPE;
        return tokenizer_read_bpe(t, model, inside, err);
    }
    if (strcmp(type, "WordPiece") == 0)
        return read_word_piece(t, model, inside, err);
    if (strcmp(type, "Unigram") == 0) {
        t->kind = TOKENIZER_UNIGRAM;
        return tokenizer_read_unigram(t, model, inside, err);
    }
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: type: expected \"WordPiece\", \"BPE\" or \"Unigram\", got a %.80s model", inside, type);
}

/* A field that nobody here knows may change the result. */
static int check_fields(const json_t *root, const char *where, struct error *err)
{
    static const char *const fields[] = { "version",       "truncation",     "padding", "added_tokens", "normalizer",
                                          "pre_tokenizer", "post_processor", "decoder", "model",        NULL };
    const struct component c = { root, "tokenizer.json", where };
    return component_only(&c, fields, err);
}

struct tokenizer *tokenizer_from_json(const json_t *root, const struct tokenizer_folder *f, struct error *err)
{
    struct tokenizer *t = tokenizer_new();
    char file[TOKENIZER_MAX_PATH];

    snprintf(file, sizeof file, "%s/tokenizer.json", f->dir);
    int rc = check_fields(root, file, err) || tokenizer_read_parts(t, root, file, err) ||
             read_model(t, root, file, err) || read_added_list(t, root, file, err);
    int changed = rc ? 0 : tokenizer_read_config(t, f, err);
    if (changed > 0)
        log_warn("%s: case, accents or Chinese characters are not those of tokenizer.json; obeyed", f->config_file);
    if (rc || changed < 0 || tokenizer_find_specials(t, f, false, err))
        return tokenizer_opened(t, -1, err);
    if ((t->kind == TOKENIZER_WORDPIECE && check_template(t, root, err)) || tokenizer_prepare(t, err))
        rc = error_prefix(err, "%s", file);
    return tokenizer_opened(t, rc, err);
}
