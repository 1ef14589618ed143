#include "models/text/tokenizer_file.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/whole_file.h"
#include "models/text/tokenizer_parts.h"
#include "models/text/utf8.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKENIZER_MAX_WHERE = TOKENIZER_MAX_PATH + 64 };

/* tokenizer_config.json, special_tokens_map.json, and helpers for all files. */

/* Reads an optional boolean. Returns 1 if it is present, 0 if it is absent or null, -1 with err set. */
static int read_bool(const json_t *o, const char *field, bool *out, const char *where, struct error *err)
{
    const json_t *v = json_object_get(o, field);
    if (!v || json_is_null(v))
        return 0;
    return json_get_bool(o, field, out, where, err) ? -1 : 1;
}

/* Reads strip_accents. null means: strip if lowercase. */
static int read_accents(const json_t *o, enum accents *out, const char *where, struct error *err)
{
    bool strip = false;
    int there = read_bool(o, "strip_accents", &strip, where, err);
    if (there >= 0)
        *out = there == 0 ? ACCENTS_AS_CASE : strip ? ACCENTS_STRIP : ACCENTS_KEEP;
    return there < 0 ? -1 : 0;
}

/* Reads an added token. id is -1 if the object has a field "id"; in tokenizer_config.json the id is the key of the
 * object. */
static int read_added(struct tokenizer *t, const json_t *o, int64_t id, const char *where, struct error *err)
{
    struct added_token a = { 0 };
    const char *text = json_get_string(o, "content", where, err);

    if (!text || (id < 0 && json_get_int(o, "id", 0, VOCAB_MAX_TOKENS - 1, &id, where, err)) ||
        read_bool(o, "special", &a.special, where, err) < 0 ||
        read_bool(o, "normalized", &a.normalized, where, err) < 0 ||
        read_bool(o, "single_word", &a.single_word, where, err) < 0 ||
        read_bool(o, "lstrip", &a.lstrip, where, err) < 0 || read_bool(o, "rstrip", &a.rstrip, where, err) < 0)
        return -1;
    a.id = (int32_t)id;
    return tokenizer_add_token(t, text, &a, err) ? error_prefix(err, "%s", where) : 0;
}

/* Checks the only setting of tokenizer_config.json that concerns other tokenizers than BERT's. */
static int check_prefix_space(const struct tokenizer *t, const struct tokenizer_folder *f, struct error *err)
{
    bool prefix = false;
    int there = read_bool(f->config, "add_prefix_space", &prefix, f->config_file, err);
    const struct pre_tokenizer *p = &t->pre_tokenizer;

    if (there < 0)
        return -1;
    if (prefix && !p->adds_blank && p->only_bytes)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: add_prefix_space: expected false, as in tokenizer.json, got true", f->config_file);
    if (there && !prefix && (p->adds_blank || normalizer_prepends(&t->normalizer)))
        log_warn("%s: add_prefix_space is false, but tokenizer.json adds a space; using tokenizer.json",
                 f->config_file);
    return 0;
}

/* Applies the settings of tokenizer_config.json for case, accents and CJK ideographs. Returns 1 if they change t, 0 if
 * not, -1 with err set. For other tokenizers than BERT's, they must agree with tokenizer.json. */
static int read_config(struct tokenizer *t, const struct tokenizer_folder *f, struct error *err)
{
    struct bert_normalizer old, *n = normalizer_bert(&t->normalizer);
    const char *where = f->config_file;

    if (!f->config)
        return 0;
    if (t->model_type != TOKENIZER_WORDPIECE || !n)
        return check_prefix_space(t, f, err);
    old = *n;
    if (read_bool(f->config, "do_lower_case", &n->lowercase, where, err) < 0 ||
        read_bool(f->config, "tokenize_chinese_chars", &n->chinese, where, err) < 0 ||
        (json_object_get(f->config, "strip_accents") && read_accents(f->config, &n->accents, where, err)))
        return -1;
    bert_normalizer_prepare(n);
    return n->lowercase != old.lowercase || n->chinese != old.chinese || n->accents != old.accents;
}

/* Reads added_tokens_decoder of tokenizer_config.json. Without tokenizer.json it is the only list of added tokens. */
static int read_added_decoder(struct tokenizer *t, const struct tokenizer_folder *f, struct error *err)
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
        if (read_added(t, o, id, inside, err))
            return -1;
    }
    return 0;
}

/* Reads a token that is a string, or an object with "content". *text is NULL if it is absent. */
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

/* Returns in *text a special token of tokenizer_config.json, else of special_tokens_map.json, else NULL. */
static int folder_special_text(const struct tokenizer_folder *f, enum special_token which, const char **text,
                               struct error *err)
{
    const char *field = special_token_fields[which];

    if (text_of(f->config, field, f->config_file, text, err))
        return -1;
    return *text ? 0 : text_of(f->specials, field, f->specials_file, text, err);
}

/* Looks up a special token by the name in the folder. A WordPiece without one uses BERT's name. */
static int find_special(struct tokenizer *t, const struct tokenizer_folder *f, enum special_token which, bool required,
                        struct error *err)
{
    bool wordpiece = t->model_type == TOKENIZER_WORDPIECE;
    const char *text;

    if (folder_special_text(f, which, &text, err))
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

/* Looks up all special tokens and makes them added tokens. Named tokens must be in the vocabulary. With `required`,
 * BERT's special tokens must be too, except MASK. */
static int find_specials(struct tokenizer *t, const struct tokenizer_folder *f, bool required, struct error *err)
{
    for (int i = 0; i < (t->model_type == TOKENIZER_WORDPIECE ? SPECIAL_BOS : SPECIAL_COUNT); i++)
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

/* The BPE model of tokenizer.json. */

/* Sorts the tokens of a vocabulary by id. Ids must be 0 to n - 1, each once. */
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

/* Reads the vocabulary of a model in the order of ids. */
static int read_vocab(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
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

/* A merge is "a b", or ["a", "b"] since tokenizers 0.20. */
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

/* Reads a string that may be absent or null. */
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

/* Dropout skips merges at random. It is for training only. */
static int refuse_dropout(const json_t *model, const char *where, struct error *err)
{
    const json_t *v = json_object_get(model, "dropout");

    if (!v || json_is_null(v) || (json_is_number(v) && json_number_value(v) == 0))
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: dropout: expected null or 0, because random merges are for training", where);
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
                   read_bool(model, "fuse_unk", &b->fuse_unk, where, err) < 0 ||
                   read_bool(model, "byte_fallback", &b->byte_fallback, where, err) < 0 ||
                   read_bool(model, "ignore_merges", &b->ignore_merges, where, err) < 0 ||
                   read_affix(b->prefix, model, "continuing_subword_prefix", where, err) ||
                   read_affix(b->suffix, model, "end_of_word_suffix", where, err)
               ? -1
               : 0;
}

/* Reads a BPE model. The pre-tokenizer must be read already. */
static int read_bpe(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
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
    if (read_vocab(t, model, where, err))
        return -1;
    if (tokenizer_end_model(t, text, err))
        return error_prefix(err, "%s: vocab", where);
    if (b->bytes && !text && !b->byte_fallback && b->missing > 0)
        log_warn("%s: %d bytes have no token, and there is no unk_token: they are dropped from texts", where,
                 b->missing);
    return read_merges(t, model, where, err);
}

/* The Unigram model of tokenizer.json. */

/* Reads ["token", score]. */
static int read_token(struct tokenizer *t, const json_t *o, double *score, struct error *err)
{
    const char *text = json_string_value(json_array_get(o, 0));
    const json_t *number = json_array_get(o, 1);

    if (!text || !json_is_number(number) || json_array_size(o) != 2)
        return error_set(err, EXIT_CODE_CHECKPOINT, "expected [\"token\", score]");
    *score = json_number_value(number);
    return vocab_add(&t->vocab, text, err);
}

static int read_tokens(struct tokenizer *t, const json_t *list, const char *where, struct error *err)
{
    const json_t *o;
    size_t i;

    t->unigram.scores = xcalloc(json_array_size(list), sizeof *t->unigram.scores);
    json_array_foreach(list, i, o)
    {
        if (read_token(t, o, t->unigram.scores + i, err))
            return error_prefix(err, "%s: vocab[%zu]", where, i);
    }
    return tokenizer_end_model(t, NULL, err) ? error_prefix(err, "%s: vocab", where) : 0;
}

/* Reads a Unigram model. */
static int read_unigram(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    static const char *const fields[] = { "unk_id", "vocab", "byte_fallback", NULL };
    const struct component c = { model, "Unigram", where };
    const json_t *list = component_only(&c, fields, err) ? NULL : json_get_array(model, "vocab", where, err);
    int64_t unk = 0;

    if (!list || read_bool(model, "byte_fallback", &t->unigram.byte_fallback, where, err) < 0)
        return -1;
    if (json_array_size(list) == 0 || json_array_size(list) > VOCAB_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: expected 1 to %d tokens, got %zu", where,
                         VOCAB_MAX_TOKENS, json_array_size(list));
    if (json_get_int(model, "unk_id", 0, (int64_t)json_array_size(list) - 1, &unk, where, err))
        return -1;
    t->unigram.unk = (int32_t)unk;
    return read_tokens(t, list, where, err);
}

/* Returns the Unigram model for tokenizer.json, a new reference. */
static json_t *unigram_json(const struct tokenizer *t)
{
    json_t *vocab = json_array();

    for (int32_t id = 0; id < t->model_tokens; id++)
        json_array_append_new(vocab, json_pack("[s, f]", tokenizer_token(t, id), t->unigram.scores[id]));
    return json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", (int)t->unigram.unk, "vocab", vocab,
                     "byte_fallback", (int)t->unigram.byte_fallback);
}

/* tokenizer.json as a whole, and the WordPiece model. */

static int read_word_piece(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    int64_t max_chars = 0;
    const char *unk = json_get_string(model, "unk_token", where, err);
    const char *prefix = unk ? json_get_string(model, "continuing_subword_prefix", where, err) : NULL;

    if (!prefix || json_get_int(model, "max_input_chars_per_word", 1, WORDPIECE_MAX_CHARS, &max_chars, where, err) ||
        read_vocab(t, model, where, err))
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
        if (read_added(t, o, -1, inside, err))
            return -1;
    }
    return 0;
}

/* Returns the special token at one end of a template, or NULL if something else is there. */
static const char *template_token(const json_t *template, size_t i)
{
    const json_t *o = json_object_get(json_array_get(template, i), "SpecialToken");
    return json_string_value(json_object_get(o, "id"));
}

/* Returns the post-processor that adds tokens: one component, or one of a Sequence. A ByteLevel adds none. NULL: there
 * is none. */
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

/* Checks that the post-processor puts CLS and SEP where callers put them. */
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

/* Returns the type of the model. Older files lack "type", but their other fields tell. */
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
        t->model_type = TOKENIZER_BPE;
        return read_bpe(t, model, inside, err);
    }
    if (strcmp(type, "WordPiece") == 0)
        return read_word_piece(t, model, inside, err);
    if (strcmp(type, "Unigram") == 0) {
        t->model_type = TOKENIZER_UNIGRAM;
        return read_unigram(t, model, inside, err);
    }
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: type: expected \"WordPiece\", \"BPE\" or \"Unigram\", got a %.80s model", inside, type);
}

/* Refuses unknown fields, because they may change the result. */
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
    int changed = rc ? 0 : read_config(t, f, err);
    if (changed > 0)
        log_warn("%s: overrides tokenizer.json for case, accents or Chinese characters", f->config_file);
    if (rc || changed < 0 || find_specials(t, f, false, err))
        return tokenizer_opened(t, -1, err);
    if ((t->model_type == TOKENIZER_WORDPIECE && check_template(t, root, err)) || tokenizer_prepare(t, err))
        rc = error_prefix(err, "%s", file);
    return tokenizer_opened(t, rc, err);
}

/* Opening of model folders. */

enum { MAX_VOCAB_FILE = 64 << 20 };

/* Reads vocab.txt, one token a line. The last line break is optional. */
static int read_lines(struct tokenizer *t, const char *text, size_t length, const char *file, struct error *err)
{
    char token[VOCAB_MAX_TOKEN + 1];
    uint32_t cp;
    bool valid = true;

    for (size_t at = 0; at < length;) {
        const char *line = text + at, *stop = memchr(line, '\n', length - at);
        size_t n = stop ? (size_t)(stop - line) : length - at;
        int number = (int)t->vocab.count + 1;
        at += n + 1;
        n -= n > 0 && line[n - 1] == '\r';
        if (n > VOCAB_MAX_TOKEN || memchr(line, '\0', n))
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: line %d: expected a token of at most %d bytes without NUL",
                             file, number, VOCAB_MAX_TOKEN);
        for (size_t i = 0; i < n && valid;)
            i += (size_t)utf8_read(line + i, (int64_t)(n - i), &cp, &valid);
        if (!valid)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: line %d: not UTF-8", file, number);
        memcpy(token, line, n);
        token[n] = '\0';
        if (vocab_add(&t->vocab, token, err))
            return error_prefix(err, "%s: line %d", file, number);
    }
    return 0;
}

struct tokenizer *tokenizer_from_lines(const char *text, size_t length, const struct tokenizer_folder *f,
                                       struct error *err)
{
    struct tokenizer *t = tokenizer_new();
    char file[TOKENIZER_MAX_PATH];
    const char *unk = NULL;

    tokenizer_bert_parts(t);
    snprintf(file, sizeof file, "%s/vocab.txt", f->dir);
    if (read_lines(t, text, length, file, err) || read_config(t, f, err) < 0 ||
        folder_special_text(f, SPECIAL_UNK, &unk, err))
        return tokenizer_opened(t, -1, err);
    if (tokenizer_end_model(t, unk ? unk : special_token_texts[SPECIAL_UNK], err)) {
        error_prefix(err, "%s", file);
        return tokenizer_opened(t, -1, err);
    }
    int rc = read_added_decoder(t, f, err) || find_specials(t, f, true, err);
    if (rc == 0 && tokenizer_prepare(t, err))
        rc = error_prefix(err, "%s", file);
    return tokenizer_opened(t, rc, err);
}

/* Reads a file that may be missing; *out is NULL then. It must hold an object. */
static int read_optional(json_t **out, const char *dir, const char *name, json_t *(*read)(const char *, struct error *),
                         struct error *err)
{
    char path[TOKENIZER_MAX_PATH];

    *out = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (access(path, F_OK) != 0)
        return 0;
    if (!(*out = read(path, err)))
        return -1;
    if (!json_is_object(*out))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected an object", path);
    return 0;
}

/* Returns advice for a folder that only holds SentencePiece's own file. */
static const char *spiece_hint(const struct tokenizer_folder *f)
{
    char path[TOKENIZER_MAX_PATH];

    snprintf(path, sizeof path, "%s/spiece.model", f->dir);
    return access(path, F_OK) ? ""
                              : "; convert spiece.model: python3 -c \"from transformers import AutoTokenizer as "
                                "T; import sys; T.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1])\" DIR";
}

static struct tokenizer *open_lines(const struct tokenizer_folder *f, struct error *err)
{
    char path[TOKENIZER_MAX_PATH];
    size_t length;

    snprintf(path, sizeof path, "%s/vocab.txt", f->dir);
    if (access(path, F_OK) != 0) {
        const char *why = strerror(errno);
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: expected tokenizer.json or vocab.txt: %s%s", f->dir, why,
                  spiece_hint(f));
        return NULL;
    }
    char *text = whole_file_read(path, MAX_VOCAB_FILE, &length, err);
    if (!text && err)
        err->code = EXIT_CODE_CHECKPOINT;
    struct tokenizer *t = text ? tokenizer_from_lines(text, length, f, err) : NULL;
    free(text);
    return t;
}

struct tokenizer *tokenizer_open_encoder(const char *dir, int rows, struct error *err)
{
    struct tokenizer *t = tokenizer_open(dir, err);
    int rc = t ? 0 : -1;

    for (int i = SPECIAL_CLS; i <= SPECIAL_UNK && rc == 0; i++)
        if (t->special[i] < 0)
            rc = error_set(err, EXIT_CODE_CHECKPOINT, "%s: the tokenizer has no %s, which an encoder needs", dir,
                           special_token_fields[i]);
    if (rc == 0 && t->vocab.count > rows)
        rc = error_set(err, EXIT_CODE_CHECKPOINT, "%s: the tokenizer has %d tokens, the model's vocab_size is %d", dir,
                       (int)t->vocab.count, rows);
    return tokenizer_opened(t, rc, err);
}

struct tokenizer *tokenizer_open(const char *dir, struct error *err)
{
    struct tokenizer_folder f = { .dir = dir };
    json_t *root = NULL, *config = NULL, *specials = NULL;
    struct tokenizer *t = NULL;

    if (strlen(dir) > TOKENIZER_MAX_PATH - 64) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%.80s...: path too long", dir);
        return NULL;
    }
    snprintf(f.config_file, sizeof f.config_file, "%s/tokenizer_config.json", dir);
    snprintf(f.specials_file, sizeof f.specials_file, "%s/special_tokens_map.json", dir);
    if (read_optional(&root, dir, "tokenizer.json", json_read_file, err) == 0 &&
        read_optional(&config, dir, "tokenizer_config.json", json_read_file_reals, err) == 0 &&
        read_optional(&specials, dir, "special_tokens_map.json", json_read_file, err) == 0) {
        f.config = config;
        f.specials = specials;
        t = root ? tokenizer_from_json(root, &f, err) : open_lines(&f, err);
    }
    json_decref(root);
    json_decref(config);
    json_decref(specials);
    return tokenizer_opened(t, t ? 0 : -1, err);
}

/* Writing of model folders. */

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

/* Returns the BPE model for tokenizer.json, a new reference. */
static json_t *bpe_json(const struct tokenizer *t)
{
    const struct bpe *b = &t->bpe;
    json_t *vocab = json_object(), *merges = json_array();

    for (int32_t id = 0; id < t->model_tokens; id++)
        json_object_set_new(vocab, tokenizer_token(t, id), json_integer(id));
    for (int32_t i = 0; i < b->n_merges; i++)
        json_array_append_new(
            merges, json_pack("[s, s]", tokenizer_token(t, b->merges[i].left), tokenizer_token(t, b->merges[i].right)));
    return json_pack("{s:s, s:n, s:o, s:o, s:o, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
                     text_or_null(tokenizer_token(t, b->unk)), "continuing_subword_prefix", text_or_null(b->prefix),
                     "end_of_word_suffix", text_or_null(b->suffix), "fuse_unk", (int)b->fuse_unk, "byte_fallback",
                     (int)b->byte_fallback, "ignore_merges", (int)b->ignore_merges, "vocab", vocab, "merges", merges);
}

static const char *special_text(const struct tokenizer *t, enum special_token which)
{
    return tokenizer_token(t, t->special[which]);
}

/* null, true or false */
static json_t *accents_json(const struct bert_normalizer *n)
{
    return n->accents == ACCENTS_AS_CASE ? json_null() : json_boolean(n->accents == ACCENTS_STRIP);
}

static json_t *added_token_json(const struct tokenizer *t, const struct added_token *a)
{
    return json_pack("{s:s, s:b, s:b, s:b, s:b, s:b}", "content", tokenizer_token(t, a->id), "single_word",
                     (int)a->single_word, "lstrip", (int)a->lstrip, "rstrip", (int)a->rstrip, "normalized",
                     (int)a->normalized, "special", (int)a->special);
}

/* Lists added tokens by id, because Hugging Face's tokenizers numbers new tokens in the order of the file. */
static json_t *added_list_json(const struct tokenizer *t)
{
    json_t *list = json_array();

    for (int32_t id = 0; id < t->vocab.count; id++) {
        const struct added_token *a = tokenizer_added(t, id);
        json_t *o = a ? json_pack("{s:i}", "id", (int)id) : NULL;
        if (a) {
            json_object_update_new(o, added_token_json(t, a));
            json_array_append_new(list, o);
        }
    }
    return list;
}

/* Maps ids to added tokens, for readers of vocab.txt, which only holds the model's own tokens. */
static json_t *added_decoder_json(const struct tokenizer *t)
{
    json_t *decoder = json_object();
    char key[16];

    for (int32_t id = 0; id < t->vocab.count; id++) {
        const struct added_token *a = tokenizer_added(t, id);
        snprintf(key, sizeof key, "%d", (int)id);
        if (a)
            json_object_set_new(decoder, key, added_token_json(t, a));
    }
    return decoder;
}

static json_t *model_json(const struct tokenizer *t)
{
    json_t *vocab = json_object();

    for (int32_t id = 0; id < t->model_tokens; id++)
        json_object_set_new(vocab, tokenizer_token(t, id), json_integer(id));
    return json_pack("{s:s, s:s, s:s, s:i, s:o}", "type", "WordPiece", "unk_token",
                     tokenizer_token(t, t->wordpiece.unk), "continuing_subword_prefix", t->wordpiece.prefix,
                     "max_input_chars_per_word", (int)t->wordpiece.max_chars, "vocab", vocab);
}

static json_t *part_json(const char *key, const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", key, "id", id, "type_id", type);
}

/* Returns [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type 1 from B on. */
static json_t *template_json(const struct tokenizer *t)
{
    const char *cls = special_text(t, SPECIAL_CLS), *sep = special_text(t, SPECIAL_SEP);
    json_t *single = json_pack("[o, o, o]", part_json("SpecialToken", cls, 0), part_json("Sequence", "A", 0),
                               part_json("SpecialToken", sep, 0));
    json_t *pair =
        json_pack("[o, o, o, o, o]", part_json("SpecialToken", cls, 0), part_json("Sequence", "A", 0),
                  part_json("SpecialToken", sep, 0), part_json("Sequence", "B", 1), part_json("SpecialToken", sep, 1));
    json_t *ids = json_object();

    for (int i = SPECIAL_CLS; i <= SPECIAL_SEP; i++) {
        const char *text = special_text(t, (enum special_token)i);
        json_object_set_new(ids, text,
                            json_pack("{s:s, s:[i], s:[s]}", "id", text, "ids", (int)t->special[i], "tokens", text));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair", pair,
                     "special_tokens", ids);
}

/* Returns BERT's normaliser with its present settings, or another one as it was read. */
static json_t *normalizer_json(const struct tokenizer *t)
{
    const struct bert_normalizer *n = normalizer_bert(&t->normalizer);

    if (!n)
        return json_incref(json_object_get(t->parts, "normalizer"));
    return json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text", (int)n->clean_text,
                     "handle_chinese_chars", (int)n->chinese, "strip_accents", accents_json(n), "lowercase",
                     (int)n->lowercase);
}

/* Returns the post-processor. A WordPiece gets one for its special tokens. A Unigram keeps the one that was read, and
 * so does a BPE with CLS and SEP. */
static json_t *post_processor_json(const struct tokenizer *t)
{
    bool encoder = t->special[SPECIAL_CLS] >= 0 && t->special[SPECIAL_SEP] >= 0;
    json_t *read = json_object_get(t->parts, "post_processor");

    if (t->model_type == TOKENIZER_WORDPIECE)
        return encoder ? template_json(t) : json_null();
    return read && (encoder || t->model_type == TOKENIZER_UNIGRAM) ? json_incref(read) : json_null();
}

static json_t *tokenizer_json(const struct tokenizer *t)
{
    bool wordpiece = t->model_type == TOKENIZER_WORDPIECE, unigram = t->model_type == TOKENIZER_UNIGRAM;

    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:O, s:o, s:O, s:o}", "version", "1.0", "truncation", "padding",
                     "added_tokens", added_list_json(t), "normalizer", normalizer_json(t), "pre_tokenizer",
                     json_object_get(t->parts, "pre_tokenizer"), "post_processor", post_processor_json(t), "decoder",
                     json_object_get(t->parts, "decoder"), "model",
                     wordpiece ? model_json(t)
                     : unigram ? unigram_json(t)
                               : bpe_json(t));
}

static json_t *specials_json(const struct tokenizer *t)
{
    json_t *o = json_object();

    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (t->special[i] >= 0)
            json_object_set_new(o, special_token_fields[i], json_string(special_text(t, (enum special_token)i)));
    return o;
}

/* transformers' BertTokenizer supports these settings only, and adds a mask token. Otherwise PreTrainedTokenizerFast
 * must take tokenizer.json as it is. */
static bool is_plain_bert(const struct tokenizer *t)
{
    const struct bert_normalizer *n = normalizer_bert(&t->normalizer);
    const struct pre_tokenizer *p = &t->pre_tokenizer;

    return t->model_type == TOKENIZER_WORDPIECE && n && n->clean_text && p->count == 1 &&
           p->steps[0].run == pre_tokenize_bert && t->wordpiece.max_chars == 100 &&
           strcmp(t->wordpiece.prefix, "##") == 0 && t->special[SPECIAL_MASK] >= 0;
}

static json_t *config_json(const struct tokenizer *t)
{
    const struct bert_normalizer *n = normalizer_bert(&t->normalizer);
    json_t *o = specials_json(t);

    json_object_set_new(o, "added_tokens_decoder", added_decoder_json(t));
    json_object_set_new(o, "tokenizer_class",
                        json_string(is_plain_bert(t) ? "BertTokenizer" : "PreTrainedTokenizerFast"));
    if (t->model_type != TOKENIZER_WORDPIECE || !n) {
        json_object_set_new(o, "add_prefix_space", json_boolean(t->pre_tokenizer.adds_blank));
        json_object_set_new(o, "clean_up_tokenization_spaces", json_false());
        return o;
    }
    json_object_set_new(o, "do_lower_case", json_boolean(n->lowercase));
    json_object_set_new(o, "tokenize_chinese_chars", json_boolean(n->chinese));
    json_object_set_new(o, "strip_accents", accents_json(n));
    return o;
}

/* Takes value. NULL means that memory ran out while it was built. */
static int write_json(const char *dir, const char *name, json_t *value, struct error *err)
{
    char path[PATH_MAX];
    int rc = -1;

    if (!value)
        error_set(err, EXIT_CODE_MEMORY, "%s/%s: out of memory", dir, name);
    else if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", dir);
    else
        rc = json_write_file_exact(path, value, err); /* exact, for the scores of a Unigram */
    json_decref(value);
    return rc;
}

static int write_lines(const struct tokenizer *t, const char *dir, struct error *err)
{
    char path[PATH_MAX];
    struct out_file o;
    int failed = 0;

    if (snprintf(path, sizeof path, "%s/vocab.txt", dir) >= (int)sizeof path)
        return error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", dir);
    if (out_file_open(&o, path, err))
        return -1;
    for (int32_t id = 0; id < t->model_tokens; id++)
        failed |= fputs(tokenizer_token(t, id), o.f) == EOF || putc('\n', o.f) == EOF;
    if (!failed)
        return out_file_commit(&o, err);
    out_file_abort(&o);
    return error_set(err, EXIT_CODE_FAILURE, "%s: cannot write: %s", path, strerror(errno));
}

/* vocab.txt can hold any WordPiece vocabulary without line breaks in tokens. */
static bool has_lines(const struct tokenizer *t)
{
    for (int32_t id = 0; id < t->model_tokens; id++)
        if (strpbrk(tokenizer_token(t, id), "\r\n"))
            return false;
    return t->model_type == TOKENIZER_WORDPIECE;
}

int tokenizer_save(const struct tokenizer *t, const char *dir, struct error *err)
{
    return make_dirs(dir, err) || (has_lines(t) && write_lines(t, dir, err)) || tokenizer_save_json(t, dir, err) ? -1
                                                                                                                 : 0;
}

int tokenizer_save_json(const struct tokenizer *t, const char *dir, struct error *err)
{
    if (make_dirs(dir, err) || write_json(dir, "special_tokens_map.json", specials_json(t), err) ||
        write_json(dir, "tokenizer_config.json", config_json(t), err))
        return -1;
    return write_json(dir, "tokenizer.json", tokenizer_json(t),
                      err); /* written last: a folder with this file is complete */
}
