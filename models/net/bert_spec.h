/*
 * bert_spec.h - an encoder as the meta of ambit's own checkpoints tells of it.
 */
#ifndef MODELS_NET_BERT_SPEC_H
#define MODELS_NET_BERT_SPEC_H

#include "models/io/spec.h"
#include "models/net/bert.h"

extern const char *const spec_dtypes[]; /* of a model's weights */

void bert_spec_write(json_t *o, const struct bert_config *b);
/* -1 with EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA naming the field. */
int bert_spec_read(const json_t *o, struct bert_config *b, const char *where, struct error *err);

#endif
