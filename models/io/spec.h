/*
 * spec.h - converts the fields of a struct to JSON and back by a table; describes models in the meta of checkpoints.
 */
#ifndef MODELS_IO_SPEC_H
#define MODELS_IO_SPEC_H

#include "kernels/base.h"

#include <jansson.h>

enum spec_type { SPEC_INT, SPEC_WORD, SPEC_FLOAT, SPEC_DOUBLE };

/* SPEC_INT and SPEC_WORD are stored as int, which includes enums; the other types as float or double. */
struct spec_field {
    const char *name;
    size_t offset;
    enum spec_type type;
    const char *const *words; /* SPEC_WORD: words by number, ends with NULL */
    double low, high;         /* other types: range */
    bool optional;            /* a missing field leaves the struct unchanged; a missing word is the first one */
};

/* Adds the fields to the object. The table ends with a NULL name. */
void spec_write(json_t *o, const struct spec_field *fields, const void *spec);
/* Reads the fields. Returns -1 with an error that has the field, its value and the expected values. */
int spec_read(const json_t *o, const struct spec_field *fields, void *spec, const char *where, struct error *err);

#endif
