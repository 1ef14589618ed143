/*
 * component.h - reads a field of tokenizer.json that holds one component or a Sequence of components.
 *
 * An unknown field or component type is an error, because it may change the result. Strings stay owned by the JSON
 * value. Errors have EXIT_CODE_CHECKPOINT or EXIT_CODE_DATA.
 */
#ifndef MODELS_TEXT_COMPONENT_H
#define MODELS_TEXT_COMPONENT_H

#include "data/base/json.h"

enum {
    COMPONENT_MAX_STEPS = 32,
    COMPONENT_MAX_WHERE = 8192,
    COMPONENT_MAX_TEXT = 1000,
    COMPONENT_MAX_GROWTH = 256 /* maximum factor by which a pipeline may lengthen a text */
};

struct component {
    const json_t *o;
    const char *type;
    const char *where; /* prefix of messages */
};

/* Adds one component to the pipeline `into`. Returns 0, 1 if the type is unknown, or -1 with err set. */
typedef int component_fn(void *into, const struct component *c, struct error *err);

/* Reads the component in `field` of root; nothing if the field is absent or null. The components in `list` of a
 * Sequence are read in order, and Sequences may nest. `known` lists the supported types for the error message. Returns
 * 0 or -1. */
int components_read(const json_t *root, const char *field, const char *list, component_fn *read, const char *known,
                    void *into, const char *where, struct error *err);

/* Refuses fields other than "type" and `fields`, which ends with NULL. */
int component_only(const struct component *c, const char *const *fields, struct error *err);
/* Reads an optional boolean; *out keeps its value if the field is absent. */
int component_bool(const struct component *c, const char *field, bool *out, struct error *err);
/* Returns a string of at most COMPONENT_MAX_TEXT bytes, or NULL with err set. */
const char *component_text(const struct component *c, const char *field, struct error *err);
/* Returns a string of exactly one character, or NULL with err set. */
const char *component_char(const struct component *c, const char *field, struct error *err);

#endif
