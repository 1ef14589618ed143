/* Part of tokenizer.h: tokenizer.json, of WordPiece to its end and of any kind in what they share. */
#include "data/util/log.h"
#include "models/tokenizer/tokenizer_read.h"

#include <stdlib.h>
#include <string.h>

json_t *tokenizer_read_typed(const json_t *root, const char *field, const char *type, const char *where,
                             struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    json_t *o = json_get_object(root, field, where, err);

    snprintf(inside, sizeof inside, "%s: %s", where, field);
    const char *found = o ? json_get_string(o, "type", inside, err) : NULL;
    if (!found)
        return NULL;
    if (strcmp(found, type) == 0)
        return o;
    error_set(err, EXIT_CODE_CHECKPOINT, "%s: type: expected \"%s\", got \"%.80s\"", inside, type, found);
    return NULL;
}

static int read_normalizer(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    struct bert_normalizer *n = &t->normalizer;
    const json_t *o = tokenizer_read_typed(root, "normalizer", "BertNormalizer", where, err);

    snprintf(inside, sizeof inside, "%s: normalizer", where);
    if (!o || json_get_bool(o, "clean_text", &n->clean_text, inside, err) ||
        json_get_bool(o, "handle_chinese_chars", &n->chinese, inside, err) ||
        json_get_bool(o, "lowercase", &n->lowercase, inside, err) ||
        tokenizer_read_accents(o, &n->accents, inside, err))
        return -1;
    return tokenizer_read_typed(root, "pre_tokenizer", "BertPreTokenizer", where, err) ? 0 : -1;
}

static int read_decoder(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];

    if (!json_object_get(root, "decoder") || json_is_null(json_object_get(root, "decoder")))
        return 0;
    const json_t *o = tokenizer_read_typed(root, "decoder", "WordPiece", where, err);
    snprintf(inside, sizeof inside, "%s: decoder", where);
    return o ? json_get_bool(o, "cleanup", &t->cleanup, inside, err) : -1;
}

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

static int read_model(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    const json_t *model = tokenizer_read_typed(root, "model", "WordPiece", where, err);
    int64_t max_chars = 0;

    snprintf(inside, sizeof inside, "%s: model", where);
    const char *unk = model ? json_get_string(model, "unk_token", inside, err) : NULL;
    const char *prefix = unk ? json_get_string(model, "continuing_subword_prefix", inside, err) : NULL;
    if (!prefix || json_get_int(model, "max_input_chars_per_word", 1, WORDPIECE_MAX_CHARS, &max_chars, inside, err) ||
        tokenizer_read_vocab(t, model, inside, err))
        return -1;
    if (strlen(prefix) > WORDPIECE_MAX_PREFIX)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: continuing_subword_prefix: expected at most %d bytes, got \"%.80s\"", inside,
                         WORDPIECE_MAX_PREFIX, prefix);
    memcpy(t->wordpiece.prefix, prefix, strlen(prefix) + 1);
    t->wordpiece.max_chars = (int32_t)max_chars;
    return tokenizer_end_model(t, unk, err) ? error_prefix(err, "%s", inside) : 0;
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

/* The post-processor has to put cls and sep where callers put them. */
static int check_template(const struct tokenizer *t, const json_t *root, struct error *err)
{
    const json_t *o = json_object_get(root, "post_processor"), *single = json_object_get(o, "single");
    const char *type = json_string_value(json_object_get(o, "type")), *cls = NULL, *sep = NULL;

    if (!o || json_is_null(o))
        return 0;
    if (type && strcmp(type, "TemplateProcessing") == 0 && json_array_size(single) == 3) {
        cls = template_token(single, 0);
        sep = template_token(single, 2);
    } else if (type && strcmp(type, "BertProcessing") == 0) {
        cls = json_string_value(json_array_get(json_object_get(o, "cls"), 0));
        sep = json_string_value(json_array_get(json_object_get(o, "sep"), 0));
    }
    if (!cls || !sep || tokenizer_id(t, cls) != t->special[SPECIAL_CLS] ||
        tokenizer_id(t, sep) != t->special[SPECIAL_SEP])
        return error_set(
            err, EXIT_CODE_CHECKPOINT,
            "post_processor: type: expected TemplateProcessing or BertProcessing that puts %s before and %s "
            "behind a sequence, got \"%.80s\"",
            tokenizer_token(t, t->special[SPECIAL_CLS]), tokenizer_token(t, t->special[SPECIAL_SEP]),
            type ? type : "?");
    return 0;
}

static int read_word_piece(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    return read_normalizer(t, root, where, err) || read_decoder(t, root, where, err) || read_model(t, root, where, err)
               ? -1
               : 0;
}

static int read_kind(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    const char *type = json_string_value(json_object_get(json_object_get(root, "model"), "type"));

    if (type && strcmp(type, "BPE") == 0) {
        t->kind = TOKENIZER_BYTE_LEVEL;
        return tokenizer_read_byte_level(t, root, where, err);
    }
    if (type && strcmp(type, "WordPiece") != 0)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: model: type: expected \"WordPiece\" or \"BPE\", got \"%.80s\"",
                         where, type);
    return read_word_piece(t, root, where, err);
}

struct tokenizer *tokenizer_from_json(const json_t *root, const struct tokenizer_folder *f, struct error *err)
{
    struct tokenizer *t = tokenizer_new();
    char file[TOKENIZER_MAX_PATH];

    snprintf(file, sizeof file, "%s/tokenizer.json", f->dir);
    int rc = read_kind(t, root, file, err) || read_added_list(t, root, file, err);
    int changed = rc ? 0 : tokenizer_read_config(t, f, err);
    if (changed > 0)
        log_warn("%s: case, accents or Chinese characters are not those of tokenizer.json; obeyed", f->config_file);
    if (rc || changed < 0 || tokenizer_find_specials(t, f, err))
        return tokenizer_opened(t, -1, err);
    if ((t->kind == TOKENIZER_WORDPIECE && check_template(t, root, err)) || tokenizer_prepare(t, err))
        rc = error_prefix(err, "%s", file);
    return tokenizer_opened(t, rc, err);
}
