#include "data/json.h"
#include "data/log.h"
#include "models/tokenizer/tokenizer_impl.h"
#include "models/tokenizer/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PATH = 4096, MAX_WHERE = MAX_PATH + 64, MAX_VOCAB_FILE = 64 << 20 };

/* A boolean that may be absent or null.  Returns 1 when it was there, 0 when not. */
static int optional_bool(const json_t *o, const char *field, bool *out, const char *where, struct error *err)
{
    const json_t *v = json_object_get(o, field);
    if (!v || json_is_null(v))
        return 0;
    return json_get_bool(o, field, out, where, err) ? -1 : 1;
}

/* strip_accents: null leaves it to the case. */
static int read_accents(const json_t *o, enum accents *out, const char *where, struct error *err)
{
    bool strip = false;
    int there = optional_bool(o, "strip_accents", &strip, where, err);
    if (there >= 0)
        *out = there == 0 ? ACCENTS_AS_CASE : strip ? ACCENTS_STRIP : ACCENTS_KEEP;
    return there < 0 ? -1 : 0;
}

/* The object `field` of root, which must be of one type. */
static json_t *typed_object(const json_t *root, const char *field, const char *type, const char *where,
                            struct error *err)
{
    char inside[MAX_WHERE];
    json_t *o = json_get_object(root, field, where, err);

    snprintf(inside, sizeof inside, "%s: %s", where, field);
    const char *found = o ? json_get_string(o, "type", inside, err) : NULL;
    if (!found)
        return NULL;
    if (strcmp(found, type) == 0)
        return o;
    error_set(err, EXIT_CODE_CHECKPOINT, "%s: type is \"%.80s\", wanted \"%s\"", inside, found, type);
    return NULL;
}

static int read_normalizer(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[MAX_WHERE];
    struct bert_normalizer *n = &t->normalizer;
    const json_t *o = typed_object(root, "normalizer", "BertNormalizer", where, err);

    snprintf(inside, sizeof inside, "%s: normalizer", where);
    if (!o || json_get_bool(o, "clean_text", &n->clean_text, inside, err) ||
        json_get_bool(o, "handle_chinese_chars", &n->chinese, inside, err) ||
        json_get_bool(o, "lowercase", &n->lowercase, inside, err) || read_accents(o, &n->accents, inside, err))
        return -1;
    return typed_object(root, "pre_tokenizer", "BertPreTokenizer", where, err) ? 0 : -1;
}

static int read_decoder(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[MAX_WHERE];

    if (!json_object_get(root, "decoder") || json_is_null(json_object_get(root, "decoder")))
        return 0;
    const json_t *o = typed_object(root, "decoder", "WordPiece", where, err);
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
        if (!json_is_integer(value) || id < 0 || id >= n)
            return error_set(err, EXIT_CODE_CHECKPOINT,
                             "%s: vocab: id of \"%.80s\" is %s%lld, wanted an integer below %lld without holes", where,
                             text, json_is_integer(value) ? "" : "not an integer: ", (long long)id, (long long)n);
        if (texts[id])
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: \"%.80s\" and \"%.80s\" both have id %lld", where,
                             texts[id], text, (long long)id);
        texts[id] = text;
    }
    return 0;
}

static int read_vocab(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    json_t *vocab = json_get_object(model, "vocab", where, err);
    int64_t n = vocab ? (int64_t)json_object_size(vocab) : 0;

    if (!vocab)
        return -1;
    if (n > VOCAB_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: %lld tokens, wanted at most %d", where, (long long)n,
                         VOCAB_MAX_TOKENS);
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
    char inside[MAX_WHERE];
    const json_t *model = typed_object(root, "model", "WordPiece", where, err);
    int64_t max_chars = 0;

    snprintf(inside, sizeof inside, "%s: model", where);
    const char *unk = model ? json_get_string(model, "unk_token", inside, err) : NULL;
    const char *prefix = unk ? json_get_string(model, "continuing_subword_prefix", inside, err) : NULL;
    if (!prefix || json_get_int(model, "max_input_chars_per_word", 1, WORDPIECE_MAX_CHARS, &max_chars, inside, err) ||
        read_vocab(t, model, inside, err))
        return -1;
    if (strlen(prefix) > WORDPIECE_MAX_PREFIX)
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "%s: continuing_subword_prefix is \"%.80s\", wanted at most %d bytes", inside, prefix,
                         WORDPIECE_MAX_PREFIX);
    memcpy(t->wordpiece.prefix, prefix, strlen(prefix) + 1);
    t->wordpiece.max_chars = (int32_t)max_chars;
    return tokenizer_end_model(t, unk, err) ? error_prefix(err, "%s", inside) : 0;
}

/* One added token; in tokenizer_config.json its id is the key of the object instead of a field. */
static int read_added(struct tokenizer *t, const json_t *o, int64_t id, const char *where, struct error *err)
{
    struct added_token a = { 0 };
    const char *text = json_get_string(o, "content", where, err);

    if (!text || (id < 0 && json_get_int(o, "id", 0, VOCAB_MAX_TOKENS - 1, &id, where, err)) ||
        optional_bool(o, "special", &a.special, where, err) < 0 ||
        optional_bool(o, "normalized", &a.normalized, where, err) < 0 ||
        optional_bool(o, "single_word", &a.single_word, where, err) < 0 ||
        optional_bool(o, "lstrip", &a.lstrip, where, err) < 0 || optional_bool(o, "rstrip", &a.rstrip, where, err) < 0)
        return -1;
    a.id = (int32_t)id;
    return tokenizer_add_token(t, text, &a, err) ? error_prefix(err, "%s", where) : 0;
}

static int read_added_list(struct tokenizer *t, const json_t *root, const char *where, struct error *err)
{
    char inside[MAX_WHERE];
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

/* added_tokens_decoder of tokenizer_config.json, the only place a folder without tokenizer.json has for them. */
static int read_added_decoder(struct tokenizer *t, const json_t *config, const char *where, struct error *err)
{
    char inside[MAX_WHERE];
    json_t *decoder = json_object_get(config, "added_tokens_decoder"), *o;
    const char *key;

    json_object_foreach(decoder, key, o)
    {
        char *end;
        long id = strtol(key, &end, 10);
        snprintf(inside, sizeof inside, "%s/tokenizer_config.json: added_tokens_decoder \"%.20s\"", where, key);
        if (*key < '0' || *key > '9' || *end || id >= VOCAB_MAX_TOKENS)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: wanted a token id", inside);
        if (read_added(t, o, id, inside, err))
            return -1;
    }
    return 0;
}

/* What tokenizer_config.json says of case, accents and Chinese characters wins, as in transformers' BertTokenizer. */
static int read_config(struct tokenizer *t, const json_t *config, const char *where, struct error *err)
{
    struct bert_normalizer old = t->normalizer, *n = &t->normalizer;

    if (!config)
        return 0;
    if (optional_bool(config, "do_lower_case", &n->lowercase, where, err) < 0 ||
        optional_bool(config, "tokenize_chinese_chars", &n->chinese, where, err) < 0 ||
        (json_object_get(config, "strip_accents") && read_accents(config, &n->accents, where, err)))
        return -1;
    if (t->n_added > 0 && (n->lowercase != old.lowercase || n->chinese != old.chinese || n->accents != old.accents))
        log_warn("%s: case, accents or Chinese characters differ from tokenizer.json; tokenizer_config.json is obeyed",
                 where);
    return 0;
}

/* The text of a special token, which is a string or an object with its content; NULL when the file does not say. */
static const char *special_text(const json_t *o, const char *field)
{
    const json_t *v = json_object_get(o, field);
    return json_is_object(v) ? json_string_value(json_object_get(v, "content")) : json_string_value(v);
}

static int find_specials(struct tokenizer *t, const json_t *config, const json_t *specials, struct error *err)
{
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        const char *text = special_text(config, special_token_fields[i]);
        if (!text)
            text = special_text(specials, special_token_fields[i]);
        if (!text)
            text = i == SPECIAL_UNK ? tokenizer_token(t, t->wordpiece.unk) : special_token_texts[i];
        int32_t id = t->special[i] = tokenizer_id(t, text);
        struct added_token added = { .id = id, .special = true };
        if (id < 0 && i != SPECIAL_MASK)
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s \"%.80s\" is not in the vocabulary",
                             special_token_fields[i], text);
        if (id >= 0 && !tokenizer_added(t, id) && tokenizer_add_token(t, text, &added, err))
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
        return error_set(err, EXIT_CODE_CHECKPOINT,
                         "post_processor of type \"%.80s\", wanted TemplateProcessing or BertProcessing that puts %s "
                         "before and %s behind a sequence",
                         type ? type : "?", tokenizer_token(t, t->special[SPECIAL_CLS]),
                         tokenizer_token(t, t->special[SPECIAL_SEP]));
    return 0;
}

/* Ends an opening: t when rc is 0, else NULL and the code of every bad model folder. */
static struct tokenizer *opened(struct tokenizer *t, int rc, struct error *err)
{
    if (rc == 0)
        return t;
    tokenizer_close(t);
    if (err && err->code == EXIT_CODE_DATA)
        err->code = EXIT_CODE_CHECKPOINT;
    return NULL;
}

struct tokenizer *tokenizer_from_json(const json_t *root, const json_t *config, const json_t *specials,
                                      const char *where, struct error *err)
{
    struct tokenizer *t = tokenizer_new();
    char file[MAX_PATH], config_file[MAX_PATH];

    snprintf(file, sizeof file, "%s/tokenizer.json", where);
    snprintf(config_file, sizeof config_file, "%s/tokenizer_config.json", where);
    int rc = read_normalizer(t, root, file, err) || read_decoder(t, root, file, err) ||
             read_model(t, root, file, err) || read_added_list(t, root, file, err) ||
             read_config(t, config, config_file, err);
    if (rc == 0 &&
        (find_specials(t, config, specials, err) || check_template(t, root, err) || tokenizer_prepare(t, err)))
        rc = error_prefix(err, "%s", file);
    return opened(t, rc, err);
}

/* The lines of a vocab.txt, each a token; a file may end with or without a line break. */
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
            return error_set(err, EXIT_CODE_CHECKPOINT, "%s: line %d: wanted a token of at most %d bytes without NUL",
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

struct tokenizer *tokenizer_from_lines(const char *text, size_t length, const json_t *config, const json_t *specials,
                                       const char *where, struct error *err)
{
    struct tokenizer *t = tokenizer_new();
    char file[MAX_PATH], config_file[MAX_PATH];
    const char *unk = special_text(config, "unk_token");

    snprintf(file, sizeof file, "%s/vocab.txt", where);
    snprintf(config_file, sizeof config_file, "%s/tokenizer_config.json", where);
    int rc = read_lines(t, text, length, file, err) || read_config(t, config, config_file, err);
    unk = unk ? unk : special_text(specials, "unk_token");
    if (rc == 0 && (tokenizer_end_model(t, unk ? unk : special_token_texts[SPECIAL_UNK], err)))
        rc = error_prefix(err, "%s", file);
    if (rc == 0)
        rc = read_added_decoder(t, config, where, err);
    if (rc == 0 && (find_specials(t, config, specials, err) || tokenizer_prepare(t, err)))
        rc = error_prefix(err, "%s", file);
    return opened(t, rc, err);
}

/* The bytes of a file of at most MAX_VOCAB_FILE; the caller frees.  NULL on failure. */
static char *read_file(const char *path, size_t *length, struct error *err)
{
    FILE *f = fopen(path, "rbe");
    char *text = f ? xmalloc(MAX_VOCAB_FILE + 1) : NULL;

    *length = f ? fread(text, 1, MAX_VOCAB_FILE + 1, f) : 0;
    if (!f || ferror(f))
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", path, strerror(errno));
    else if (*length > MAX_VOCAB_FILE)
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: longer than %d bytes", path, MAX_VOCAB_FILE);
    if (f && !ferror(f) && *length <= MAX_VOCAB_FILE) {
        fclose(f);
        return text;
    }
    if (f)
        fclose(f);
    free(text);
    return NULL;
}

/* A file that may be missing: 0 and *out NULL then.  It must hold an object. */
static int read_optional(json_t **out, const char *dir, const char *name, struct error *err)
{
    char path[MAX_PATH];

    *out = NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (access(path, F_OK) != 0)
        return 0;
    if (!(*out = json_read_file(path, err)))
        return -1;
    if (!json_is_object(*out))
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: wanted an object", path);
    return 0;
}

static struct tokenizer *open_lines(const char *dir, const json_t *config, const json_t *specials, struct error *err)
{
    char path[MAX_PATH];
    size_t length;

    snprintf(path, sizeof path, "%s/vocab.txt", dir);
    char *text = read_file(path, &length, err);
    struct tokenizer *t = text ? tokenizer_from_lines(text, length, config, specials, dir, err) : NULL;
    free(text);
    return t;
}

struct tokenizer *tokenizer_open(const char *dir, struct error *err)
{
    json_t *root = NULL, *config = NULL, *specials = NULL;
    struct tokenizer *t = NULL;

    if (strlen(dir) > MAX_PATH - 64) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%.80s...: path too long", dir);
        return NULL;
    }
    if (read_optional(&root, dir, "tokenizer.json", err) == 0 &&
        read_optional(&config, dir, "tokenizer_config.json", err) == 0 &&
        read_optional(&specials, dir, "special_tokens_map.json", err) == 0)
        t = root ? tokenizer_from_json(root, config, specials, dir, err) : open_lines(dir, config, specials, err);
    json_decref(root);
    json_decref(config);
    json_decref(specials);
    return opened(t, t ? 0 : -1, err);
}
