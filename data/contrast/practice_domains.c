#include "data/contrast/practice_domains_impl.h"

#include <stdlib.h>
#include <string.h>

const struct practice_domain *practice_domain(int i)
{
    static const struct practice_domain *const lists[] = { practice_domains_town, practice_domains_travel,
                                                           practice_domains_nature, practice_domains_work };

    for (int l = 0; l < ARRAY_LEN(lists); l++)
        for (const struct practice_domain *d = lists[l]; d->name; d++)
            if (i-- == 0)
                return d;
    return NULL;
}

int practice_n_tables(const struct practice_domain *d)
{
    int n = 0;
    while (n < PRACTICE_TABLES && d->tables[n].name)
        n++;
    return n;
}

int practice_n_columns(const struct practice_table *t)
{
    int n = 0;
    while (n < PRACTICE_COLUMNS && t->columns[n].name)
        n++;
    return n;
}

int practice_table_find(const struct practice_domain *d, const char *name)
{
    for (int t = 0; t < practice_n_tables(d); t++)
        if (strcmp(d->tables[t].name, name) == 0)
            return t;
    CHECK(false, "domain %s has no table %s", d->name, name);
    return -1;
}

int practice_n_values(const struct practice_column *c)
{
    int n = c->values != NULL;
    for (const char *p = c->values; p && *p; p++)
        n += *p == '|';
    return n;
}

void practice_value(char *out, size_t size, const struct practice_column *c, int i)
{
    const char *p = c->values;

    for (i %= practice_n_values(c); i > 0; i--)
        p = strchr(p, '|') + 1;
    size_t n = strcspn(p, "|");
    CHECK(n < size, "value of %s: %zu bytes", c->name, n);
    memcpy(out, p, n);
    out[n] = 0;
}

bool practice_is_number(const char *value)
{
    char *end;
    strtod(value, &end);
    return *value && !*end;
}
