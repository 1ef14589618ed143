/*
 * hf_config.h - config.json of a BERT or ModernBERT in Hugging Face's format, versions 4 and 5.
 *
 * Every setting that changes the numbers is read and bounded. A setting that the encoder does not support is refused by
 * name and value. Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_HF_HF_CONFIG_H
#define MODELS_HF_HF_CONFIG_H

#include "models/net/bert.h"

#include <jansson.h>

struct hf_config {
    struct bert_config bert;
    float classifier_dropout; /* default: hidden_dropout */
    int pad_token_id;
    int n_labels;          /* outputs of the classifier, default: 2 */
    char architecture[64]; /* "BertModel", "BertForSequenceClassification", or empty */
    char problem_type[48]; /* or empty */
};

/* Reads dir/config.json. */
int hf_config_read(struct hf_config *c, const char *dir, struct error *err);
/* hf_config_read of a parsed file; `where` is the prefix of messages. */
int hf_config_parse(struct hf_config *c, const json_t *root, const char *where, struct error *err);
/* Writes dir/config.json for weights stored as F32 or BF16. Versions 4 and 5 read it alike. */
int hf_config_write(const struct hf_config *c, const char *dir, enum dtype stored, struct error *err);

#endif
