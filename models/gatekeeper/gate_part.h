/*
 * gate_part.h - the part of a wide schema that one question reads, as ambit-infer detect has it read.
 */
#ifndef MODELS_GATEKEEPER_GATE_PART_H
#define MODELS_GATEKEEPER_GATE_PART_H

#include "models/embed/schema_finder.h"
#include "models/gatekeeper/schema_input.h"

struct gate_part {
    struct schema schema;
    struct schema_input input;
    bool *kept; /* [elements of the whole schema] */
};

/* Whether a schema is read in parts, where `elements` (0: all) are read at most. */
bool gate_part_wanted(const struct schema *s, int elements);
/* vector: the question's, see schema_finder.h, or NULL.  The caller frees; NULL with EXIT_CODE_DATA. */
struct gate_part *gate_part_new(const struct schema *s, const struct schema_finder *finder, const char *question,
                                const float *vector, int elements, const struct tokenizer *t,
                                const struct schema_input_settings *settings, struct error *err);
void gate_part_free(struct gate_part *p);

#endif
