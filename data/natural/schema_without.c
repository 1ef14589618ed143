#include "data/natural/schema_without.h"

#include "data/schema/schema_build.h"

#include <stdlib.h>

/* How a schema is changed. */
struct change {
    const bool *dropped; /* NULL: none */
    int renamed;         /* -1: none */
    const char *name;
};

static bool is_dropped(const struct change *x, int column)
{
    return x->dropped && x->dropped[column];
}

static bool keeps_columns(const struct schema_table *t, const struct change *x)
{
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++)
        if (!is_dropped(x, c))
            return true;
    return false;
}

static void add_table(struct schema_build *b, const struct schema *s, const struct schema_table *t,
                      const struct change *x, int *number)
{
    int table = schema_build_table(b, t->name, t->text);

    schema_build_form(b, table, t->form);
    for (int c = t->first_column; c < t->first_column + t->n_columns; c++) {
        const struct schema_column *column = &s->columns[c];
        bool renamed = c == x->renamed;
        if (is_dropped(x, c))
            continue;
        number[c] = schema_build_column(b, table, renamed ? x->name : column->name, renamed ? NULL : column->text,
                                        column->type);
        schema_build_compared(b, number[c], column->affinity, column->collation);
        if (column->primary)
            schema_build_primary(b, number[c]);
    }
}

static void build(struct schema *out, const struct schema *s, const struct change *x, const char *db_id)
{
    int *number = xcalloc((size_t)s->n_columns + 1, sizeof *number);
    struct schema_build b;

    schema_build_init(&b, db_id);
    for (int t = 0; t < s->n_tables; t++)
        if (keeps_columns(&s->tables[t], x))
            add_table(&b, s, &s->tables[t], x, number);
    for (int k = 0; k < s->n_foreign_keys; k++) {
        const struct schema_foreign_key *key = &s->foreign_keys[k];
        if (!is_dropped(x, key->from) && !is_dropped(x, key->to))
            schema_build_foreign_key(&b, number[key->from], number[key->to]);
    }
    schema_build_finish(&b, out);
    free(number);
}

void schema_without(struct schema *out, const struct schema *s, const bool *dropped, const char *db_id)
{
    build(out, s, &(struct change){ .dropped = dropped, .renamed = -1 }, db_id);
}

void schema_with_name(struct schema *out, const struct schema *s, int column, const char *name, const char *db_id)
{
    build(out, s, &(struct change){ .renamed = column, .name = name }, db_id);
}
