/*
 * config_fields.h - reads fields of a config.json with bounds; errors have the file, the field, its value and what was
 * expected.
 *
 * All errors have EXIT_CODE_CHECKPOINT. Functions return 0, or -1 with err set.
 */
#ifndef MODELS_IO_CONFIG_FIELDS_H
#define MODELS_IO_CONFIG_FIELDS_H

#include "kernels/base.h"

#include <jansson.h>

/* A parsed file, the prefix of messages, and the error to fill. */
struct config_fields {
    const json_t *root;
    const char *where;
    struct error *err;
};

/* Parses dir/name. The caller owns the value, and frees *path, the name of the file. Returns NULL with err set. */
json_t *config_open(const char *dir, const char *name, char **path, struct error *err);

/* Returns whether the field is missing or null. */
bool config_absent(const struct config_fields *s, const char *field);
/* Returns whether a list, which ends with NULL, contains the field. */
bool config_named(const char *const *list, const char *field);
/* Warns of an unknown field. */
void config_unknown(const struct config_fields *s, const char *field);
/* Reports the value of a field and what was expected. Returns -1. */
int config_refuse(const struct config_fields *s, const char *field, const char *expected);
int config_int(const struct config_fields *s, const char *field, int64_t low, int64_t high, int *out);
int config_real(const struct config_fields *s, const char *field, double low, double high, float *out);
/* Readers of optional fields: *out keeps its value if the field is absent. */
int config_maybe_int(const struct config_fields *s, const char *field, int64_t low, int64_t high, int *out);
int config_maybe_real(const struct config_fields *s, const char *field, double low, double high, float *out);
int config_maybe_bool(const struct config_fields *s, const char *field, bool *out);
/* Copies a short string to out; an empty one if v is NULL or null. */
int config_text(const struct config_fields *s, const char *field, const json_t *v, char *out, size_t size);
/* Returns the shortest decimal of a float: 0.1, not 0.10000000149011612. */
json_t *config_short_real(float x);

#endif
