/*
 * hf_config_impl.h - what the files behind hf_config.h share.
 */
#ifndef MODELS_HF_HF_CONFIG_IMPL_H
#define MODELS_HF_HF_CONFIG_IMPL_H

#include "models/hf/hf_config.h"
#include "models/lora/config_fields.h"

/* The fields that such a file alone has; the list ends with NULL. */
extern const char *const hf_modern_fields[];
/* What of a file with model_type "modernbert" is not as in one of a BERT. */
int hf_modern_parse(struct bert_config *b, const struct config_fields *s);
/* Its fields, version 4's names beside version 5's. */
void hf_modern_write(json_t *o, const struct bert_config *b);

#endif
