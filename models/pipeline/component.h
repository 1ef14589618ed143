/*
 * component.h - the parts of a tokenizer.json that are one component or a Sequence of them.
 *
 * A field that nobody here knows may change the result, so it is an error; so is a component that is not read.
 */
#ifndef MODELS_PIPELINE_COMPONENT_H
#define MODELS_PIPELINE_COMPONENT_H

#include "data/util/json.h"

enum {
    COMPONENT_MAX_STEPS = 32,
    COMPONENT_MAX_WHERE = 8192,
    COMPONENT_MAX_TEXT = 1000,
    COMPONENT_MAX_GROWTH = 256 /* times that a pipeline may make a text as long */
};

struct component {
    const json_t *o;
    const char *type;
    const char *where; /* opens messages */
};

/* Enters one component into a pipeline of `into`'s kind.  1 when its type is not one of those it reads. */
typedef int component_fn(void *into, const struct component *c, struct error *err);

/* Reads the component `field` of root, none when it is absent or null; a Sequence's `list` is read in its order, and so
 * are Sequences within.  `known` names the types in the message about another one.  -1 on failure. */
int components_read(const json_t *root, const char *field, const char *list, component_fn *read, const char *known,
                    void *into, const char *where, struct error *err);

/* The fields of an object beside "type"; the list ends with a NULL. */
int component_only(const struct component *c, const char *const *fields, struct error *err);
/* A boolean that may be absent. */
int component_bool(const struct component *c, const char *field, bool *out, struct error *err);
/* A text of at most COMPONENT_MAX_TEXT bytes; NULL on failure. */
const char *component_text(const struct component *c, const char *field, struct error *err);
/* A text of one character. */
const char *component_char(const struct component *c, const char *field, struct error *err);

#endif
