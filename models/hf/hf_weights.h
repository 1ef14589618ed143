/*
 * hf_weights.h - a parameter list from and to the tensors of a Hugging Face folder.
 *
 * Parameters that are PARAM_LESS_ONE are 1 more than their tensors: a number below 2^-16 comes back rounded to 2^-24
 * and is the same 1 + w.  Names are the same but for what a set of rules says: a prefix that a bare encoder is saved
 * without, parameters that are several tensors stacked by rows (query, key and value), older spellings, and tensors
 * nobody needs.  A parameter that the rules do not own (a graph classifier's) is neither read nor written.
 */
#ifndef MODELS_HF_HF_WEIGHTS_H
#define MODELS_HF_HF_WEIGHTS_H

#include "kernels/device.h"
#include "kernels/param.h"
#include "models/net/bert.h"

/* A piece of a parameter's name, and what stands for it in the names of its n tensors. */
struct hf_stack {
    const char *own;
    int n;
    const char *parts[3];
};

/* Ending of a tensor's name, now and in old files. */
struct hf_spelling {
    const char *now, *old;
};

/* Every list ends with NULL (or an entry of NULLs).  An item ending in '.' stands for all names that begin with it, one
 * that begins with '.' for all that end with it. */
struct hf_rules {
    const char *prefix;          /* "bert." */
    const char *const *owned;    /* parameters that the files hold */
    const char *const *may_lack; /* owned ones that an encoder's file need not have */
    const char *const *ignored;  /* tensors that change nothing where no parameter wants them, without prefix */
    const struct hf_stack *stacks;
    const struct hf_spelling *spellings;
};

/* Of an encoder of either kind. */
const struct hf_rules *hf_encoder_rules(enum bert_kind kind);

extern const struct hf_rules hf_bert_rules, hf_llama_rules, hf_t5_rules;

enum hf_extent {
    HF_WHOLE,  /* every owned parameter */
    HF_ENCODER /* only what stands behind the prefix: a pretrained encoder; the rest keeps its values */
};

/*
 * Reads dir (or a .safetensors file) into the owned parameters, in F32 whatever the file's type.  Nothing is changed
 * unless everything fits: else -1 with EXIT_CODE_CHECKPOINT and the names missing, unexpected and of the wrong shape.
 * A tensor that no parameter takes is unexpected where it belongs to a layer that the network has, such as a bias that
 * config.json does not tell of.  Any other one is named in a warning, unless the rules ignore it.
 * *n_kept (may be NULL) counts owned parameters that kept their values because the file lacks them.
 */
int hf_weights_load(const struct params *p, struct device *d, const char *dir, const struct hf_rules *rules,
                    enum hf_extent extent, int *n_kept, struct error *err);

/* Writes the owned parameters to dir/model.safetensors as F32 or BF16. */
int hf_weights_save(const struct params *p, struct device *d, const char *dir, const struct hf_rules *rules,
                    enum dtype stored, struct error *err);

/* Which weights a run started from: a sum that another folder with the same tensors has too. */
/* XXH64 over names and bytes of all tensors of the folder's safetensors, in name order, however they are sharded.  -1
 * with EXIT_CODE_CHECKPOINT when they cannot be opened. */
int base_hash(const char *dir, uint64_t *hash, struct error *err);

#endif
