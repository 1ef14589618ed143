/* Tests of splits by database; the published split is compared with numpy. */
#include "data/corpora/split.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>

/* Checks one size of numpy_shuffle.txt: numpy's order determines the split of each name. */
static void check_size(FILE *gold, int n)
{
    int *split = xcalloc((size_t)n, sizeof *split), train, test, place;

    assert_int_equal(fscanf(gold, "%d %d", &train, &test), 2);
    split_names_published(n, split);
    for (int i = 0; i < n; i++) {
        assert_int_equal(fscanf(gold, "%d", &place), 1);
        int wanted = i < train ? 0 : i < test ? 2 : 1;
        if (split[place] != wanted)
            fail_msg("%d names: the one at %d is of split %d, numpy's of %d", n, place, split[place], wanted);
    }
    free(split);
}

static void published_folds_are_those_of_numpy(void **state)
{
    (void)state;
    FILE *gold = fopen("tests/gold/numpy_shuffle.txt", "r");
    int n, sizes = 0;

    assert_non_null(gold);
    for (; fscanf(gold, "%d", &n) == 1; sizes++)
        check_size(gold, n);
    fclose(gold);
    assert_int_equal(sizes, 22);
}

static void names_and_a_seed_make_the_folds(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    static const char *const turned[] = { "h", "g", "f", "e", "d", "c", "b", "a" };
    int split[8], other[8], count[3] = { 0 }, moved = 0;

    assert_true(split_names(names, 8, .25, .125, 7, split));
    assert_true(split_names(turned, 8, .25, .125, 7, other));
    for (int i = 0; i < 8; i++) {
        count[split[i]]++;
        assert_int_equal(split[i], other[7 - i]); /* independent of the order of the names */
    }
    assert_int_equal(count[0], 5);
    assert_int_equal(count[1], 2);
    assert_int_equal(count[2], 1);
    assert_true(split_names(names, 8, .25, .125, 8, other));
    for (int i = 0; i < 8; i++)
        moved += split[i] != other[i];
    assert_true(moved > 0);
    assert_false(split_names(names, 2, .1, .1, 7, split));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_folds_are_those_of_numpy),
        cmocka_unit_test(names_and_a_seed_make_the_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
