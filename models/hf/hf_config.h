/*
 * hf_config.h - the config.json of a BERT's or a ModernBERT's folder as Hugging Face writes it, versions 4 and 5.
 *
 * Every field that changes the numbers is read and bounded; one that asks for something that the encoder here does not
 * compute is refused by name and value.  Errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_HF_HF_CONFIG_H
#define MODELS_HF_HF_CONFIG_H

#include "models/net/bert.h"

#include <jansson.h>

struct hf_config {
    struct bert_config bert;
    float classifier_dropout; /* hidden_dropout unless the file says otherwise */
    int pad_token_id;
    int n_labels;          /* outputs of the classifier, 2 unless the file says otherwise */
    char architecture[64]; /* "BertModel", "BertForSequenceClassification"; empty when the file names none */
    char problem_type[48]; /* empty when the file has none */
};

/* dir/config.json */
int hf_config_read(struct hf_config *c, const char *dir, struct error *err);
/* The parsed file; `where` opens the messages. */
int hf_config_parse(struct hf_config *c, const json_t *root, const char *where, struct error *err);
/* dir/config.json for weights stored as F32 or BF16, in a form that versions 4 and 5 read alike. */
int hf_config_write(const struct hf_config *c, const char *dir, enum dtype stored, struct error *err);

#endif
