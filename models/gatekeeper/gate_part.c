#include "models/gatekeeper/gate_part.h"

#include "data/schema/schema_build.h"

#include <stdlib.h>

bool gate_part_wanted(const struct schema *s, int elements)
{
    return elements && s->n_columns && s->n_tables + s->n_columns > elements;
}

struct gate_part *gate_part_new(const struct schema *s, const struct schema_finder *finder, const char *question,
                                const float *vector, int elements, const struct tokenizer *t,
                                const struct schema_input_settings *settings, struct error *err)
{
    struct gate_part *p = xcalloc(1, sizeof *p);

    p->kept = xmalloc((size_t)(s->n_tables + s->n_columns) * sizeof *p->kept);
    schema_finder_best(finder, question, vector, elements, p->kept);
    schema_part(&p->schema, s, p->kept);
    if (schema_input_init(&p->input, &p->schema, t, settings, err) == 0)
        return p;
    gate_part_free(p);
    return NULL;
}

void gate_part_free(struct gate_part *p)
{
    if (!p)
        return;
    schema_input_release(&p->input);
    schema_release(&p->schema);
    free(p->kept);
    free(p);
}
