/* Values by the words of a question: exactly, with typos, in several columns, numbers; a database of every type. */
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/db/column_values.h"
#include "data/db/schema_sqlite.h"
#include "data/span/spoken.h"
#include "data/span/tag_source.h"
#include "kernels/rng.h"
#include "tests/support/support.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const char *cities[] = { "New York", "York", "Boston", "Joe's  Bar", "S\xc3\xa3o Paulo" };
static const char *names[] = { "Boston", "Ann Smith", "\xff bad", "", "---", "boston" };
static const char *years[] = { "2008" };
static const struct span_column columns[] = {
    { .name = "city", .type = COLUMN_TEXT, .values = cities, .n_values = 5 },
    { .name = "name", .type = COLUMN_TEXT, .values = names, .n_values = 6 },
    { .name = "year", .type = COLUMN_NUMBER, .values = years, .n_values = 1 },
};

/* "column:text@start-end" of each, and a blank. */
static char *found(struct tag_source *s, const char *question)
{
    struct tag_matches m;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct tag_question q = tag_source_ask(s, question, &m);

    for (int i = 0; i < q.n_values; i++)
        fprintf(out, "%d:%s@%d-%d ", q.values[i].column, q.values[i].text, q.values[i].start, q.values[i].end);
    fclose(out);
    tag_matches_release(&m);
    return text;
}

static void check(struct tag_source *s, const char *question, const char *wanted)
{
    char *text = found(s, question);

    assert_string_equal(text, wanted);
    free(text);
}

static void test_record(void **state)
{
    (void)state;
    struct tag_source s;

    tag_source_of(&s, columns, 3);
    assert_int_equal(s.index.n, 7); /* no bad text, none without words, none twice */
    check(&s, "flights to BOSTON", "0:Boston@11-17 1:Boston@11-17 ");
    check(&s, "flights to new york", "0:New York@11-19 ");
    check(&s, "from York to New  York?", "0:New York@13-22 0:York@5-9 ");
    check(&s, "in \xc3\xa9t\xc3\xa9 at Joe's Bar", "0:Joe's  Bar@10-19 ");
    check(&s, "who drinks at joes bar", "0:Joe's  Bar@14-22 ");
    check(&s, "flights to Bostn", "0:Boston@11-16 1:Boston@11-16 ");
    check(&s, "is anne smith there", "1:Ann Smith@3-13 ");
    check(&s, "s\xc3\xa3o paulo", "0:S\xc3\xa3o Paulo@0-9 ");
    check(&s, "flights to Berlin", "");
    check(&s, "", "");
    check(&s, "in 2008, more than 1,250.5 of 3rd b2", "2:1250.5@19-26 2:2008@3-7 ");
    tag_source_close(&s);
}

/* Of values made at random no comparison with all finds a better one than the index does. */
static void test_alike(void **state)
{
    (void)state;
    enum { VALUES = 400, LETTERS = 14 };
    struct rng rng = { .seed = 7 };
    static char texts[VALUES][LETTERS + 1];
    static const char *values[VALUES];
    int missed = 0, slips = 0;

    for (int i = 0; i < VALUES; i++) {
        for (int k = 0; k < LETTERS; k++)
            texts[i][k] = k == 6 ? ' ' : "aeioklmnrst"[rng_below(&rng, 11)];
        values[i] = texts[i];
    }
    const struct span_column one = { .name = "v", .type = COLUMN_TEXT, .values = values, .n_values = VALUES };
    struct tag_source s;
    tag_source_of(&s, &one, 1);
    for (int i = 0; i < VALUES; i++) {
        struct tag_matches m;
        char said[LETTERS + 1], *at = &said[8 + rng_below(&rng, 5)];
        memcpy(said, texts[i], sizeof said);
        *at = *at == 'x' ? 'y' : 'x';
        said[2] = i % 2 ? said[2] : 'z'; /* every other has two slips */
        tag_source_ask(&s, said, &m);
        slips += spoken_ratio(said, texts[i]) >= VALUE_RATIO;
        missed += spoken_ratio(said, texts[i]) >= VALUE_RATIO &&
                  (!m.values.n || strcmp(m.values.items[0].text, texts[i]) != 0);
        tag_matches_release(&m);
    }
    tag_source_close(&s);
    assert_int_equal(slips, VALUES);
    assert_true(missed <= VALUES / 50);
}

/* Values are found in another case, and with other encodings of accents. */
static void test_unicode(void **state)
{
    (void)state;
    const char *values[] = { "\xc3\x89milie",   "Ame\xcc\x81lie",       "Stra\xc3\x9f\x65",
                             "\xc4\xb0stanbul", "Joe\xe2\x80\x99s Bar", "\xce\x9e\xce\xac\xce\xbd\xce\xb8\xce\xb7" };
    const struct span_column one = {
        .name = "v", .type = COLUMN_TEXT, .values = values, .n_values = ARRAY_LEN(values)
    };
    struct tag_source s;

    tag_source_of(&s, &one, 1);
    check(&s, "is \xc3\xa9milie there", "0:\xc3\x89milie@3-9 ");
    check(&s, "is e\xcc\x81milie there", "0:\xc3\x89milie@3-10 "); /* offsets count what the question has */
    check(&s, "is AM\xc3\x89LIE there", "0:Ame\xcc\x81lie@3-9 ");
    check(&s, "in the STRASSE", "0:Stra\xc3\x9f\x65@7-14 ");
    check(&s, "joe's bar", "0:Joe\xe2\x80\x99s Bar@0-9 ");
    check(&s, "\xce\x9e\xce\x86\xce\x9d\xce\x98\xce\x97", "0:\xce\x9e\xce\xac\xce\xbd\xce\xb8\xce\xb7@0-5 ");
    check(&s, "\xf0\x9f\x9a\x80 joe's bar \xf0\x9f\x9a\x80", "0:Joe\xe2\x80\x99s Bar@2-11 "); /* not the rockets */
    check(&s, "to \xc4\xb0STANBUL", "0:\xc4\xb0stanbul@3-11 ");
    assert_int_equal(value_index_exact(&s.index, "istanbul", 0), 0); /* another letter: found as alike only */
    check(&s, "to Istanbul", "0:\xc4\xb0stanbul@3-11 ");
    tag_source_close(&s);
}

/* A longest common subsequence in full, beside the one by bits. */
static double plain_ratio(const char *a, int n, const char *b, int m)
{
    int row[RATIO_LETTERS + 1] = { 0 };

    for (int i = 0; i < n; i++)
        for (int j = 0, corner = 0; j < m; j++) {
            int above = row[j + 1];
            row[j + 1] = a[i] == b[j] ? corner + 1 : (above > row[j] ? above : row[j]);
            corner = above;
        }
    return n + m ? 2.0 * row[m] / (n + m) : 1;
}

static void test_ratio(void **state)
{
    (void)state;
    static const int sizes[] = { 0, 1, 2, 31, 63, 64, 65, 100, 127, 128, 140 };
    struct rng rng = { .seed = 3 };
    char texts[2][160];

    for (int i = 0; i < 4000; i++) {
        int n[2];
        for (int t = 0; t < 2; t++) {
            n[t] = sizes[rng_below(&rng, ARRAY_LEN(sizes))];
            for (int k = 0; k < n[t]; k++)
                texts[t][k] = (char)('a' + (int)rng_below(&rng, i % 2 ? 2 : 20));
            texts[t][n[t]] = '\0';
            n[t] = n[t] < RATIO_LETTERS ? n[t] : RATIO_LETTERS;
        }
        double wanted = plain_ratio(texts[0], n[0], texts[1], n[1]);
        assert_true(fabs(spoken_ratio(texts[0], texts[1]) - wanted) < 1e-12);
    }
    assert_true(spoken_ratio("A b", "aB") >= 1);
}

static void test_cut(void **state)
{
    (void)state;
    struct value_index x;
    char text[32];

    value_index_init(&x, 20000);
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "value %d", i);
        value_index_add(&x, 0, text);
    }
    value_index_finish(&x);
    assert_true(x.cut);
    assert_true(x.n > 100 && x.n < 1000);
    assert_true(value_index_bytes(&x) < 25000);
    assert_true(value_index_exact(&x, "value 7", 0) == 8);
    value_index_release(&x);
}

static const char hostile[] =
    "CREATE TABLE plain (id INTEGER PRIMARY KEY, \"a \"\"name\"\" b\" TEXT, n REAL, photo BLOB);"
    "INSERT INTO plain VALUES (1, 'Ann Smith', 2.5, x'00'), (2, CAST(x'416e6e00426f62' AS TEXT), NULL, NULL),"
    " (3, CAST(x'41ff42' AS TEXT), 7, NULL), (4, printf('%.*c', 1000000, 'x'), 2.5, NULL), (5, '', 1e300, NULL);"
    "CREATE TABLE \"without rowid\" (k TEXT PRIMARY KEY, v) WITHOUT ROWID;"
    "INSERT INTO \"without rowid\" VALUES ('Boston', 'Boston'), ('Berlin', 12);"
    "CREATE VIEW seen AS SELECT k || ' seen' AS s FROM \"without rowid\";";

static void test_database(void **state)
{
    (void)state;
    char *dir = test_dir_new(), *path;
    struct schema_set set;
    struct tag_source s;
    struct error err = { 0 };
    sqlite3 *db;

    assert_true(asprintf(&path, "%s/world.sqlite", dir) > 0);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, hostile, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(schema_set_open_sqlite(&set, path, false, &err), 0);
    assert_int_equal(tag_source_open(&s, set.schemas, path, VALUE_INDEX_BYTES, &err), 0);
    assert_int_equal(s.n_columns, 7);
    assert_string_equal(s.columns[1].sql_name, "a \"name\" b");
    assert_int_equal(s.columns[2].n_values, 3);
    assert_string_equal(s.columns[2].values[0], "2.5");
    check(&s, "is ann smith in boston or 2.5",
          "1:Ann Smith@3-12 4:Boston@16-22 5:Boston@16-22 0:2.5@26-29 2:2.5@26-29 ");
    check(&s, "boston seen", "6:Boston seen@0-11 ");
    tag_source_close(&s);
    schema_set_close(&set);
    free(path);
    test_dir_remove(dir);
}

/* Five columns that never end, and one that does. */
static const char slow_views[] =
    "CREATE TABLE town (name TEXT); INSERT INTO town VALUES ('Boston');"
    "CREATE VIEW quick AS SELECT name || ' town' AS n FROM town;"
    "CREATE VIEW slow(a, b, c, d, e) AS WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k) "
    "SELECT i, i, i, i, i FROM k WHERE i < 0;";

static struct schema_set open_slow(const char *dir, char **path)
{
    struct schema_set set;
    struct error err = { 0 };
    sqlite3 *db;

    assert_true(asprintf(path, "%s/slow.sqlite", dir) > 0);
    assert_int_equal(sqlite3_open(*path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, slow_views, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(schema_set_open_sqlite(&set, *path, false, &err), 0);
    return set;
}

/* A view has two seconds for all its columns; the others are read. */
static void test_slow_views(void **state)
{
    (void)state;
    char *dir = test_dir_new(), *path;
    struct schema_set set = open_slow(dir, &path);
    double begun = now_seconds();
    struct tag_source s;
    struct error err = { 0 };

    assert_int_equal(tag_source_open(&s, set.schemas, path, VALUE_INDEX_BYTES, &err), 0);
    assert_true(now_seconds() - begun < 5);
    check(&s, "boston town", "1:Boston town@0-11 ");
    tag_source_close(&s);
    schema_set_close(&set);
    free(path);
    test_dir_remove(dir);
}

/* Work with a time uses half of it for values; where it has ended there is no source, since it would not be whole. */
static void test_work_limit(void **state)
{
    (void)state;
    char *dir = test_dir_new(), *path;
    struct schema_set set = open_slow(dir, &path);
    struct work_limit short_time = { .seconds = 2 }, no_time = { .seconds = 0 };
    double begun = now_seconds();
    struct tag_source s;
    struct error err = { 0 };

    work_limit_begin(&short_time);
    assert_int_equal(tag_source_open(&s, set.schemas, path, VALUE_INDEX_BYTES, &err), 0);
    assert_true(now_seconds() - begun < 1.9);
    check(&s, "boston town", "1:Boston town@0-11 ");
    tag_source_close(&s);
    work_limit_end(&short_time);
    work_limit_begin(&no_time);
    assert_int_equal(tag_source_open(&s, set.schemas, path, VALUE_INDEX_BYTES, &err), -1);
    tag_source_close(&s);
    work_limit_end(&no_time);
    schema_set_close(&set);
    free(path);
    test_dir_remove(dir);
}

static void test_slow_values(void **state)
{
    (void)state;
    char *dir = test_dir_new(), *path;
    struct schema_set set = open_slow(dir, &path);
    double begun = now_seconds();
    struct column_values v;
    struct column_samples samples;
    struct error err = { 0 };

    assert_int_equal(column_values_read(&v, set.schemas, path, &err), 0);
    assert_true(now_seconds() - begun < 5);
    assert_string_equal(v.columns[1][0], "\"Boston town\"");
    assert_int_equal(v.counts[2], 0);
    column_values_release(&v);
    begun = now_seconds();
    assert_int_equal(column_samples_open(&samples, set.schemas, path, &err), 0);
    for (int c = set.schemas->n_columns - 1; c > 1; c--)
        assert_string_equal(column_samples_text(&samples, c), "");
    assert_string_equal(column_samples_text(&samples, 1), "'Boston town'");
    assert_true(now_seconds() - begun < 5);
    column_samples_close(&samples);
    schema_set_close(&set);
    free(path);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),     cmocka_unit_test(test_alike),      cmocka_unit_test(test_unicode),
        cmocka_unit_test(test_ratio),      cmocka_unit_test(test_cut),        cmocka_unit_test(test_database),
        cmocka_unit_test(test_slow_views), cmocka_unit_test(test_work_limit), cmocka_unit_test(test_slow_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
