/* Part of tokenizer.h: model folders. */
#include "data/util/whole_file.h"
#include "models/tokenizer/tokenizer_read.h"
#include "models/unicode/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_VOCAB_FILE = 64 << 20 };

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
    if (read_lines(t, text, length, file, err) || tokenizer_read_config(t, f, err) < 0 ||
        tokenizer_special_text(f, SPECIAL_UNK, &unk, err))
        return tokenizer_opened(t, -1, err);
    if (tokenizer_end_model(t, unk ? unk : special_token_texts[SPECIAL_UNK], err)) {
        error_prefix(err, "%s", file);
        return tokenizer_opened(t, -1, err);
    }
    int rc = tokenizer_read_decoder(t, f, err) || tokenizer_find_specials(t, f, true, err);
    if (rc == 0 && tokenizer_prepare(t, err))
        rc = error_prefix(err, "%s", file);
    return tokenizer_opened(t, rc, err);
}

/* A file that may be missing: 0 and *out NULL then.  It must hold an object. */
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

/* What to do with a folder that holds SentencePiece's own file alone. */
static const char *spiece_hint(const struct tokenizer_folder *f)
{
    char path[TOKENIZER_MAX_PATH];

    snprintf(path, sizeof path, "%s/spiece.model", f->dir);
    return access(path, F_OK)
               ? ""
               : "; spiece.model is converted by: python3 -c \"from transformers import AutoTokenizer as "
                 "T; import sys; T.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[1])\" DIR";
}

static struct tokenizer *open_lines(const struct tokenizer_folder *f, struct error *err)
{
    char path[TOKENIZER_MAX_PATH];
    size_t length;

    snprintf(path, sizeof path, "%s/vocab.txt", f->dir);
    if (access(path, F_OK) != 0) {
        const char *why = strerror(errno);
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: neither tokenizer.json nor vocab.txt: %s%s", f->dir, why,
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
