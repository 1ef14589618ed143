#include "tests/support/small_data.h"

#include "data/contrast/practice.h"

/* Moves the first n crossed examples to the front, and forgets the rest. */
static void keep_crossed(struct example_list *l, int n)
{
    int kept = 0;

    for (int i = 0; i < l->n && kept < n; i++)
        if (l->items[i].slice == EXAMPLE_CROSSED)
            l->items[kept++] = l->items[i];
    assert_int_equal(kept, n);
    l->n = n;
}

void small_data_write(const char *dir, int train, int valid, int test)
{
    const int counts[FOLDS] = { train, valid, test };
    struct dataset d = { 0 };
    struct error err;

    assert_int_equal(practice_build(&d, 1, &err), 0);
    for (int f = 0; f < FOLDS; f++)
        keep_crossed(&d.folds[f], counts[f]);
    assert_int_equal(dataset_write(&d, dir, true, &err), 0);
    dataset_release(&d);
}
