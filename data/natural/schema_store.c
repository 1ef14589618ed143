#include "data/natural/schema_store.h"

#include "data/natural/schema_without.h"
#include "data/schema/schema_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The caller frees. */
static char *make_key(const struct schema *s, const bool *dropped)
{
    char *key = NULL;
    size_t size;
    FILE *f = open_memstream(&key, &size);

    CHECK(f, "cannot write to memory");
    fprintf(f, "%s %lld", s->db_id, (long long)s->serial);
    for (int c = 0; c < s->n_columns; c++)
        if (dropped[c])
            fprintf(f, " %d", c);
    CHECK(fclose(f) == 0, "cannot write to memory");
    return key;
}

static void make_form(struct schema_form *form, struct natural *n, const struct schema *s, const bool *dropped)
{
    size_t columns = (size_t)s->n_columns;
    struct schema made;

    *form = (struct schema_form){ .of = s, .dropped = xcalloc(columns + 1, sizeof *dropped) };
    memcpy(form->dropped, dropped, columns * sizeof *dropped);
    form->db_id = strings_printf(&n->out->folds[FOLD_TRAIN].text, "%s__natural%d", s->db_id, n->out->schemas.n + 1);
    schema_without(&made, s, dropped, form->db_id);
    CHECK(schema_set_add(&n->out->schemas, &made, NULL) == 0, "schema %s twice", form->db_id);
}

const char *schema_store_get(struct natural *n, const struct schema *s, const bool *dropped)
{
    struct schema_store *store = n->schemas;
    char *key = make_key(s, dropped);
    int before = store->keys.n, at = strings_add(&store->keys, key);

    free(key);
    if (at == before) {
        GROW(store->forms, before, store->cap);
        make_form(&store->forms[at], n, s, dropped);
    }
    return store->forms[at].db_id;
}

static bool has_all(const struct schema_form *form, const struct schema *s, const bool *wanted)
{
    for (int c = 0; c < s->n_columns; c++)
        if (wanted[c] && form->dropped[c])
            return false;
    return true;
}

const char *schema_store_any(struct natural *n, const struct schema *s, const bool *wanted)
{
    const struct schema_store *store = n->schemas;
    const char *db_id = NULL;
    uint32_t fit = 0;

    for (int i = 0; i < store->keys.n; i++)
        if (store->forms[i].of == s && has_all(&store->forms[i], s, wanted) && rng_below(&n->rng, ++fit) == 0)
            db_id = store->forms[i].db_id;
    if (db_id)
        return db_id;
    bool *none = xcalloc((size_t)s->n_columns + 1, sizeof *none);
    db_id = schema_store_get(n, s, none);
    free(none);
    return db_id;
}

void schema_store_release(struct schema_store *store)
{
    for (int i = 0; i < store->keys.n; i++)
        free(store->forms[i].dropped);
    strings_release(&store->keys);
    free(store->forms);
    *store = (struct schema_store){ 0 };
}
