/*
 * llama_config.h - config.json of LlamaForCausalLM, MistralForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM and
 * Gemma2ForCausalLM, as transformers 4 and 5 write it.
 *
 * Each field that changes results is read and checked. An architecture has defaults for the fields that its files
 * may lack. Fields that ask for something unsupported (quantised weights, other RoPE scalings) are refused by name
 * and value. Unknown fields cause a warning. Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_NET_LLAMA_CONFIG_H
#define MODELS_NET_LLAMA_CONFIG_H

#include "kernels/op_types.h"
#include "models/net/lm_config.h"

enum llama_kind { LLAMA, QWEN2, QWEN3, MISTRAL, GEMMA2 };
enum { LLAMA_MAX_LAYERS = 1000 };

/* Rotary positions: base theta, and Llama 3.1's scaling of slow frequencies, or linear scaling of all. */
struct llama_rope {
    enum { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3 } kind;
    float theta, factor, low, high;
    int original; /* positions before scaling */
};

struct llama_config {
    enum llama_kind kind;
    int vocab_size, hidden_size, intermediate_size, layers, heads, groups, head_dim, max_positions;
    float rms_norm_eps, initializer_range;
    bool tied; /* the head is the embedding table: tie_word_embeddings, unless the weights have another head */
    bool qkv_bias, out_bias, mlp_bias;
    bool qk_norm; /* norms of q and k, for each head */
    struct llama_rope rope;
    int window; /* keys that a layer with a window attends to, see attention_form; 0: no layer has one */
    bool windowed[LLAMA_MAX_LAYERS];
    enum gate gate;
    bool out_norms;                   /* norms after attention and feed-forward */
    bool norms_less_one;              /* norms multiply by 1 + weight */
    float embedding_scale;            /* factor of the embeddings; 0: none */
    float query_scalar;               /* scores are divided by its square root; 0: head_dim */
    float score_cap, logit_cap;       /* softcaps of attention scores and logits; 0: none */
    enum dtype dtype;                 /* stored type of the weights; F32 by default */
    int stops[LM_MAX_STOPS], n_stops; /* ids that end a completion */
};

/* Reads dir/config.json, and eos_token_id of generation_config.json if that exists. */
int llama_config_read(struct llama_config *c, const char *dir, struct error *err);
/* Reads a parsed config.json. Messages start with `where`. */
int llama_config_parse(struct llama_config *c, const json_t *root, const char *where, struct error *err);
/* Writes dir/config.json for weights stored as F32 or BF16, in a form that transformers 4 and 5 read alike. */
int llama_config_write(const struct llama_config *c, const char *dir, enum dtype stored, struct error *err);

/* Name of the family in GGUF files (llama.cpp). */
const char *llama_config_gguf(const struct llama_config *c);

/* Writes the head_dim / 2 RoPE frequencies, in radians per position. */
void llama_rope_freqs(const struct llama_config *c, float *freqs);

#endif
