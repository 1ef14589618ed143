/*
 * llama_model.h - a language model in memory: a Hugging Face folder, its tokenizer and, if any, adapters.
 *
 * One adapter is part of the model as it is opened.  Texts may have others, loaded when they are first asked for: each
 * is a network that shares the model's weights, and the model's own maps know them all, for steps that rows of several
 * share.
 */
#ifndef MODELS_LM_LLAMA_MODEL_H
#define MODELS_LM_LLAMA_MODEL_H

#include "kernels/device.h"
#include "models/net/llama.h"
#include "models/net/t5.h"
#include "models/text/chat.h"

struct llama_request {
    const char *dir;           /* config.json, safetensors, tokenizer.json */
    const char *adapter;       /* PEFT folder, or NULL */
    const char *chat_template; /* as chat_open takes it: a name or a file; NULL: the folder's own */
    const char *dtype;         /* auto (as stored), f32 or bf16 */
    bool dry;                  /* take no memory and read no weights: for measuring */
    bool merge;                /* add the adapter to the weights instead of running it beside them */
    bool seq2seq;              /* an encoder-decoder is welcome too */
};

/* Another adapter that texts may have. */
struct llama_adapter {
    char *dir; /* NULL: none, the base alone */
    struct lora_config config;
    struct arena host, data;
    struct params params;
    struct lora_module *modules;
    struct llama net; /* the model's, with this adapter */
};

struct llama_model {
    struct device *device;
    bool dry; /* no memory was taken: for measuring steps that never run */
    enum dtype dtype;
    struct arena host, data, adapter_data;
    struct params params, adapters; /* the network's own; the adapter's */
    bool seq2seq; /* an encoder-decoder: the network is t5, and there are no maps for adapters; else it is net */
    struct llama net;
    struct t5 t5;
    struct lora_module *modules; /* maps an adapter may sit on */
    int n_modules;
    struct lora_config lora; /* r is 0: no adapter */
    char *adapter;           /* the folder it came from; NULL: none */
    bool merged;
    struct llama_adapter *others;
    int n_others;
    struct lora *other_loras; /* [n_modules, LORA_OTHERS] as the model's maps know them */
    struct tokenizer *tokenizer;
    int32_t eos;      /* ends what an encoder-decoder reads and says */
    struct chat chat; /* template is NULL: the folder names none */
};

/* Takes memory and declares the parameters, whose values are undefined yet; with the gradients, masters and state
 * of an optimizer, and `extra` bytes beside them.  -1 with EXIT_CODE_MEMORY when the device has not that much free. */
int llama_model_init(struct llama_model *m, struct device *device, const struct llama_config *config, enum dtype dtype,
                     enum optimizer optimizer, size_t extra, struct error *err);
/* The same without taking memory, nor asking whether there is any: m->data.peak says how much it would be. */
int llama_model_init_dry(struct llama_model *m, struct device *device, const struct llama_config *config,
                         enum dtype dtype, enum optimizer optimizer, struct error *err);
/* Both for an encoder-decoder. */
int t5_model_init(struct llama_model *m, struct device *device, const struct t5_config *config, enum dtype dtype,
                  enum optimizer optimizer, size_t extra, struct error *err);
int t5_model_init_dry(struct llama_model *m, struct device *device, const struct t5_config *config, enum dtype dtype,
                      enum optimizer optimizer, struct error *err);
/* The type the request asks for of weights that are stored as another. */
enum dtype llama_request_dtype(const struct llama_request *q, enum dtype stored);
/* Weights of the folder into the declared parameters. */
int llama_model_load(struct llama_model *m, const char *dir, struct error *err);
/* Tokenizer and chat template; what is wrong with the template is told only when a conversation comes. */
int llama_model_open_text(struct llama_model *m, const struct llama_request *q, struct error *err);
/* An adapter to be put on a network. */
struct adapter_plan {
    const struct lora_config *config;
    enum optimizer optimizer; /* with gradients, its state and masters */
    bool merge;               /* it will be added to the weights */
    size_t extra;             /* bytes wanted beside it */
};
/* Declares its parameters, whose values are undefined yet (a dry model: their measure is in m->adapter_data.peak). */
int llama_model_add_adapter(struct llama_model *m, const struct adapter_plan *plan, struct error *err);
/* Bytes of the copies of frozen matrices that the device's products will make: one of each, in training two. */
size_t llama_model_packed(const struct llama_model *m, bool training);
/* Adds the adapter, which `adapter` names in messages, to the weights; a whole head takes the place of the base's.  -1
 * with EXIT_CODE_CHECKPOINT for one on a head that is the embedding table. */
int llama_model_merge(struct llama_model *m, const char *adapter, struct error *err);
/* All of it, to run.  -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_MEMORY. */
int llama_model_open(struct llama_model *m, struct device *device, const struct llama_request *q, struct error *err);
void llama_model_release(struct llama_model *m);

/* The number of a folder's adapter (NULL: of none), 0 being the model as it was opened; loaded if it is new, which
 * moves no other.  -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_MEMORY, and the model as it was. */
int llama_model_adapter(struct llama_model *m, const char *dir, struct error *err);
/* The network with that adapter. */
const struct llama *llama_model_net(const struct llama_model *m, int adapter);
/* Bytes of all adapters. */
size_t llama_model_adapter_bytes(const struct llama_model *m);

/*
 * Writes m's weights, its config and the files of the tokenizer into dir, which is made when it is missing.  Tokenizer
 * files, and with `same_config` config.json and generation_config.json, are copies of those in `from`, byte for byte;
 * else the config is written anew.  The copied config.json is changed where it ties a head that m does not tie.  -1
 * with EXIT_CODE_FAILURE or EXIT_CODE_CHECKPOINT.
 */
int llama_folder_save(const struct llama_model *m, const char *from, bool same_config, const char *dir,
                      struct error *err);

#endif
