/* Part of contrast.h: forms of a schema in which other elements have other names. */
#include "data/contrast/contrast_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const float SHARE = 0.5f; /* of the elements that have other names */

/* Names that the elements of one schema get. */
struct new_names {
    const struct schema *s;
    const struct alteration *a;
    const char **names; /* by element: tables, then columns; NULL: its own */
};

/* Elements that the alteration is about keep their names: what it adds is named after them. */
static bool is_altered(const struct alteration *a, int table, int column)
{
    return column < 0 ? table == a->table : column == a->column || column == a->key;
}

static bool is_invented(const struct alteration *a, const char *name)
{
    const char *const others[] = { a->names[0], a->names[1], a->new_table };

    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (others[i] && strcasecmp(others[i], name) == 0)
            return true;
    for (int i = 0; i < a->n_new_columns; i++)
        if (strcasecmp(a->new_columns[i], name) == 0)
            return true;
    return false;
}

/* Elements [first, first + n) do not have the name, neither from the start nor by renaming. */
static bool is_free(const struct new_names *r, int first, int n, const char *name)
{
    for (int i = first; i < first + n; i++) {
        const char *own = i < r->s->n_tables ? r->s->tables[i].name : r->s->columns[i - r->s->n_tables].name;
        if (strcasecmp(own, name) == 0 || (r->names[i] && strcasecmp(r->names[i], name) == 0))
            return false;
    }
    return name[0] && !strchr(name, '.') && !is_invented(r->a, name);
}

static void rename_element(struct new_names *r, const struct alteration *known, struct rng *rng)
{
    const struct schema_table *t = &r->s->tables[known->table];
    const char *name = known->names[rng_below(rng, 2)];
    bool chosen = rng_uniform(rng) < SHARE && !is_altered(r->a, known->table, known->column);

    if (chosen && known->column < 0 && is_free(r, 0, r->s->n_tables, name))
        r->names[known->table] = name;
    if (chosen && known->column >= 0 && is_free(r, r->s->n_tables + t->first_column, t->n_columns, name))
        r->names[r->s->n_tables + known->column] = name;
}

int contrast_rename(const struct contrast *c, struct schema *out, const struct contrast_schema *of, int db,
                    const struct alteration *a, struct rng *rng)
{
    const struct schema *s = &c->in->schemas.schemas[db];
    struct new_names r = { s, a, xcalloc((size_t)s->n_tables + (size_t)s->n_columns, sizeof *r.names) };
    struct alteration renamed = *a;
    struct rng placed = of->placed;

    for (int i = 0; i < c->element_keys.n; i++) {
        const struct contrast_element *e = &c->elements[i];
        if (e->db == db && (e->a.kind == SIA_COLUMN || e->a.kind == SIA_TABLE))
            rename_element(&r, &e->a, rng);
    }
    renamed.renamed = r.names;
    int rc = alter_schema(out, s, &renamed, of->form, "renamed", &placed);
    free(r.names);
    return rc;
}
