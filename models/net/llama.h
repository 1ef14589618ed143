/*
 * llama.h - the decoder language models Llama 2 and 3, Mistral, Qwen 2 and 3 and Gemma 2 over packed sequences.
 *
 * A block is pre-norm: RMSNorm, grouped-query causal attention with rotary positions, SwiGLU (Touvron et al. 2023,
 * Jiang et al. 2023, Grattafiori et al. 2024, Yang et al. 2025). The additions of Gemma 2 (Riviere et al. 2024) are
 * fields of the configuration: GeGLU, norms after attention and feed-forward, scaled embeddings, windows and softcaps.
 * Each linear map may carry a low-rank adapter. Sequences lie one after another without padding. With a KV cache, a
 * call reads keys and values of earlier calls and adds its own.
 *
 * llama_start_copying sets first weights from which a small model learns early to copy (induction heads: Olsson et al.
 * 2022, arXiv 2209.11895). One layer writes into each token which tokens stand before it. The next layer finds an
 * earlier place of the current token and copies the token after it. Weights drawn at random find both only together,
 * and late.
 */
#ifndef MODELS_NET_LLAMA_H
#define MODELS_NET_LLAMA_H

#include "kernels/paged.h"
#include "kernels/param.h"
#include "kernels/tensor.h"
#include "models/io/lora.h"
#include "models/net/llama_config.h"

/* Keys and values of earlier tokens: a tensor [rows, kv heads * head_dim] for each layer. */
struct kv_cache {
    struct tensor **k, **v; /* [layers] */
    int64_t rows;
};

/* Allocates the headers in host, and keys and values of `width` channels per row in data. */
void kv_cache_init(struct kv_cache *cache, int layers, int64_t width, enum dtype dtype, int64_t rows,
                   struct arena *host, struct arena *data);

struct llama_layer {
    struct tensor *attention_norm, *mlp_norm;         /* F32 [C] */
    struct tensor *attention_out_norm, *mlp_out_norm; /* F32 [C]; only in Gemma 2 */
    struct tensor *q_norm, *k_norm;                   /* F32 [head_dim]; only in Qwen 3 */
    struct linear_map q, k, v, o, gate, up, down;
};

struct llama {
    struct llama_config config;
    struct tensor *word;    /* [vocab, C] */
    struct tensor *norm;    /* F32 [C] */
    struct tensor *freqs;   /* F32 [head_dim / 2], a constant */
    struct linear_map head; /* [vocab, C]; its w is `word` if tied */
    struct llama_layer *layers;
    bool checkpointed; /* set by the caller: a block keeps only its output and is recomputed in the backward */
    float neftune;     /* alpha of NEFTune's noise on embeddings in training; 0: none */
};

/* A packed batch of T tokens. */
struct llama_input {
    struct index tokens;       /* ids */
    struct tensor *positions;  /* I32 [T] */
    struct causal causal;      /* without a cache, keys are the batch's own rows */
    const struct index *keys;  /* rows of keys and values, which the backward reads; NULL: all */
    const struct paged *paged; /* attention over the cache, instead of causal; or NULL */
    bool fill;                 /* only fills the cache: no final states */
    const struct index *rows;  /* wanted rows, ascending; NULL: all */
    struct kv_cache *cache;
    struct tensor *cache_rows; /* I32 [T] cache rows of this call's keys and values; NULL: no cache */
};

/* Declares all parameters under their Hugging Face names; matrices have type dtype. frozen: none is trained. */
void llama_init(struct llama *m, const struct llama_config *config, enum dtype dtype, bool frozen, struct params *p,
                const struct param_arenas *a);
/* Uploads the constants, whose memory llama_init takes. */
void llama_upload_constants(const struct llama *m, struct device *d);

/* Final hidden states after the norm, [rows, C]; NULL with `fill`. Logits are their products with the head. */
struct tensor *llama_forward(struct ctx *c, const struct llama *m, const struct llama_input *in);

/* Lists the linear maps that an adapter may sit on, in order, the head last. The list lies in host. Returns their
 * number: 7 for each layer, and 1. */
int llama_modules(struct llama *m, struct arena *host, struct lora_module **modules);

/* Changes the weights of m, which params_init has set and p lists. The heads together have as many channels as the
 * model. With one layer, tokens only learn which tokens precede them. */
void llama_start_copying(const struct llama *m, struct params *p, struct device *d);

#endif
