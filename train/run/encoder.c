#include "train/run/encoder.h"

#include "models/hf/hf_config.h"
#include "models/text/tokenizer_train.h"

struct tokenizer *encoder_from_folder(const char *dir, int segments, struct bert_config *bert, struct error *err)
{
    struct hf_config config;

    if (hf_config_read(&config, dir, err))
        return NULL;
    if (config.bert.kind == CLASSIC_BERT && config.bert.type_vocab_size < segments) {
        error_set(err, EXIT_CODE_CHECKPOINT, "%s: type_vocab_size: expected at least %d, got %d", dir, segments,
                  config.bert.type_vocab_size);
        return NULL;
    }
    *bert = config.bert;
    return tokenizer_open_encoder(dir, config.bert.vocab_size, err);
}

static int check_heads(const struct encoder_settings *s, struct error *err)
{
    int64_t size = s->hidden / s->heads;

    if (size * s->heads == s->hidden && size >= 1 && size <= HEAD_DIM_MAX)
        return 0;
    return error_set(err, EXIT_CODE_USAGE,
                     "encoder_heads: expected heads of 1 to %d channels, got %lld heads of %lld channels together",
                     HEAD_DIM_MAX, (long long)s->heads, (long long)s->hidden);
}

struct tokenizer *encoder_from_scratch(const struct encoder_settings *s, const char *const *texts, int64_t n,
                                       int unused, struct bert_config *bert, struct error *err)
{
    if (check_heads(s, err))
        return NULL;
    struct tokenizer *t = tokenizer_from_words(texts, n, unused, (int32_t)s->vocabulary, err);
    if (!t)
        return NULL;
    *bert = (struct bert_config){ .vocab_size = tokenizer_vocab_size(t),
                                  .hidden_size = (int)s->hidden,
                                  .layers = (int)s->layers,
                                  .heads = (int)s->heads,
                                  .intermediate_size = (int)s->intermediate,
                                  .max_positions = (int)s->positions,
                                  .type_vocab_size = 2,
                                  .activation = ACT_GELU,
                                  .layer_norm_eps = 1e-12f,
                                  .hidden_dropout = (float)s->dropout,
                                  .attention_dropout = (float)s->dropout };
    return t;
}
