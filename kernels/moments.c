#include "kernels/moments.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { POWERS = 7 /* of ten, the bits behind the sign that may tell of them */ };

static int ascending(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

/* The i-th power of ten from below has 2^i values, and twice as many for squares, which need no sign.  Each value is
 * the middle of one of equal parts of .1 to 1.  The values 0 and 1 follow. */
static void fill(float values[MOMENT_CODES], bool is_signed)
{
    int n = 0;

    for (int i = 0; i < POWERS; i++) {
        int parts = (is_signed ? 1 : 2) << i;
        for (int k = 0; k < parts; k++) {
            double value = pow(10, i - (POWERS - 1)) * (0.1 + 0.9 * (k + 0.5) / parts);
            values[n++] = (float)value;
            if (is_signed)
                values[n++] = (float)-value;
        }
    }
    values[n++] = 0;
    values[n++] = 1;
    qsort(values, MOMENT_CODES, sizeof *values, ascending);
}

void moment_maps_fill(struct moment_maps *m)
{
    fill(m->signed_values, true);
    fill(m->squares, false);
}
