/*
 * config_fields.h - fields of a config.json, each bounded, with errors that name file, field, value and what was
 * expected.  All errors have EXIT_CODE_CHECKPOINT.
 */
#ifndef MODELS_LORA_CONFIG_FIELDS_H
#define MODELS_LORA_CONFIG_FIELDS_H

#include "kernels/base.h"

#include <jansson.h>

/* Where fields are read from, and how messages about them begin. */
struct config_fields {
    const json_t *root;
    const char *where;
    struct error *err;
};

/* The parsed file dir/name; the caller owns it.  *path (free it) is its name. */
json_t *config_open(const char *dir, const char *name, char **path, struct error *err);

/* Missing or null. */
bool config_absent(const struct config_fields *s, const char *field);
/* Whether a list, which ends with NULL, has the field. */
bool config_named(const char *const *list, const char *field);
/* Warns of a field that asks for something nobody here knows. */
void config_unknown(const struct config_fields *s, const char *field);
/* Always -1. */
int config_refuse(const struct config_fields *s, const char *field, const char *expected);
int config_int(const struct config_fields *s, const char *field, int64_t low, int64_t high, int *out);
int config_real(const struct config_fields *s, const char *field, double low, double high, float *out);
/* These leave *out as it is when the file does not have the field. */
int config_maybe_int(const struct config_fields *s, const char *field, int64_t low, int64_t high, int *out);
int config_maybe_real(const struct config_fields *s, const char *field, double low, double high, float *out);
int config_maybe_bool(const struct config_fields *s, const char *field, bool *out);
/* A short string, or empty when v is NULL or null. */
int config_text(const struct config_fields *s, const char *field, const json_t *v, char *out, size_t size);
/* A float as its shortest decimal: 0.1, not 0.10000000149011612. */
json_t *config_short_real(float x);

#endif
