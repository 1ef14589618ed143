/* Part of tokenizer.h: what the files beside tokenizer.json or vocab.txt say. */
#include "data/util/log.h"
#include "models/tokenizer/tokenizer_read.h"

#include <stdlib.h>
#include <string.h>

int tokenizer_read_bool(const json_t *o, const char *field, bool *out, const char *where, struct error *err)
{
    const json_t *v = json_object_get(o, field);
    if (!v || json_is_null(v))
        return 0;
    return json_get_bool(o, field, out, where, err) ? -1 : 1;
}

int tokenizer_read_accents(const json_t *o, enum accents *out, const char *where, struct error *err)
{
    bool strip = false;
    int there = tokenizer_read_bool(o, "strip_accents", &strip, where, err);
    if (there >= 0)
        *out = there == 0 ? ACCENTS_AS_CASE : strip ? ACCENTS_STRIP : ACCENTS_KEEP;
    return there < 0 ? -1 : 0;
}

int tokenizer_read_added(struct tokenizer *t, const json_t *o, int64_t id, const char *where, struct error *err)
{
    struct added_token a = { 0 };
    const char *text = json_get_string(o, "content", where, err);

    if (!text || (id < 0 && json_get_int(o, "id", 0, VOCAB_MAX_TOKENS - 1, &id, where, err)) ||
        tokenizer_read_bool(o, "special", &a.special, where, err) < 0 ||
        tokenizer_read_bool(o, "normalized", &a.normalized, where, err) < 0 ||
        tokenizer_read_bool(o, "single_word", &a.single_word, where, err) < 0 ||
        tokenizer_read_bool(o, "lstrip", &a.lstrip, where, err) < 0 ||
        tokenizer_read_bool(o, "rstrip", &a.rstrip, where, err) < 0)
        return -1;
    a.id = (int32_t)id;
    return tokenizer_add_token(t, text, &a, err) ? error_prefix(err, "%s", where) : 0;
}

/* The one setting of tokenizer_config.json that is about the parts of another tokenizer than BERT's. */
static int check_prefix_space(const struct tokenizer *t, const struct tokenizer_folder *f, struct error *err)
{
    bool prefix = false;
    int there = tokenizer_read_bool(f->config, "add_prefix_space", &prefix, f->config_file, err);
    const struct pre_tokenizer *p = &t->pre_tokenizer;

    if (there < 0)
        return -1;
    if (prefix && !p->adds_blank && p->only_bytes)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: add_prefix_space: expected false, as in tokenizer.json, got true", f->config_file);
    if (there && !prefix && (p->adds_blank || normalizer_prepends(&t->normalizer)))
        log_warn("%s: add_prefix_space is false, but tokenizer.json puts one; that is obeyed", f->config_file);
    return 0;
}

int tokenizer_read_config(struct tokenizer *t, const struct tokenizer_folder *f, struct error *err)
{
    struct bert_normalizer old, *n = normalizer_bert(&t->normalizer);
    const char *where = f->config_file;

    if (!f->config)
        return 0;
    if (t->kind != TOKENIZER_WORDPIECE || !n)
        return check_prefix_space(t, f, err);
    old = *n;
    if (tokenizer_read_bool(f->config, "do_lower_case", &n->lowercase, where, err) < 0 ||
        tokenizer_read_bool(f->config, "tokenize_chinese_chars", &n->chinese, where, err) < 0 ||
        (json_object_get(f->config, "strip_accents") && tokenizer_read_accents(f->config, &n->accents, where, err)))
        return -1;
    bert_normalizer_prepare(n);
    return n->lowercase != old.lowercase || n->chinese != old.chinese || n->accents != old.accents;
}

int tokenizer_read_decoder(struct tokenizer *t, const struct tokenizer_folder *f, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    json_t *decoder, *o;
    const char *key;

    if (!json_object_get(f->config, "added_tokens_decoder"))
        return 0;
    if (!(decoder = json_get_object(f->config, "added_tokens_decoder", f->config_file, err)))
        return -1;
    json_object_foreach(decoder, key, o)
    {
        char *end;
        long id = strtol(key, &end, 10);
        snprintf(inside, sizeof inside, "%s: added_tokens_decoder \"%.20s\"", f->config_file, key);
        if (*key < '0' || *key > '9' || *end || id >= VOCAB_MAX_TOKENS)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected a token id", inside);
        if (tokenizer_read_added(t, o, id, inside, err))
            return -1;
    }
    return 0;
}

/* The token is a string or an object with its content. */
static int text_of(const json_t *file, const char *field, const char *where, const char **text, struct error *err)
{
    char inside[TOKENIZER_MAX_WHERE];
    const json_t *v = json_object_get(file, field);

    *text = NULL;
    if (!v || json_is_null(v))
        return 0;
    snprintf(inside, sizeof inside, "%s: %s", where, field);
    *text = json_is_object(v) ? json_get_string(v, "content", inside, err) : json_get_string(file, field, where, err);
    return *text ? 0 : -1;
}

int tokenizer_special_text(const struct tokenizer_folder *f, enum special_token which, const char **text,
                           struct error *err)
{
    const char *field = special_token_fields[which];

    if (text_of(f->config, field, f->config_file, text, err))
        return -1;
    return *text ? 0 : text_of(f->specials, field, f->specials_file, text, err);
}

/* Looks up one of them: by its name in the folder, or else BERT's for a WordPiece. */
static int find_special(struct tokenizer *t, const struct tokenizer_folder *f, enum special_token which, bool required,
                        struct error *err)
{
    bool wordpiece = t->kind == TOKENIZER_WORDPIECE;
    const char *text;

    if (tokenizer_special_text(f, which, &text, err))
        return -1;
    required = text ? which != SPECIAL_MASK || !wordpiece : required && which != SPECIAL_MASK;
    if (!text && !wordpiece)
        return 0;
    if (!text)
        text = which == SPECIAL_UNK ? tokenizer_token(t, t->wordpiece.unk) : special_token_texts[which];
    int32_t id = t->special[which] = tokenizer_id(t, text);
    struct added_token added = { .id = id, .special = true };
    if (id < 0 && required)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s \"%.80s\" is not in the vocabulary", f->dir,
                         special_token_fields[which], text);
    if (id >= 0 && !tokenizer_added(t, id) && tokenizer_add_token(t, text, &added, err))
        return error_prefix(err, "%s", f->dir);
    return 0;
}

int tokenizer_find_specials(struct tokenizer *t, const struct tokenizer_folder *f, bool required, struct error *err)
{
    for (int i = 0; i < (t->kind == TOKENIZER_WORDPIECE ? SPECIAL_BOS : SPECIAL_COUNT); i++)
        if (find_special(t, f, (enum special_token)i, required, err))
            return -1;
    return 0;
}

struct tokenizer *tokenizer_opened(struct tokenizer *t, int rc, struct error *err)
{
    if (rc == 0)
        return t;
    tokenizer_close(t);
    if (err && err->code == EXIT_CODE_DATA)
        err->code = EXIT_CODE_CHECKPOINT;
    return NULL;
}
