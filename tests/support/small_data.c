#include "tests/support/small_data.h"

#include "data/schema/schema_build.h"
#include "data/synth/practice.h"

#include <string.h>

/* Moves the first n contrast examples to the front, and forgets the rest. */
static void keep_crossed(struct example_list *l, int n)
{
    int kept = 0;

    for (int i = 0; i < l->n && kept < n; i++)
        if (l->items[i].slice == EXAMPLE_CONTRAST)
            l->items[kept++] = l->items[i];
    assert_int_equal(kept, n);
    l->n = n;
}

static bool named(const struct example *e, const char *db_id)
{
    for (int k = 0; k < e->n_renamed; k++)
        if (strcmp(e->renamed[k], db_id) == 0)
            return true;
    return strcmp(e->db_id, db_id) == 0;
}

static bool used(const struct dataset *d, const char *db_id)
{
    for (int f = 0; f < SPLITS; f++)
        for (int i = 0; i < d->splits[f].n; i++)
            if (named(&d->splits[f].items[i], db_id))
                return true;
    return false;
}

/* Schemas that examples name: there are thousands, which every run would read. */
static void keep_used(struct dataset *d)
{
    struct schema_set all = d->schemas;
    struct error err;

    d->schemas = (struct schema_set){ 0 };
    for (int i = 0; i < all.n; i++)
        if (used(d, all.schemas[i].db_id))
            assert_int_equal(schema_set_add(&d->schemas, &all.schemas[i], &err), 0);
        else
            schema_release(&all.schemas[i]);
    all.n = 0;
    schema_set_close(&all);
}

void small_data_write(const char *dir, int train, int valid, int test)
{
    const int counts[SPLITS] = { train, valid, test };
    struct dataset d = { 0 };
    struct error err;

    assert_int_equal(practice_build(&d, 1, &err), 0);
    for (int f = 0; f < SPLITS; f++)
        keep_crossed(&d.splits[f], counts[f]);
    keep_used(&d);
    assert_int_equal(dataset_write(&d, dir, true, &err), 0);
    dataset_release(&d);
}
