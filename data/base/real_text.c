#include "data/base/real_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of 15 digits survive the conversion to double, and %g drops trailing zeros, so the search starts at 15
 * digits.  Denormal numbers have fewer significant digits, so their search starts at 1. */
const char *real_text(char text[REAL_TEXT], double x)
{
    int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG;

    do
        snprintf(text, REAL_TEXT, "%.*g", digits++, x);
    while (digits <= DBL_DECIMAL_DIG && !(strtod(text, NULL) == x));
    return text;
}

const char *real_literal(char text[REAL_TEXT], double x)
{
    real_text(text, x);
    if (isfinite(x) && !strpbrk(text, ".e"))
        memcpy(text + strlen(text), ".0", sizeof ".0");
    return text;
}
