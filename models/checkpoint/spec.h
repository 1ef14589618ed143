/*
 * spec.h - what a checkpoint's meta says of a model: the fields of a struct as JSON and back, by a table.
 */
#ifndef MODELS_CHECKPOINT_SPEC_H
#define MODELS_CHECKPOINT_SPEC_H

#include "kernels/base.h"

#include <jansson.h>

enum spec_type { SPEC_INT, SPEC_WORD, SPEC_FLOAT, SPEC_DOUBLE };

/* SPEC_INT and SPEC_WORD are an int in memory (an enum is one), the others what they are called. */
struct spec_field {
    const char *name;
    size_t offset;
    enum spec_type type;
    const char *const *words; /* of SPEC_WORD, by number; ends with NULL */
    double low, high;         /* of the others */
    bool optional;            /* where it is missing the spec stays; of SPEC_WORD the first word is meant */
};

/* Adds the fields to the object; the table ends with a name that is NULL. */
void spec_write(json_t *o, const struct spec_field *fields, const void *spec);
/* -1 with an error that names the field, its value and what was expected. */
int spec_read(const json_t *o, const struct spec_field *fields, void *spec, const char *where, struct error *err);

#endif
