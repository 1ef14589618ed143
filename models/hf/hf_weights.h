/*
 * hf_weights.h - loads and saves the parameters of a network as tensors of a Hugging Face folder.
 *
 * Parameters and tensors have equal names, with exceptions that a set of rules lists. Bare encoders omit a prefix, and
 * old files have other names. Some parameters are stacked from several tensors by rows, such as query, key and value.
 * Some tensors are ignored. Parameters that the rules do not own, such as a graph classifier's, are neither read nor
 * written.
 *
 * A parameter with PARAM_LESS_ONE is its tensor plus 1. Saving rounds values below 2^-16 to multiples of 2^-24, so 1 +
 * w is unchanged. Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_HF_HF_WEIGHTS_H
#define MODELS_HF_HF_WEIGHTS_H

#include "kernels/device.h"
#include "kernels/param.h"
#include "models/net/bert.h"

/* Part of a parameter's name, and its replacements in the names of the n tensors. */
struct hf_stack {
    const char *own;
    int n;
    const char *parts[3];
};

/* Suffix of a tensor's name, now and in old files. */
struct hf_spelling {
    const char *now, *old;
};

/* Rules of a model family. Lists end with NULL or a zeroed entry. An item that ends in '.' matches names that start
 * with it; one that starts with '.' matches names that end with it. */
struct hf_rules {
    const char *prefix;          /* "bert." */
    const char *const *owned;    /* parameters in the file */
    const char *const *may_lack; /* owned parameters that an encoder's file may lack */
    const char *const *ignored;  /* tensors without prefix that may be ignored if no parameter takes them */
    const struct hf_stack *stacks;
    const struct hf_spelling *spellings;
};

/* Returns the rules of an encoder. */
const struct hf_rules *hf_encoder_rules(enum bert_kind kind);

extern const struct hf_rules hf_bert_rules, hf_llama_rules, hf_t5_rules;

enum hf_extent {
    HF_WHOLE,  /* all owned parameters */
    HF_ENCODER /* a pretrained encoder: parameters with the prefix; the others keep their values */
};

/* Loads a folder, or a .safetensors file, into the owned parameters, converted from the file's type. Nothing is changed
 * unless everything matches; otherwise err has the tensors that are missing, unexpected or of the wrong shape.
 *
 * A tensor without a parameter is unexpected if it belongs to a layer of the network, such as a bias that config.json
 * does not mention. Other tensors cause a warning unless the rules ignore them. *n_kept (may be NULL) is the number of
 * owned parameters that the file lacks and that keep their values. */
int hf_weights_load(const struct params *p, struct device *d, const char *dir, const struct hf_rules *rules,
                    enum hf_extent extent, int *n_kept, struct error *err);

/* Writes the owned parameters to dir/model.safetensors as F32 or BF16. */
int hf_weights_save(const struct params *p, struct device *d, const char *dir, const struct hf_rules *rules,
                    enum dtype stored, struct error *err);

/* Returns in *hash the XXH64 of the names and bytes of all tensors in the folder's safetensors, in the order of names.
 * It identifies the base of a run, and does not depend on sharding. -1 if the files cannot be opened. */
int hf_weights_hash(const char *dir, uint64_t *hash, struct error *err);

#endif
