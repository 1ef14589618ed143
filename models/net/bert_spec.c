#include "models/net/bert_spec.h"

const char *const spec_dtypes[] = { "f32", "bf16", NULL };

static const char *const activations[] = { "none", "gelu", "gelu_tanh", "relu", "leaky_relu",
                                           "elu",  "tanh", "sigmoid",   NULL };

static const char *const kinds[] = { "bert", "modernbert", NULL };

/* Every enum of a description is an int in memory. */
_Static_assert(sizeof(enum activation) == sizeof(int) && sizeof(enum dtype) == sizeof(int), "enums are ints");

#define AT(member) offsetof(struct bert_config, member)

static const struct spec_field fields[] = {
    { "activation", AT(activation), SPEC_WORD, activations, 0, 0, false },
    { "vocab_size", AT(vocab_size), SPEC_INT, NULL, 1, 1 << 24, false },
    { "hidden_size", AT(hidden_size), SPEC_INT, NULL, 1, 1 << 16, false },
    { "layers", AT(layers), SPEC_INT, NULL, 1, 128, false },
    { "heads", AT(heads), SPEC_INT, NULL, 1, 1024, false },
    { "intermediate_size", AT(intermediate_size), SPEC_INT, NULL, 1, 1 << 20, false },
    { "max_positions", AT(max_positions), SPEC_INT, NULL, 16, 1 << 20, false },
    { "type_vocab_size", AT(type_vocab_size), SPEC_INT, NULL, 1, 1 << 10, false },
    { "layer_norm_eps", AT(layer_norm_eps), SPEC_FLOAT, NULL, 0, 1, false },
    { "hidden_dropout", AT(hidden_dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "attention_dropout", AT(attention_dropout), SPEC_FLOAT, NULL, 0, 0.999, false },
    { "encoder", AT(kind), SPEC_WORD, kinds, 0, 0, true },
    { "window", AT(window), SPEC_INT, NULL, 0, 1 << 20, true },
    { "global_every", AT(global_every), SPEC_INT, NULL, 0, 1 << 20, true },
    { "theta", AT(theta), SPEC_FLOAT, NULL, 0, 1e12, true },
    { "local_theta", AT(local_theta), SPEC_FLOAT, NULL, 0, 1e12, true },
    { "embedding_dropout", AT(embedding_dropout), SPEC_FLOAT, NULL, 0, 0.999, true },
    { 0 },
};

void bert_spec_write(json_t *o, const struct bert_config *b)
{
    spec_write(o, fields, b);
}

static int check_heads(const struct bert_config *b, const char *where, struct error *err)
{
    int size = b->hidden_size / b->heads;

    if (b->heads * size == b->hidden_size && size >= 1 && size <= HEAD_DIM_MAX)
        return 0;
    return error_set(err, EXIT_CODE_CHECKPOINT,
                     "%s: model: expected heads of 1 to %d channels, got %d channels in %d heads", where, HEAD_DIM_MAX,
                     b->hidden_size, b->heads);
}

static int check_modern(const struct bert_config *b, const char *where, struct error *err)
{
    if (b->kind == CLASSIC_BERT || (b->window >= 2 && b->global_every >= 1 && b->theta >= 1 && b->local_theta >= 1 &&
                                    b->hidden_size / b->heads % 2 == 0))
        return 0;
    return error_set(
        err, EXIT_CODE_CHECKPOINT,
        "%s: model: expected a window of 2 or more, global_every and bases of 1 or more and heads of an even "
        "number of channels, got %d, %d, %g, %g and %d",
        where, b->window, b->global_every, (double)b->theta, (double)b->local_theta, b->hidden_size / b->heads);
}

int bert_spec_read(const json_t *o, struct bert_config *b, const char *where, struct error *err)
{
    return spec_read(o, fields, b, where, err) || check_heads(b, where, err) || check_modern(b, where, err) ? -1 : 0;
}
