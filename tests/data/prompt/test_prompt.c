#include "data/base/strings.h"
#include "data/eval/dfpl.h"
#include "data/prompt/db_text.h"
#include "data/prompt/prompt.h"
#include "tests/support/support.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes and hash of each built-in prompt, taken from the authors' file and from the paper's appendix F (correct.txt),
 * not from this program. */
static const struct {
    size_t bytes;
    uint64_t hash;
    const char *starts, *ends;
} published[PROMPT_KINDS] = {
    [PROMPT_DEF] = { 677, 0xc1352aac6386068c, "You are tasked", "this question:\n{}\n\n" },
    [PROMPT_FILL] = { 516, 0xe18510b1e82c1944, "The task is to review", "interpretations are covered.\n" },
    [PROMPT_SQL] = { 316, 0x11b8c9ce6e52247b, "The task is to write SQL", "following:\n{}\n\n" },
    [PROMPT_REWRITE] = { 769, 0x1cfc37f17eda45fa, "Your task is to rewrite", "using \"{}\":\n" },
    [PROMPT_E2E] = { 525, 0x94bf6dc0f830a0f8, "The task is to write SQL", "following:\n{}\n\n" },
    [PROMPT_GOLD] = { 219, 0x62200988c2d433ff, "\"Provide all possible", "Question:\n{}\n\n" },
    [PROMPT_E2E_SHOTS] = { 634, 0xeb4a29f3ad660c07, "The task is to write SQL", "following:\n{}\n\n" },
    [PROMPT_CORRECT] = { 682, 0x12a94a81a7a6d79f, "The task is to review", "of the question.\n" },
    [PROMPT_PAIRS] = { 478, 0x45cf57ee45a08ad3, "The task is to interpret", "Question:\n{}\n\n" }, /* of ambit */
};

static void test_bytes(void **state)
{
    struct prompts p;
    struct error err = { 0 };
    (void)state;

    assert_int_equal(prompts_open(&p, NULL, &err), 0);
    for (int i = 0; i < PROMPT_KINDS; i++) {
        size_t n = strlen(p.text[i]);
        assert_int_equal(n, published[i].bytes);
        assert_true(hash_bytes(HASH_START, p.text[i], n) == published[i].hash);
        assert_memory_equal(p.text[i], published[i].starts, strlen(published[i].starts));
        assert_string_equal(p.text[i] + n - strlen(published[i].ends), published[i].ends);
    }
    prompts_release(&p);
}

static void test_fill(void **state)
{
    const char *const slots[] = { "CREATE TABLE t ({});", "How {} many?", "one\ntwo" };
    struct prompts p;
    struct error err = { 0 };
    (void)state;

    assert_int_equal(prompts_open(&p, NULL, &err), 0);
    char *text = prompt_fill(&p, PROMPT_FILL, slots);
    assert_non_null(strstr(text, "context:\n\nCREATE TABLE t ({});\n\nQuestion:\n\nHow {} many?\n\nExisting "
                                 "interpretations:\n\none\ntwo\n\nProvide any"));
    assert_null(strstr(text, "(one"));
    free(text);
    prompts_release(&p);
}

/* Written prompts can be read, and changed ones replace the built-in ones. */
static void test_folder(void **state)
{
    const char *const slots[] = { "A", "B", "C" };
    struct error err = { 0 };
    struct prompts built, p;
    char *dir = test_dir_new();
    (void)state;

    assert_int_equal(prompts_open(&built, NULL, &err), 0);
    assert_int_equal(prompts_write(dir, false, &err), 0);
    assert_int_equal(prompts_open(&p, dir, &err), 0);
    for (int i = 0; i < PROMPT_KINDS; i++)
        assert_string_equal(p.text[i], built.text[i]);
    prompts_release(&p);
    test_file(dir, "fill.txt", "{}|{}|{}");
    assert_int_equal(unlink(test_file(dir, "def.txt", NULL)), 0);
    assert_int_equal(prompts_open(&p, dir, &err), 0);
    char *text = prompt_fill(&p, PROMPT_FILL, slots);
    assert_string_equal(text, "A|B|C");
    assert_string_equal(p.text[PROMPT_DEF], built.text[PROMPT_DEF]);
    free(text);
    prompts_release(&p);
    prompts_release(&built);
    test_dir_remove(dir);
}

static void refused(const char *dir, enum exit_code code, const char *const *words)
{
    struct error err = { 0 };
    struct prompts p;

    assert_int_equal(prompts_open(&p, dir, &err), -1);
    test_error(&err, __FILE__, __LINE__, words);
    assert_int_equal(err.code, code);
    prompts_release(&p);
}

static void test_bad_folder(void **state)
{
    char *dir = test_dir_new();
    (void)state;

    refused(dir, EXIT_CODE_USAGE, (const char *const[]){ "expected def.txt", NULL });
    test_file(dir, "sql.txt", "only {}");
    refused(dir, EXIT_CODE_USAGE, (const char *const[]){ "sql.txt", "expected 2 slots", "got 1", NULL });
    test_file(dir, "sql.txt", "");
    refused(dir, EXIT_CODE_USAGE, (const char *const[]){ "sql.txt", "expected 2 slots", "got 0", NULL });
    FILE *f = fopen(test_file(dir, "sql.txt", NULL), "we");
    fwrite("{} {}\0", 1, 6, f);
    fclose(f);
    refused(dir, EXIT_CODE_DATA, (const char *const[]){ "sql.txt", "zero byte", NULL });
    test_dir_remove(dir);
}

static const char *make_db(const char *dir, const char *script)
{
    const char *path = test_file(dir, "x.sqlite", NULL);
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, script, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    return path;
}

static void check_text(const char *path, enum db_text_form form, int64_t rows, const char *wanted)
{
    struct error err = { 0 };
    char *text = db_text(path, form, rows, &err);

    if (!text)
        fail_msg("%s", err.text);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_db_text(void **state)
{
    char *dir = test_dir_new();
    const char *path = make_db(dir, "CREATE TABLE b (\n  \"order\" INTEGER PRIMARY KEY AUTOINCREMENT, \"a\"\"b\" TEXT);"
                                    "CREATE TABLE A (Born_State REAL);"
                                    "INSERT INTO b VALUES (1, 'it''s'), (7, NULL), (8, x'00ff');"
                                    "INSERT INTO A VALUES (1.5);");
    (void)state;

    check_text(path, DB_TEXT_COMPACT, -1, "b: order, a\"b\na: born state");
    check_text(path, DB_TEXT_DUMP, -1,
               "CREATE TABLE A (Born_State REAL);\n"
               "CREATE TABLE b (\n  \"order\" INTEGER PRIMARY KEY AUTOINCREMENT, \"a\"\"b\" TEXT);\n\n"
               "INSERT INTO \"A\" (Born_State) VALUES (1.5);\n"
               "INSERT INTO \"b\" (order,a\"b) VALUES (1,'it''s'),(7,NULL),(8,X'00FF');\n");
    check_text(path, DB_TEXT_DUMP, 1,
               "CREATE TABLE A (Born_State REAL);\n"
               "CREATE TABLE b (\n  \"order\" INTEGER PRIMARY KEY AUTOINCREMENT, \"a\"\"b\" TEXT);\n\n"
               "INSERT INTO \"A\" (Born_State) VALUES (1.5);\n"
               "INSERT INTO \"b\" (order,a\"b) VALUES (1,'it''s');\n");
    check_text(path, DB_TEXT_AMBIQT, -1,
               "CREATE TABLE b (\n    \"order\" INTEGER,\n    a\"b TEXT,\n    PRIMARY KEY (\"order\")\n);\n"
               "CREATE TABLE a (\n    born_state REAL\n);\n\n"
               "INSERT INTO b (\"order\", a\"b) VALUES  (1, 'it''s'), (7, NULL), (8, X'00FF');\n"
               "INSERT INTO a (born_state) VALUES  (1.5);\n");
    assert_int_equal(unlink(path), 0);
    path =
        make_db(dir, "CREATE TABLE [My Pets] (\"Pet Id\" INT NOT NULL, [2nd] varchar(3) DEFAULT 'x', [k-1] REFERENCES "
                     "p(q), PRIMARY KEY (\"Pet Id\", [k-1]));"
                     "INSERT INTO [My Pets] VALUES (1, 'a' || char(10) || 'b', 2.0), (2, NULL, 3), (3, '', 0), "
                     "(4, 'd', 0), (5, 'e', 0), (6, 'f', 0);");
#define PETS                                                                                                           \
    "CREATE TABLE my_pets (\n    pet_id INT NOT NULL,\n    \"2nd\" varchar(3) DEFAULT 'x',\n    \"k-1\" ,\n"           \
    "    PRIMARY KEY (pet_id, \"k-1\")\n);\n\nINSERT INTO my_pets (pet_id, \"2nd\", \"k-1\") VALUES  "
    check_text(path, DB_TEXT_AMBIQT, -1, PETS "(1, 'a b', 2.0), (2, NULL, 3), (3, '', 0), (4, 'd', 0), (5, 'e', 0);\n");
    check_text(path, DB_TEXT_AMBIQT, 1, PETS "(1, 'a b', 2.0);\n");
#undef PETS
    assert_int_equal(unlink(path), 0);
    path = make_db(dir, "CREATE TABLE t (a); INSERT INTO t VALUES (CAST(x'61c3a9ffe282' AS TEXT)), "
                        "(CAST(x'eda08062f09f9880' AS TEXT));");
    check_text(path, DB_TEXT_DUMP, -1,
               "CREATE TABLE t (a);\n\nINSERT INTO \"t\" (a) VALUES ('a\xc3\xa9'),('b\xf0\x9f\x98\x80');\n");
    test_dir_remove(dir);
}

/* Only tables of the schema are shown: no unresolvable view, no shadow table of a virtual table. */
static void views_and_virtual_tables(void **state)
{
    char *dir = test_dir_new();
    const char *path = make_db(dir, "CREATE TABLE item (Name TEXT, price REAL); INSERT INTO item VALUES ('nut', 1.5);"
                                    "CREATE VIEW Cheap_Ones AS\n  SELECT Name FROM item;"
                                    "CREATE VIEW lost AS SELECT x FROM gone;"
                                    "CREATE VIRTUAL TABLE docs USING fts5 (body); INSERT INTO docs VALUES ('a');"
                                    "CREATE TABLE docs_extra (n INT)");
    (void)state;

    check_text(path, DB_TEXT_COMPACT, -1, "item: name, price\ncheap ones: name\ndocs: body\ndocs extra: n");
    check_text(path, DB_TEXT_DUMP, -1,
               "CREATE VIRTUAL TABLE docs USING fts5 (body);\nCREATE TABLE docs_extra (n INT);\n"
               "CREATE TABLE item (Name TEXT, price REAL);\nCREATE VIEW Cheap_Ones AS\n  SELECT Name FROM item;\n\n"
               "INSERT INTO \"docs\" (body) VALUES ('a');\nINSERT INTO \"item\" (Name,price) VALUES ('nut',1.5);\n");
    check_text(path, DB_TEXT_AMBIQT, -1,
               "CREATE TABLE item (\n    name TEXT,\n    price REAL\n);\n"
               "CREATE VIEW Cheap_Ones AS\n  SELECT Name FROM item;\nCREATE TABLE docs (\n    body \n);\n"
               "CREATE TABLE docs_extra (\n    n INT\n);\n\n"
               "INSERT INTO item (name, price) VALUES  ('nut', 1.5);\nINSERT INTO docs (body) VALUES  ('a');\n");
    test_dir_remove(dir);
}

static void test_bad_db(void **state)
{
    char *dir = test_dir_new();
    struct error err = { 0 };
    (void)state;

    const char *path = make_db(dir, "CREATE VIEW v AS SELECT x FROM gone;");
    assert_null(db_text(path, DB_TEXT_DUMP, -1, &err));
    assert_error(err, "x.sqlite", "the database has no tables");
    assert_null(
        db_text(test_file(dir, "y.sqlite", "this is no database, whatever its name is"), DB_TEXT_DUMP, -1, &err));
    assert_error(err, "y.sqlite", "not a database");
    assert_null(db_text(test_file(dir, "nowhere", NULL), DB_TEXT_DUMP, -1, &err));
    assert_error(err, "nowhere");
    path =
        make_db(dir, "CREATE TABLE t (a); INSERT INTO t SELECT hex(zeroblob(400000)) FROM (VALUES (1),(2),(3),(4),(5),"
                     "(6),(7));");
    assert_null(db_text(path, DB_TEXT_DUMP, -1, &err));
    assert_error(err, "at most 4194304 bytes", "lower --rows");
    assert_int_equal(err.code, EXIT_CODE_DATA);
    test_dir_remove(dir);
}

/* The databases of AMBROSIA whose published dump lost no line are told byte for byte as the authors told them. */
static void test_published_dumps(void **state)
{
    const char *shared = test_shared("data/dfpl/gemma2_ambrosia_resplit_validation.json");
    char *file = shared ? xstrdup(shared) : NULL, path[4096];
    const char *folder = test_shared("data/ambrosia/db");
    struct dfpl_file f;
    struct error err = { 0 };
    struct strings seen = { 0 };
    int same = 0, all = 0;
    (void)state;

    if (!file || !folder) {
        free(file);
        skip();
    }
    assert_int_equal(dfpl_read(&f, file, &err), 0);
    for (int i = 0; i < f.n; i++) {
        char domain[256], name[256];
        if (strings_add(&seen, f.items[i].db_file) < all)
            continue;
        assert_int_equal(sscanf(f.items[i].db_file, "data/%*[^/]/%255[^/]/%255[^/]", domain, name), 2);
        snprintf(path, sizeof path, "%s/%s__%s.sqlite", folder, domain, name);
        for (char *c = path + strlen(folder); *c; c++)
            *c = *c == ' ' ? '_' : *c;
        char *text = db_text(path, DB_TEXT_DUMP, -1, &err);
        if (!text)
            fail_msg("%s", err.text);
        same += strcmp(text, f.items[i].dump) == 0;
        all++;
        free(text);
    }
    assert_int_equal(all, 85);
    assert_int_equal(same, 79); /* of the others the print lost columns, which the databases at hand have again */
    strings_release(&seen);
    dfpl_release(&f);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_bad_folder),
        cmocka_unit_test(test_db_text),
        cmocka_unit_test(test_bad_db),
        cmocka_unit_test(views_and_virtual_tables),
        cmocka_unit_test(test_published_dumps),
    };
    return cmocka_run_group_tests_name("prompt", tests, NULL, NULL);
}
