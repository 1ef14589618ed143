/* Part of tokenizer.h: the Unigram model of a tokenizer.json, read and written. */
#include "models/tokenizer/tokenizer_read.h"

/* ["token", score] */
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

int tokenizer_read_unigram(struct tokenizer *t, const json_t *model, const char *where, struct error *err)
{
    static const char *const fields[] = { "unk_id", "vocab", "byte_fallback", NULL };
    const struct component c = { model, "Unigram", where };
    const json_t *list = component_only(&c, fields, err) ? NULL : json_get_array(model, "vocab", where, err);
    int64_t unk = 0;

    if (!list || tokenizer_read_bool(model, "byte_fallback", &t->unigram.byte_fallback, where, err) < 0)
        return -1;
    if (json_array_size(list) == 0 || json_array_size(list) > VOCAB_MAX_TOKENS)
        return error_set(err, EXIT_CODE_CHECKPOINT, "%s: vocab: expected 1 to %d tokens, got %zu", where,
                         VOCAB_MAX_TOKENS, json_array_size(list));
    if (json_get_int(model, "unk_id", 0, (int64_t)json_array_size(list) - 1, &unk, where, err))
        return -1;
    t->unigram.unk = (int32_t)unk;
    return read_tokens(t, list, where, err);
}

json_t *tokenizer_unigram_json(const struct tokenizer *t)
{
    json_t *vocab = json_array();

    for (int32_t id = 0; id < t->model_tokens; id++)
        json_array_append_new(vocab, json_pack("[s, f]", tokenizer_token(t, id), t->unigram.scores[id]));
    return json_pack("{s:s, s:i, s:o, s:b}", "type", "Unigram", "unk_id", (int)t->unigram.unk, "vocab", vocab,
                     "byte_fallback", (int)t->unigram.byte_fallback);
}
