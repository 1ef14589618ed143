#include "train/run/measure.h"

#include <stdlib.h>

static bool fits_in(const struct extent *a, const struct extent *b)
{
    for (int i = 0; i < EXTENT_SIZES; i++)
        if (a->size[i] > b->size[i])
            return false;
    return true;
}

void measurement_add(struct measurement *m, const struct extent *e, step_fn *fn, void *arg)
{
    for (int i = 0; i < m->n; i++)
        if (fits_in(e, &m->known[i]))
            return;
    GROW(m->known, m->n, m->cap);
    m->known[m->n++] = *e;
    workspace_raise(&m->most, workspace_measure(m->work, fn, arg));
}

void measurement_release(struct measurement *m)
{
    free(m->known);
    *m = (struct measurement){ 0 };
}
