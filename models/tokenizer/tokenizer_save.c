/* Part of tokenizer.h: writing model folders. */
#include "data/util/json.h"
#include "models/tokenizer/tokenizer_impl.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

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

/* By rising id: tokenizers gives new tokens their ids in the order of the file. */
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

/* The same by id, for who reads vocab.txt, which holds the model's own tokens alone. */
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

static json_t *part_json(const char *kind, const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type);
}

/* [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type 1 from B on */
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

/* BERT's normalizer as its settings now are, or what was read. */
static json_t *normalizer_json(const struct tokenizer *t)
{
    const struct bert_normalizer *n = normalizer_bert(&t->normalizer);

    if (!n)
        return json_incref(json_object_get(t->parts, "normalizer"));
    return json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text", (int)n->clean_text,
                     "handle_chinese_chars", (int)n->chinese, "strip_accents", accents_json(n), "lowercase",
                     (int)n->lowercase);
}

/* What stands around a text: WordPiece's by its special tokens; else what was read, of a BPE where it is an encoder's.
 */
static json_t *post_processor_json(const struct tokenizer *t)
{
    bool encoder = t->special[SPECIAL_CLS] >= 0 && t->special[SPECIAL_SEP] >= 0;
    json_t *read = json_object_get(t->parts, "post_processor");

    if (t->kind == TOKENIZER_WORDPIECE)
        return encoder ? template_json(t) : json_null();
    return read && (encoder || t->kind == TOKENIZER_UNIGRAM) ? json_incref(read) : json_null();
}

static json_t *tokenizer_json(const struct tokenizer *t)
{
    bool wordpiece = t->kind == TOKENIZER_WORDPIECE, unigram = t->kind == TOKENIZER_UNIGRAM;

    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:O, s:o, s:O, s:o}", "version", "1.0", "truncation", "padding",
                     "added_tokens", added_list_json(t), "normalizer", normalizer_json(t), "pre_tokenizer",
                     json_object_get(t->parts, "pre_tokenizer"), "post_processor", post_processor_json(t), "decoder",
                     json_object_get(t->parts, "decoder"), "model",
                     wordpiece ? model_json(t)
                     : unigram ? tokenizer_unigram_json(t)
                               : tokenizer_bpe_json(t));
}

static json_t *specials_json(const struct tokenizer *t)
{
    json_t *o = json_object();

    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (t->special[i] >= 0)
            json_object_set_new(o, special_token_fields[i], json_string(special_text(t, (enum special_token)i)));
    return o;
}

/* transformers' BertTokenizer knows nothing but these settings; with others, and without a mask token, which it would
 * add, tokenizer.json has to be taken as it is. */
static bool is_plain_bert(const struct tokenizer *t)
{
    const struct bert_normalizer *n = normalizer_bert(&t->normalizer);
    const struct pre_tokenizer *p = &t->pre_tokenizer;

    return t->kind == TOKENIZER_WORDPIECE && n && n->clean_text && p->count == 1 &&
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
    if (t->kind != TOKENIZER_WORDPIECE || !n) {
        json_object_set_new(o, "add_prefix_space", json_boolean(t->pre_tokenizer.adds_blank));
        json_object_set_new(o, "clean_up_tokenization_spaces", json_false());
        return o;
    }
    json_object_set_new(o, "do_lower_case", json_boolean(n->lowercase));
    json_object_set_new(o, "tokenize_chinese_chars", json_boolean(n->chinese));
    json_object_set_new(o, "strip_accents", accents_json(n));
    return o;
}

/* Takes over value; NULL means that memory ran out while it was made. */
static int write_json(const char *dir, const char *name, json_t *value, struct error *err)
{
    char path[PATH_MAX];
    int rc = -1;

    if (!value)
        error_set(err, EXIT_CODE_MEMORY, "%s/%s: out of memory", dir, name);
    else if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        error_set(err, EXIT_CODE_USAGE, "%.80s...: path too long", dir);
    else
        rc = json_write_file_exact(path, value, err); /* scores of a Unigram */
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

/* vocab.txt has a line for each token of a WordPiece, and none for a token of two lines. */
static bool has_lines(const struct tokenizer *t)
{
    for (int32_t id = 0; id < t->model_tokens; id++)
        if (strpbrk(tokenizer_token(t, id), "\r\n"))
            return false;
    return t->kind == TOKENIZER_WORDPIECE;
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
    return write_json(dir, "tokenizer.json", tokenizer_json(t), err); /* last: a folder that has it is whole */
}
