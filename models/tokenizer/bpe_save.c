/* Part of tokenizer.h: a byte-level tokenizer.json as tokenizers writes it. */
#include "models/tokenizer/tokenizer_impl.h"

static json_t *model_json(const struct tokenizer *t)
{
    const struct bpe *b = &t->byte_level.bpe;
    json_t *vocab = json_object(), *merges = json_array();

    for (int32_t id = 0; id < t->model_tokens; id++)
        json_object_set_new(vocab, tokenizer_token(t, id), json_integer(id));
    for (int32_t i = 0; i < b->n_merges; i++)
        json_array_append_new(
            merges, json_pack("[s, s]", tokenizer_token(t, b->merges[i].left), tokenizer_token(t, b->merges[i].right)));
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout", "unk_token",
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", (int)b->ignore_merges, "vocab", vocab, "merges", merges);
}

static json_t *bytes_json(bool prefix_space, bool use_regex)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", (int)prefix_space, "trim_offsets",
                     1, "use_regex", (int)use_regex);
}

json_t *tokenizer_byte_level_json(const struct tokenizer *t)
{
    json_t *split = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex",
                              regex_pattern(t->byte_level.split), "behavior", "Isolated", "invert", 0);
    json_t *normalizer = t->byte_level.nfc ? json_pack("{s:s}", "type", "NFC") : json_null();

    return json_pack("{s:o, s:{s:s, s:[o, o]}, s:n, s:o, s:o}", "normalizer", normalizer, "pre_tokenizer", "type",
                     "Sequence", "pretokenizers", split, bytes_json(false, false), "post_processor", "decoder",
                     bytes_json(true, true), "model", model_json(t));
}
