#include "tests/support/support.h"

#include "data/schema/schema_build.h"
#include "data/schema/schema_search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOISE = 60, NOISE_COLUMNS = 5, WIDE = 500 };

/* Adds a table of text columns, separated by blanks; the first is its key.  Returns the number of the key. */
static int add_table(struct schema_build *b, const char *name, const char *columns)
{
    int table = schema_build_table(b, name, NULL), key = -1;
    char list[256], *rest = list;

    snprintf(list, sizeof list, "%s", columns);
    for (char *column; (column = strsep(&rest, " ")) != NULL;) {
        int c = schema_build_column(b, table, column, NULL, COLUMN_TEXT);
        key = key < 0 ? c : key;
    }
    schema_build_primary(b, key);
    return key;
}

static void add_noise(struct schema_build *b, bool backwards)
{
    for (int i = 0; i < NOISE; i++) {
        int k = backwards ? NOISE - 1 - i : i;
        char name[32], columns[128];
        snprintf(name, sizeof name, "noise%c%c", 'a' + k / 26, 'a' + k % 26);
        snprintf(columns, sizeof columns, "k%c%c height%d weight%d colour%d shape%d", 'a' + k / 26, 'a' + k % 26, k, k,
                 k, k);
        add_table(b, name, columns);
    }
}

/* Singers and concerts, joined by a table that no question mentions, among unrelated tables. */
static void add_music(struct schema_build *b)
{
    int singer = add_table(b, "singer", "singer_id full_title practice born");
    int joined = add_table(b, "booking", "b_code first_ref second_ref");
    int concert = add_table(b, "concert", "concert_id venue");

    schema_build_foreign_key(b, joined + 1, singer);
    schema_build_foreign_key(b, joined + 2, concert);
}

static void finish(struct schema *s, struct schema_build *b)
{
    schema_build_finish(b, s);
    schema_build_release(b);
}

static void open_wide(struct schema *s, bool backwards)
{
    struct schema_build b;

    schema_build_init(&b, "wide");
    if (!backwards)
        add_music(&b);
    add_noise(&b, backwards);
    if (backwards)
        add_music(&b);
    finish(s, &b);
}

/* The elements kept for a question; the caller frees the array. */
static bool *best_with(const struct schema *s, const char *question, const float *more, int most)
{
    bool *kept = xmalloc((size_t)(s->n_tables + s->n_columns) * sizeof *kept);
    struct schema_search *x = schema_search_open(s);

    schema_search_best(x, question, more, most, kept);
    schema_search_close(x);
    return kept;
}

static bool *best(const struct schema *s, const char *question, int most)
{
    return best_with(s, question, NULL, most);
}

static int count(const struct schema *s, const bool *kept)
{
    int n = 0;
    for (int i = 0; i < s->n_tables + s->n_columns; i++)
        n += kept[i];
    return n;
}

static bool keeps(const struct schema *s, const bool *kept, const char *table, const char *column)
{
    int t = schema_table_find(s, table), c = column ? schema_column_find(s, t, column) : -1;
    assert_true(t >= 0 && (!column || c >= 0));
    return kept[column ? s->n_tables + c : t];
}

static void test_small_schemas_are_kept_whole(void **state)
{
    struct schema s;
    (void)state;

    open_wide(&s, false);
    int all = s.n_tables + s.n_columns;
    bool *kept = best(&s, "anything", all);
    assert_int_equal(count(&s, kept), all);
    free(kept);
    kept = best(&s, "anything", all - 1);
    assert_int_equal(count(&s, kept), all - 1);
    free(kept);
    schema_release(&s);
}

static void test_words_find_tables_and_joining_tables(void **state)
{
    struct schema s;
    (void)state;

    open_wide(&s, false);
    bool *kept = best(&s, "Which singers were at a concert?", 16);
    assert_true(count(&s, kept) <= 16);
    assert_true(keeps(&s, kept, "singer", NULL) && keeps(&s, kept, "singer", "born"));
    assert_true(keeps(&s, kept, "concert", "venue") && keeps(&s, kept, "concert", "concert_id"));
    assert_true(keeps(&s, kept, "booking", "first_ref") && keeps(&s, kept, "booking", "second_ref"));
    free(kept);
    kept = best(&s, "Who is practicing?", 8); /* similar to practice */
    assert_true(keeps(&s, kept, "singer", "practice"));
    free(kept);
    schema_release(&s);
}

/* A question mentions one end of a chain of keys; the whole chain is kept if it has at most a quarter of the
 * elements. */
static void test_small_groups_are_kept_whole(void **state)
{
    static const char *const names[] = { "orchestra", "qa", "qb", "qc", "qd" };
    const char *question = "Which orchestra is the largest?";
    struct schema_build b;
    struct schema s;
    (void)state;

    schema_build_init(&b, "chain");
    add_noise(&b, false);
    for (int i = 0, before = 0; i < ARRAY_LEN(names); i++) {
        char columns[32];
        snprintf(columns, sizeof columns, "q%d r%d", i, i);
        int key = add_table(&b, names[i], columns);
        if (i)
            schema_build_foreign_key(&b, key + 1, before);
        before = key;
    }
    finish(&s, &b);
    bool *kept = best(&s, question, 60);
    assert_true(keeps(&s, kept, "orchestra", NULL) && keeps(&s, kept, "qb", "r2") && keeps(&s, kept, "qd", "r4"));
    free(kept);
    kept = best(&s, question, 59);
    assert_true(keeps(&s, kept, "orchestra", NULL) && keeps(&s, kept, "qb", "r2") && !keeps(&s, kept, "qd", NULL));
    free(kept);
    schema_release(&s);
}

/* Additional scores count as a share of their best, in addition to the share of the words. */
static void test_additional_scores_are_added(void **state)
{
    struct schema s;
    (void)state;

    open_wide(&s, false);
    int other = schema_table_find(&s, "noisebc"), half = schema_table_find(&s, "noiseag");
    float *more = xcalloc((size_t)s.n_tables, sizeof *more);
    bool *kept = best_with(&s, "concert", more, 8); /* zeros change nothing */
    assert_true(keeps(&s, kept, "concert", "venue") && !kept[other]);
    free(kept);
    more[other] = 1000; /* as much as the best by words; booking is one key away and gets half */
    more[half] = 490;
    kept = best_with(&s, "concert", more, 12);
    assert_true(kept[other] && keeps(&s, kept, "concert", "venue") && keeps(&s, kept, "booking", NULL) && !kept[half]);
    free(kept);
    more[half] = 510;
    kept = best_with(&s, "concert", more, 12);
    assert_true(kept[other] && keeps(&s, kept, "concert", "venue") && kept[half] && !keeps(&s, kept, "booking", NULL));
    free(kept);
    kept = best_with(&s, "zzz", more, 12); /* no word matches */
    assert_true(kept[other] && kept[half] && !keeps(&s, kept, "concert", NULL));
    free(kept);
    free(more);
    schema_release(&s);
}

static void test_the_order_of_tables_plays_no_part(void **state)
{
    static const char *const questions[] = { "Which singers were at a concert?", "height 7 and colour 9",
                                             "nothing at all" };
    struct schema a, b;
    (void)state;

    open_wide(&a, false);
    open_wide(&b, true);
    for (int q = 0; q < ARRAY_LEN(questions); q++) {
        bool *x = best(&a, questions[q], 40), *y = best(&b, questions[q], 40);
        assert_int_equal(count(&a, x), 40);
        for (int i = 0; i < a.n_tables; i++)
            assert_int_equal(x[i], keeps(&b, y, a.tables[i].name, NULL));
        for (int i = 0; i < a.n_columns; i++)
            assert_int_equal(x[a.n_tables + i], keeps(&b, y, a.tables[a.columns[i].table].name, a.columns[i].name));
        free(x);
        free(y);
    }
    schema_release(&a);
    schema_release(&b);
}

/* A table of WIDE columns with its keys at the end. */
static void open_long(struct schema *s)
{
    struct schema_build b;
    char name[32];

    schema_build_init(&b, "long");
    int table = schema_build_table(&b, "fact", NULL);
    for (int i = 0; i < WIDE; i++) {
        snprintf(name, sizeof name, "measure%03d", i);
        schema_build_column(&b, table, name, NULL, COLUMN_NUMBER);
    }
    int key = schema_build_column(&b, table, "identity", NULL, COLUMN_NUMBER);
    int to = schema_build_column(&b, table, "singer_ref", NULL, COLUMN_NUMBER);
    schema_build_primary(&b, key);
    schema_build_foreign_key(&b, to, add_table(&b, "singer", "singer_id born"));
    finish(s, &b);
}

static void test_a_long_table_is_cut(void **state)
{
    struct schema s;
    (void)state;

    open_long(&s);
    bool *kept = best(&s, "the fact with the greatest measure437", 32);
    int n = count(&s, kept);
    assert_int_equal(n, 16 + 3);
    assert_true(keeps(&s, kept, "fact", "measure437") && keeps(&s, kept, "fact", "identity"));
    assert_true(keeps(&s, kept, "fact", "singer_ref") && keeps(&s, kept, "singer", "singer_id"));
    assert_true(!keeps(&s, kept, "fact", "measure499"));
    free(kept);
    schema_release(&s);
}

static void test_the_part_has_the_keys_between(void **state)
{
    struct schema s, part;
    (void)state;

    open_wide(&s, false);
    bool *kept = xcalloc((size_t)(s.n_tables + s.n_columns), sizeof *kept);
    kept[schema_table_find(&s, "singer")] = kept[schema_table_find(&s, "booking")] = true;
    for (int i = 0; i < 9; i++) /* the columns of concert with them */
        kept[s.n_tables + i] = true;
    kept[s.n_tables + 3] = false; /* born */
    schema_part(&part, &s, kept);
    assert_string_equal(part.db_id, "wide");
    assert_int_equal(part.n_tables, 2);
    assert_int_equal(part.n_columns, 6);
    assert_string_equal(part.columns[1].name, "full_title");
    assert_string_equal(part.columns[1].text, "full title");
    assert_string_equal(part.columns[3].name, "b_code");
    assert_true(part.columns[0].primary && !part.columns[1].primary && part.columns[3].primary);
    assert_int_equal(part.n_foreign_keys, 1);
    assert_int_equal(part.foreign_keys[0].from, 4);
    assert_int_equal(part.foreign_keys[0].to, 0);
    free(kept);
    schema_release(&part);
    schema_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_schemas_are_kept_whole),
        cmocka_unit_test(test_words_find_tables_and_joining_tables),
        cmocka_unit_test(test_small_groups_are_kept_whole),
        cmocka_unit_test(test_additional_scores_are_added),
        cmocka_unit_test(test_the_order_of_tables_plays_no_part),
        cmocka_unit_test(test_a_long_table_is_cut),
        cmocka_unit_test(test_the_part_has_the_keys_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
