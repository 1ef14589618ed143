/*
 * gguf_adapter.h - a low-rank adapter in the file that llama.cpp loads: GGUF version 3, of general.type "adapter".
 *
 * Names, shapes and the order of rows are those of llama.cpp's own converter: blk.N.attn_q.weight.lora_a [r, in] and
 * .lora_b [out, r]; for the architecture llama the rows of query and key, whose rotary pairs lie half a head apart
 * here, interleaved.  It has one alpha for all pairs, and scales each by alpha over its rank.
 */
#ifndef MODELS_LM_GGUF_ADAPTER_H
#define MODELS_LM_GGUF_ADAPTER_H

#include "models/lm/llama_model.h"

/* m's adapter as F32.  -1 with EXIT_CODE_USAGE for what the file cannot say: a whole head, a pair on a head that is the
 * embedding table, scales that no single alpha gives; with EXIT_CODE_FAILURE when it cannot be written. */
int gguf_adapter_save(const struct llama_model *m, const char *path, struct error *err);

#endif
