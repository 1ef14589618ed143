/*
 * hf_folder.h - whole Hugging Face folders of language models: what a training run or a merge leaves for other tools.
 */
#ifndef MODELS_LM_HF_FOLDER_H
#define MODELS_LM_HF_FOLDER_H

#include "models/lm/llama_model.h"

/*
 * Writes m's weights, its config and the files of the tokenizer into dir, which is made when it is missing.  Tokenizer
 * files, and with `same_config` config.json and generation_config.json, are copies of those in `from`, byte for byte;
 * else the config is written anew.  The copied config.json is changed where it ties a head that m does not tie.  -1
 * with EXIT_CODE_FAILURE or EXIT_CODE_CHECKPOINT.
 */
int llama_folder_save(const struct llama_model *m, const char *from, bool same_config, const char *dir,
                      struct error *err);

#endif
