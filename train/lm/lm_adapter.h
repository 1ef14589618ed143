/*
 * lm_adapter.h - the adapter that a run's settings describe.
 */
#ifndef TRAIN_LM_LM_ADAPTER_H
#define TRAIN_LM_LM_ADAPTER_H

#include "train/lm/lm_trainer.h"

/* As PEFT describes it; c is zeroed before, and the caller releases it.  -1 with EXIT_CODE_USAGE for a target that is
 * none. */
int lm_lora_config(struct lora_config *c, const struct lm_settings *s, const char *base, struct error *err);
/* Declares it on t->model, to be trained, with `extra` bytes beside it.  -1 as lm_lora_config, for a whole head that
 * is the embedding table, and with EXIT_CODE_MEMORY. */
int lm_add_adapter(struct lm_trainer *t, enum optimizer optimizer, size_t extra, struct error *err);

#endif
