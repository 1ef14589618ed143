#include "data/sql/sql_keyword.h"

#include <string.h>
#include <strings.h>

static const char *const names[SQL_KEYWORDS] = { "MAX", "MIN", "COUNT", "SUM", "AVG", ">", "<", "=", ">=", "<=" };

const char *sql_keyword_name(enum sql_keyword keyword)
{
    return names[keyword];
}

int sql_keyword_find(const char *name)
{
    for (int k = 0; k < SQL_KEYWORDS; k++)
        if (strcasecmp(names[k], name) == 0)
            return k;
    return strcmp(name, "==") == 0 ? SQL_KEYWORD_EQUAL : -1;
}
