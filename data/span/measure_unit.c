#include "data/span/measure_unit.h"

#include <stdio.h>
#include <string.h>

/* Stems of units, and of names of columns measured in them. */
static const struct measure_unit {
    const char *const *units, *const *names;
} units[] = {
    { (const char *const[]){ "kg", "kilo", "kilogram", "g", "gram", "lb", "pound", "ton", "tonne", "ounce", "oz",
                             NULL },
      (const char *const[]){ "weight", "mass", "kg", "kilogram", "gram", "lb", "pound", "ton", "tonne", "ounce", "oz",
                             NULL } },
    { (const char *const[]){ "km", "kilometer", "kilometre", "m", "meter", "metre", "cm", "centimeter", "mm", "mile",
                             "foot", "feet", "ft", "inch", "inche", NULL },
      (const char *const[]){ "length", "distance", "height", "width", "depth", "altitude", "elevation", "km", "meter",
                             "cm", "mm", "mile", "feet", "ft", "inch", NULL } },
    { (const char *const[]){ "dollar", "usd", "eur", "euro", "gbp", "yen", "cent", NULL },
      (const char *const[]){ "price", "cost", "amount", "total", "salary", "revenue", "budget", "fee", "income",
                             "payment", "wage", "balance", "dollar", "usd", "eur", "euro", "gbp", NULL } },
    { (const char *const[]){ "percent", NULL }, (const char *const[]){ "percent", "percentage", "pct", "rate", "share",
                                                                       "discount", "ratio", "tax", "margin", NULL } },
    { (const char *const[]){ "second", "minute", "min", "hour", "day", "week", "month", "year", NULL },
      (const char *const[]){ "duration", "runtime", "second", "minute", "hour", "day", "week", "month", "age", NULL } },
    { (const char *const[]){ "liter", "litre", "ml", "gallon", NULL },
      (const char *const[]){ "volume", "liter", "litre", "ml", "gallon", NULL } },
};

static bool is_in(const char *const *list, const char *stem)
{
    for (; *list; list++)
        if (strcmp(*list, stem) == 0)
            return true;
    return false;
}

const struct measure_unit *measure_unit_of(const struct said_number *number, const char *question,
                                           const struct spoken *spoken, int last, int *words)
{
    const char *next = last + 1 < spoken->n ? spoken->words[last + 1].stem : "";
    int end = last < spoken->n ? spoken->words[last].to : 0;
    char attached[SPOKEN_STEM] = "";

    if (end > number->to) /* "50kg" is one word */
        snprintf(attached, sizeof attached, "%.*s", end - number->to, question + number->to);
    for (int i = 0; i < ARRAY_LEN(units); i++) {
        *words = !attached[0] && is_in(units[i].units, next);
        if (*words || (attached[0] && is_in(units[i].units, attached)))
            return &units[i];
        if ((number->money && is_in(units[i].units, "dollar")) || (number->percent && is_in(units[i].units, "percent")))
            return &units[i];
    }
    return NULL;
}

bool measure_unit_names(const struct measure_unit *unit, const struct spoken *name)
{
    for (int i = 0; i < name->n; i++)
        if (is_in(unit->names, name->words[i].stem))
            return true;
    return false;
}
