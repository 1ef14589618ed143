/*
 * lm_config.h - the common parts of all language models' config.json: stored type, stop tokens, and fields without
 * effect.
 *
 * Functions that return int return 0, or -1 with EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_NET_LM_CONFIG_H
#define MODELS_NET_LM_CONFIG_H

#include "kernels/tensor.h"
#include "models/io/config_fields.h"
#include "models/io/safetensors.h"

/* Max ids that end a completion. */
enum { LM_MAX_STOPS = 16 };

/* A field of related networks. A value other than null, false or the given number changes results. */
struct foreign_field {
    const char *name;
    double harmless;
};

/* Refuses the first field of the list that would change results. The list ends with NULL. */
int lm_config_foreign(const struct config_fields *s, const struct foreign_field *list);
/* Whether the value is missing, null, false or the number. */
bool lm_config_harmless(const json_t *v, double number);
/* Whether any config.json may have the field: all readers read it, or it has no effect on inference and training. */
bool lm_config_common(const char *field);
/* Warns about each field with a value that is not in `own` (ends with NULL), foreign, or common. */
void lm_config_unknown(const struct config_fields *s, const char *const *own, const struct foreign_field *foreign);
/* Reads dtype, or torch_dtype of older files: BF16 for both types of half precision. *out is unchanged without the
 * field. */
int lm_config_dtype(const struct config_fields *s, enum dtype *out);
/* Whether the weights have an lm_head.weight that differs from the embedding table (NULL: no table). It is then the
 * head, as in transformers. */
bool lm_config_own_head(const struct safetensors *weights, const struct safetensors_entry *table);
/* Adds the ids of eos_token_id, a number or a list, to stops. */
int lm_config_stops(const struct config_fields *s, int vocab_size, int stops[LM_MAX_STOPS], int *n);
/* The same for dir/generation_config.json if it exists. Chat models often name the end of a turn only there. */
int lm_config_more_stops(const char *dir, int vocab_size, int stops[LM_MAX_STOPS], int *n, struct error *err);
/* Value of eos_token_id. */
json_t *lm_config_stops_json(const int *stops, int n);

#endif
