#include "data/span/span_schema.h"

#include "data/base/strings.h"

#include <stdlib.h>
#include <strings.h>

static const char *table_of(const struct span_column *c)
{
    return c->sql_table ? c->sql_table : c->table ? c->table : SPAN_TABLE;
}

static const char *name_of(const struct span_column *c)
{
    return c->sql_name ? c->sql_name : c->name;
}

static char *keep_name(void *user, const char *name)
{
    (void)user;
    return xstrdup(name);
}

void span_schema_init(struct schema *s, const char *db_id, const struct span_column *columns, int n, span_name_fn *name,
                      void *user)
{
    struct strings tables = { 0 };
    struct schema_build b;

    name = name ? name : keep_name;
    schema_build_init(&b, db_id);
    for (int i = 0; i < n; i++) {
        int known = tables.n, table = strings_add(&tables, table_of(&columns[i]));
        char *column = name(user, name_of(&columns[i]));
        if (table == known) {
            char *text = name(user, table_of(&columns[i]));
            schema_build_table(&b, text, NULL);
            free(text);
        }
        schema_build_column(&b, table, column, NULL, columns[i].type);
        free(column);
    }
    schema_build_finish(&b, s);
    schema_build_release(&b);
    strings_release(&tables);
}

void span_schema_elements(int *element, const struct span_column *columns, int n, const struct schema *s)
{
    const char *last = NULL;
    int table = -1;

    for (int i = 0; i < n; i++) {
        const char *name = table_of(&columns[i]);
        if (!last || strcasecmp(name, last) != 0)
            table = schema_table_find(s, name);
        int column = table < 0 ? -1 : schema_column_find(s, table, name_of(&columns[i]));
        last = name;
        element[i] = column < 0 ? -1 : s->n_tables + column;
    }
}
