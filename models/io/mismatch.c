#include "models/io/mismatch.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void name_list_add(struct name_list *l, const char *fmt, ...)
{
    char name[200];
    size_t used = strlen(l->text);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    l->n++;
    if (used + strlen(name) + sizeof ", ..." < sizeof l->text)
        snprintf(l->text + used, sizeof l->text - used, "%s%s", used ? ", " : "", name);
    else if (used < 4 || strcmp(l->text + used - 3, "..."))
        snprintf(l->text + used, sizeof l->text - used, "%s", used ? ", ..." : "...");
}

char *shape_text(char out[128], int ndim, const int64_t *shape)
{
    int n = snprintf(out, 128, "[");

    for (int d = 0; d < ndim && d < SHAPE_MAX_DIMS && n < 100; d++)
        n += snprintf(out + n, 128 - (size_t)n, "%s%" PRId64, d ? ", " : "", shape[d]);
    snprintf(out + n, 128 - (size_t)n, ndim > SHAPE_MAX_DIMS ? ", ...]" : "]");
    return out;
}

bool shape_equal(int ndim, const int64_t *shape, int other_ndim, const int64_t *other)
{
    for (int d = 0; d < ndim && ndim == other_ndim; d++)
        if (shape[d] != other[d])
            return false;
    return ndim == other_ndim;
}

static void describe(char *out, size_t size, const struct name_list *l, const char *what)
{
    size_t used = strlen(out);
    if (l->n)
        snprintf(out + used, size - used, "%s%d %s (%s)", used ? "; " : "", l->n, what, l->text);
}

int mismatch_report(const struct mismatch *m, const char *file, struct error *err)
{
    char text[900] = "";

    if (m->missing.n + m->unexpected.n + m->wrong_shape.n == 0)
        return 0;
    describe(text, sizeof text, &m->missing, "missing");
    describe(text, sizeof text, &m->unexpected, "unexpected");
    describe(text, sizeof text, &m->wrong_shape, "of the wrong shape");
    return error_set(err, EXIT_CODE_CHECKPOINT, "%s: %s", file, text);
}
