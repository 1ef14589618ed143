/*
 * infill_adapter.h - the adapter that a run's settings describe.
 */
#ifndef TRAIN_LM_INFILL_ADAPTER_H
#define TRAIN_LM_INFILL_ADAPTER_H

#include "train/lm/infill_trainer.h"

/* As PEFT describes it; c is zeroed before, and the caller releases it.  -1 with EXIT_CODE_USAGE for a target that is
 * none. */
int infill_lora_config(struct lora_config *c, const struct infill_settings *s, const char *base, struct error *err);
/* Declares it on t->model, with `extra` bytes beside it.  -1 as infill_lora_config, for a whole head that
 * is the embedding table, and with EXIT_CODE_MEMORY. */
int infill_add_adapter(struct infill_trainer *t, size_t extra, struct error *err);

#endif
