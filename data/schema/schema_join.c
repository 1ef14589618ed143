#include "data/schema/schema_join.h"

#include "data/schema/schema_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct join {
    const struct schema *const *schemas;
    int n;
    struct schema_build build;
    char **names; /* of the tables so far */
    int n_names, cap;
};

static bool is_taken(const struct join *j, const char *name)
{
    for (int i = 0; i < j->n_names; i++)
        if (strcasecmp(j->names[i], name) == 0)
            return true;
    return false;
}

static bool is_anywhere(const struct join *j, const char *name)
{
    for (int i = 0; i < j->n; i++)
        if (schema_table_find(j->schemas[i], name) >= 0)
            return true;
    return is_taken(j, name);
}

/* The caller frees. */
static char *free_name(const struct join *j, const char *name)
{
    char *free_one = xstrdup(name);

    for (int k = 2; k == 2 ? is_taken(j, free_one) : is_anywhere(j, free_one); k++) {
        free(free_one);
        CHECK(asprintf(&free_one, "%s_%d", name, k) >= 0, "table %s gets no other name", name);
    }
    return free_one;
}

static int add_table(struct join *j, const struct schema_table *t)
{
    char *name = free_name(j, t->name);
    int table = schema_build_table(&j->build, name, t->text);

    schema_build_form(&j->build, table, t->form);
    GROW(j->names, j->n_names, j->cap);
    j->names[j->n_names++] = name;
    return table;
}

static void add_schema(struct join *j, const struct schema *s)
{
    int first_table = j->build.n_tables, first = j->build.n_columns;

    for (int t = 0; t < s->n_tables; t++)
        add_table(j, &s->tables[t]);
    for (int i = 0; i < s->n_columns; i++) {
        const struct schema_column *c = &s->columns[i];
        schema_build_column(&j->build, first_table + c->table, c->name, c->text, c->type);
        if (c->primary)
            schema_build_primary(&j->build, first + i);
    }
    for (int i = 0; i < s->n_foreign_keys; i++)
        schema_build_foreign_key(&j->build, first + s->foreign_keys[i].from, first + s->foreign_keys[i].to);
}

void schema_join(struct schema *out, const struct schema *const *schemas, int n)
{
    struct join j = { .schemas = schemas, .n = n };

    CHECK(n >= 1, "%d schemas to join", n);
    schema_build_init(&j.build, schemas[0]->db_id);
    for (int i = 0; i < n; i++)
        add_schema(&j, schemas[i]);
    schema_build_finish(&j.build, out);
    schema_build_release(&j.build);
    for (int i = 0; i < j.n_names; i++)
        free(j.names[i]);
    free(j.names);
}
