/* Part of tokenizer.h: the model of a BPE as tokenizers writes it. */
#include "models/tokenizer/tokenizer_impl.h"

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

json_t *tokenizer_bpe_json(const struct tokenizer *t)
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
