/*
 * llama_config.h - the config.json of LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM and
 * Gemma2ForCausalLM, as transformers 4 and 5 write it.
 *
 * Every field that changes the numbers is read and bounded; a kind gives those that its files may leave out their
 * values, and is asked for nothing else.  One that asks for something the network here does not compute (quantised
 * weights, other rotary scalings) is refused by name and value, one that nobody
 * here knows is named in a warning.  Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_NET_LLAMA_CONFIG_H
#define MODELS_NET_LLAMA_CONFIG_H

#include "kernels/op_types.h"
#include "models/net/lm_config.h"

enum llama_kind { LLAMA, QWEN2, QWEN3, MISTRAL, GEMMA2 };
enum { LLAMA_MAX_LAYERS = 1000 };

/* Rotary positions: base theta, and Llama 3.1's stretching of the slow frequencies (or of all: linear). */
struct llama_rope {
    enum { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3 } kind;
    float theta, factor, low, high;
    int original; /* positions before stretching */
};

struct llama_config {
    enum llama_kind kind;
    int vocab_size, hidden_size, intermediate_size, layers, heads, groups, head_dim, max_positions;
    float rms_norm_eps, initializer_range;
    bool tied; /* the head is the embedding table: tie_word_embeddings, unless the weights hold another head */
    bool qkv_bias, out_bias, mlp_bias;
    struct llama_rope rope;
    int window; /* keys that a layer with a window sees, see attention_form; 0: no layer has one */
    bool windowed[LLAMA_MAX_LAYERS];
    enum gate gate;
    bool out_norms;                   /* norms behind attention and behind the gated layer too */
    bool norms_less_one;              /* norms multiply by 1 + what is stored */
    float embedding_scale;            /* embeddings are multiplied by it; 0: they are not */
    float query_scalar;               /* scores are divided by its root; 0: by that of head_dim */
    float score_cap, logit_cap;       /* of attention's scores and of the logits; 0: none */
    enum dtype dtype;                 /* what the weights are stored as; F32 unless the file says bfloat16 or float16 */
    int stops[LM_MAX_STOPS], n_stops; /* ids that end a generation */
};

/* dir/config.json, and the eos_token_id of generation_config.json where there is one. */
int llama_config_read(struct llama_config *c, const char *dir, struct error *err);
/* The parsed config.json; `where` opens the messages. */
int llama_config_parse(struct llama_config *c, const json_t *root, const char *where, struct error *err);
/* dir/config.json for weights stored as F32 or BF16, in a form that versions 4 and 5 read alike. */
int llama_config_write(const struct llama_config *c, const char *dir, enum dtype stored, struct error *err);

/* The head_dim / 2 frequencies of the rotary embedding, radians a position. */
void llama_rope_freqs(const struct llama_config *c, float *freqs);

#endif
