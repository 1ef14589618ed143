/*
 * lm_config.h - what the config.json of all language models have in common: the stored type, the tokens that end an
 * answer, and the fields that change no number.
 */
#ifndef MODELS_NET_LM_CONFIG_H
#define MODELS_NET_LM_CONFIG_H

#include "kernels/tensor.h"
#include "models/io/config_fields.h"
#include "models/io/safetensors.h"

/* Ids that end an answer. */
enum { LM_MAX_STOPS = 16 };

/* A field of kindred networks: anything but absence, null, false, or the number given means other numbers. */
struct foreign_field {
    const char *name;
    double harmless;
};

/* Refuses the first of the fields (the list ends with NULL) that asks for other numbers. */
int lm_config_foreign(const struct config_fields *s, const struct foreign_field *list);
/* Whether that is absent, null, false, or the number. */
bool lm_config_harmless(const json_t *v, double number);
/* Whether it is a field that every config.json may have: one that every reader reads, or that changes no number of an
 * inference or a training step. */
bool lm_config_common(const char *field);
/* Warns of each field that asks for something and is neither `own` (a list that ends with NULL), nor foreign, nor one
 * of those that change no number of an inference or a training step. */
void lm_config_unknown(const struct config_fields *s, const char *const *own, const struct foreign_field *foreign);
/* dtype, or torch_dtype in older files: BF16 for half precision of both kinds; *out stays where there is none. */
int lm_config_dtype(const struct config_fields *s, enum dtype *out);
/* Whether the weights hold an lm_head.weight with other numbers than those of the embedding table (NULL: there is
 * none), which then is the head, as in transformers. */
bool lm_config_own_head(const struct safetensors *weights, const struct safetensors_entry *table);
/* Adds the ids of eos_token_id, one or a list, to stops. */
int lm_config_stops(const struct config_fields *s, int vocab_size, int stops[LM_MAX_STOPS], int *n);
/* The same of dir/generation_config.json, if there is one: what ends a turn is often named there alone. */
int lm_config_more_stops(const char *dir, int vocab_size, int stops[LM_MAX_STOPS], int *n, struct error *err);
/* eos_token_id of them. */
json_t *lm_config_stops_json(const int *stops, int n);

#endif
