/*
 * Property test: two random statements with the same form return the same rows, with the same types and bytes. The
 * databases are full of values that SQLite converts and compares in surprising ways. AMBIT_PAIRS sets the number of
 * pairs, AMBIT_PAIRS_SEED the first seed.
 */
#include "tests/support/explain.h"
#include "tests/support/sql_pairs.h"
#include "tests/support/support.h"

#include "data/sql/sql_form.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 4000, OF_ONE_SCHEMA = 100, CONTENTS = 4, LEAST_MERGED = 25 /* of 100 */ };

struct databases {
    char *dir;
    struct pair_world world;
    struct strings pool;
    struct schema_set schemas;
    struct arena arena;
    sqlite3 *filled[CONTENTS];
    const char *rows[CONTENTS];
};

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static void open_world(struct databases *d, uint64_t seed)
{
    pair_world_init(&d->world, seed);
    for (int i = 0; i < CONTENTS; i++) {
        d->rows[i] = pair_rows(&d->world, &d->pool, seed + (uint64_t)i);
        d->filled[i] = explain_open(NULL, d->world.script);
        assert_int_equal(sqlite3_exec(d->filled[i], d->rows[i], NULL, NULL, NULL), SQLITE_OK);
    }
    d->dir = test_dir_new();
    explain_schema(&d->schemas, d->filled[0], d->dir);
}

static void close_world(struct databases *d)
{
    for (int i = 0; i < CONTENTS; i++)
        sqlite3_close(d->filled[i]);
    schema_set_close(&d->schemas);
    strings_release(&d->pool);
    pair_world_release(&d->world);
    test_dir_remove(d->dir);
}

/* If SQL leaves open which of several equal values is returned, 1.0 is written as 1 and 'A ' as 'a'. */
static void put_number(FILE *out, sqlite3_stmt *s, int i, bool open)
{
    double x = sqlite3_column_double(s, i);

    if (sqlite3_column_type(s, i) == SQLITE_INTEGER)
        fprintf(out, open ? "%lld" : "i%lld", sqlite3_column_int64(s, i));
    else if (open && fabs(x) < 9e18 && x == floor(x))
        fprintf(out, "%lld", (long long)x);
    else
        fprintf(out, "r%.17g", x);
}

static void put_cell(FILE *out, sqlite3_stmt *s, int i, bool open)
{
    int type = sqlite3_column_type(s, i), n = sqlite3_column_bytes(s, i);
    const unsigned char *bytes = sqlite3_column_blob(s, i);

    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) {
        put_number(out, s, i, open);
        return;
    }
    fputs(type == SQLITE_NULL ? "null" : type == SQLITE_TEXT ? "t'" : "x'", out);
    while (open && type == SQLITE_TEXT && n > 0 && bytes[n - 1] == ' ')
        n--;
    for (int k = 0; k < n; k++)
        fputc(open && type == SQLITE_TEXT ? tolower(bytes[k]) : bytes[k], out);
    fputc('\'', out);
}

static int compare_lines(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static char *join_lines(char **lines, int n)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);

    for (int i = 0; i < n; i++) {
        fprintf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
    fclose(out);
    free(lines);
    return all;
}

/* Returns the rows as lines, sorted unless the statement orders them, or "it fails" on an error. Returns NULL if SQLite
 * reports its own temporary tables as damaged, as 3.40 does for IN inside INTERSECT. The caller frees the text. */
static char *rows_of(sqlite3 *db, const char *sql, const struct sql_pair *p)
{
    char **lines = NULL;
    int n = 0, cap = 0;
    size_t size;
    sqlite3_stmt *s = NULL;

    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    while (rc == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW) {
        GROW(lines, n, cap);
        FILE *line = open_memstream(&lines[n++], &size);
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            put_cell(line, s, i, p->open);
            fputc('|', line);
        }
        fclose(line);
    }
    int end = sqlite3_finalize(s);
    bool good = end == SQLITE_OK && rc == SQLITE_OK;
    if (n && !p->ordered)
        qsort(lines, (size_t)n, sizeof *lines, compare_lines);
    char *all = join_lines(lines, n);
    if (good)
        return all;
    free(all);
    return end == SQLITE_CORRUPT ? NULL : xstrdup("it fails\n");
}

/* cmocka truncates long messages, so the rest goes to standard error. */
static void tell_and_fail(const struct databases *d, int content, const struct sql_pair *p, const char *form,
                          uint64_t seed, const char *left, const char *right)
{
    fprintf(stderr, "pair %" PRIu64 ":\n%s\n%s\n%s;\n%s;\nboth are\n%s\nbut give\n%sand\n%s", seed, d->world.script,
            d->rows[content], p->sql[0], p->sql[1], form, left, right);
    fail_msg("pair %" PRIu64 " has one form and gives different rows", seed);
}

/* Runs a pair with or without SQLite's optimisations and automatic indexes. */
static bool differ(sqlite3 *db, const struct sql_pair *p, bool optimised, char *rows[2])
{
    const char *indexes = optimised ? "PRAGMA automatic_index = on" : "PRAGMA automatic_index = off";

    sqlite3_test_control(SQLITE_TESTCTRL_OPTIMIZATIONS, db, optimised ? 0 : -1);
    assert_int_equal(sqlite3_exec(db, indexes, NULL, NULL, NULL), SQLITE_OK);
    for (int side = 0; side < 2; side++)
        rows[side] = rows_of(db, p->sql[side], p);
    return rows[0] && rows[1] && strcmp(rows[0], rows[1]) != 0;
}

/* SQLite 3.40 has errors in both modes, but never the same ones. With optimisations it copies a condition over x = y to
 * a column of another collation. Without them a LEFT JOIN by LIKE loses rows. */
static void check_rows(struct databases *d, const struct sql_pair *p, const char *form, uint64_t seed)
{
    for (int i = 0; i < CONTENTS; i++) {
        char *plain[2], *optimised[2] = { NULL, NULL };
        if (differ(d->filled[i], p, false, plain) && differ(d->filled[i], p, true, optimised))
            tell_and_fail(d, i, p, form, seed, plain[0], plain[1]);
        for (int side = 0; side < 2; side++) {
            free(plain[side]);
            free(optimised[side]);
        }
    }
}

struct tally {
    long pairs, read, merged, written_alike;
};

static void check_pair(struct databases *d, uint64_t seed, struct tally *t)
{
    struct form_store store = { 0 };
    struct error why = { 0 };
    struct sql_pair p;

    pair_draw(&p, &d->world, &d->pool, seed);
    const struct form *a = form_of_text(&store, p.sql[0], d->schemas.schemas, &d->arena, &why);
    const struct form *b = a ? form_of_text(&store, p.sql[1], d->schemas.schemas, &d->arena, &why) : NULL;
    t->pairs++;
    t->read += b != NULL;
    bool alike = strcmp(p.sql[0], p.sql[1]) == 0;
    if (b && strcmp(a->text, b->text) == 0) {
        t->merged += !alike;
        check_rows(d, &p, a->text, seed);
    }
    t->written_alike += alike;
    form_store_release(&store);
}

static void statements_of_one_form_give_the_same_rows(void **state)
{
    (void)state;
    long pairs = setting("AMBIT_PAIRS", PAIRS), seed = setting("AMBIT_PAIRS_SEED", 1);
    struct databases d = { 0 };
    struct tally t = { 0 };

    assert_int_equal(arena_init(&d.arena, 32 << 20, NULL), 0);
    for (long first = 0; first < pairs; first += OF_ONE_SCHEMA) {
        struct arena arena = d.arena;
        d = (struct databases){ .arena = arena };
        open_world(&d, (uint64_t)(seed + first / OF_ONE_SCHEMA));
        for (long i = first; i < pairs && i < first + OF_ONE_SCHEMA; i++)
            check_pair(&d, (uint64_t)(seed * 1000000007 + i), &t);
        close_world(&d);
    }
    arena_release(&d.arena);
    printf("seed %ld: %ld pairs, %ld read, %ld written alike, %ld others of one form, whose rows are the same\n", seed,
           t.pairs, t.read, t.written_alike, t.merged);
    assert_true(t.read > t.pairs * 9 / 10);
    assert_true(t.merged * 100 >= t.pairs * LEAST_MERGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(statements_of_one_form_give_the_same_rows) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
