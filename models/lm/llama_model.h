/*
 * llama_model.h - a language model in memory: a Hugging Face folder, its tokenizer and its adapters.
 *
 * A model is opened with at most one adapter. More adapters are loaded when a text first asks for them. Each is a
 * network that shares the model's weights. The model's own maps know all adapters, so that rows with different
 * adapters share a step. The model owns its memory, and borrows the device.
 */
#ifndef MODELS_LM_LLAMA_MODEL_H
#define MODELS_LM_LLAMA_MODEL_H

#include "kernels/device.h"
#include "models/net/llama.h"
#include "models/net/t5.h"
#include "models/text/chat.h"

struct llama_request {
    const char *dir;           /* folder with config.json, safetensors and tokenizer.json */
    const char *adapter;       /* PEFT folder, or NULL */
    const char *chat_template; /* name or file, see chat_open; NULL: the folder's own */
    const char *dtype;         /* auto (as stored), f32 or bf16 */
    bool dry;                  /* measure: take no memory and read no weights */
    bool merge;                /* add the adapter to the weights, instead of computing it beside them */
    bool seq2seq;              /* accept an encoder-decoder as well */
};

/* A further adapter. */
struct llama_adapter {
    char *dir; /* NULL: the base without adapter */
    struct lora_config config;
    struct arena host, data;
    struct params params;
    struct lora_module *modules;
    struct llama net; /* the model's network with this adapter */
};

struct llama_model {
    struct device *device;
    bool dry; /* no memory was taken: steps are only measured */
    enum dtype dtype;
    struct arena host, data, adapter_data;
    struct params params, adapters; /* of the network; of its adapter */
    bool seq2seq;                   /* encoder-decoder: the network is t5, without maps for adapters; else it is net */
    struct llama net;
    struct t5 t5;
    struct lora_module *modules; /* the maps that an adapter may sit on */
    int n_modules;
    struct lora_config lora; /* r = 0: no adapter */
    char *adapter;           /* its folder, or NULL */
    bool merged;
    struct llama_adapter *others;
    int n_others;
    struct lora *other_loras; /* [n_modules, LORA_OTHERS] the further adapters, as the model's maps know them */
    struct tokenizer *tokenizer;
    int32_t eos;      /* ends sources and completions of an encoder-decoder */
    struct chat chat; /* template is NULL if the folder has none */
};

/* Takes memory and declares the parameters, with the optimizer's gradients, masters and state and `extra` bytes.
 * Their values are undefined. -1 with EXIT_CODE_MEMORY if the device has too little free memory. */
int llama_model_init(struct llama_model *m, struct device *device, const struct llama_config *config, enum dtype dtype,
                     enum optimizer optimizer, size_t extra, struct error *err);
/* The same without taking memory. m->data.peak is the size. */
int llama_model_init_dry(struct llama_model *m, struct device *device, const struct llama_config *config,
                         enum dtype dtype, enum optimizer optimizer, struct error *err);
/* The same two functions for an encoder-decoder. */
int t5_model_init(struct llama_model *m, struct device *device, const struct t5_config *config, enum dtype dtype,
                  enum optimizer optimizer, size_t extra, struct error *err);
int t5_model_init_dry(struct llama_model *m, struct device *device, const struct t5_config *config, enum dtype dtype,
                      enum optimizer optimizer, struct error *err);
/* Type of the model in memory, for weights stored as another type. */
enum dtype llama_request_dtype(const struct llama_request *q, enum dtype stored);
/* Reads the folder's weights into the declared parameters. */
int llama_model_load(struct llama_model *m, const char *dir, struct error *err);
/* Opens tokenizer and chat template. An error in the template is only reported for a conversation. */
int llama_model_open_text(struct llama_model *m, const struct llama_request *q, struct error *err);
/* An adapter to declare. */
struct adapter_plan {
    const struct lora_config *config;
    enum optimizer optimizer; /* with its gradients, state and masters */
    bool merge;               /* it will be added to the weights */
    size_t extra;             /* bytes to take beside it */
};
/* Declares the parameters of an adapter; their values are undefined. For a dry model, m->adapter_data.peak is the
 * size. */
int llama_model_add_adapter(struct llama_model *m, const struct adapter_plan *plan, struct error *err);
/* Bytes of packed copies that the device makes of frozen matrices: one of each, in training two. */
size_t llama_model_packed(const struct llama_model *m, bool training);
/* Adds the adapter to the weights. A trained head replaces the base's. `adapter` names it in messages. -1 with
 * EXIT_CODE_CHECKPOINT for an adapter on a head that is tied to the embedding table. */
int llama_model_merge(struct llama_model *m, const char *adapter, struct error *err);
/* Opens a model to run. -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_MEMORY. */
int llama_model_open(struct llama_model *m, struct device *device, const struct llama_request *q, struct error *err);
void llama_model_release(struct llama_model *m);

/* Returns the number of a folder's adapter (NULL: no adapter); 0 is the model as it was opened. A new adapter is
 * loaded; the others stay in place. -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_MEMORY; the model is then unchanged. */
int llama_model_adapter(struct llama_model *m, const char *dir, struct error *err);
/* The network with an adapter, by number. */
const struct llama *llama_model_net(const struct llama_model *m, int adapter);
/* Bytes of all adapters. */
size_t llama_model_adapter_bytes(const struct llama_model *m);

/* Writes weights, config and tokenizer to dir, which is created if missing. Tokenizer files are exact copies from
 * the folder `from`. same_config: config.json and generation_config.json are copied too, and a wrong tie of the head
 * is corrected; else config.json is written anew. -1 with EXIT_CODE_FAILURE or EXIT_CODE_CHECKPOINT. */
int llama_folder_save(const struct llama_model *m, const char *from, bool same_config, const char *dir,
                      struct error *err);

#endif
