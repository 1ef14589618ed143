/* The readers of WikiSQL and Squall: tables, questions, the columns and values of their SQL, and bad input by file and
 * line. */
#include "tests/support/support.h"

#include "data/corpora/table_corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int set_up(void **state)
{
    *state = test_dir_new();
    return 0;
}

static int tear_down(void **state)
{
    test_dir_remove(*state);
    return 0;
}

/* WikiSQL */

#define TABLES                                                                                                          \
    "{\"id\": \"1-1\", \"header\": [\"Player\", \"Caps\\nwon\", \"Year\"], \"types\": [\"text\", \"real\", \"real\"], " \
    "\"rows\": [[\"Ann\", 3, 2004.0], [\"Bo\", 3, 2.5], [\"Ann\", null, \"\"]]}\n"                                      \
    "{\"id\": \"1-2\", \"header\": [\"City\"], \"types\": [\"text\"], \"rows\": []}\n"
#define QUESTIONS                                                                                                      \
    "{\"table_id\": \"1-1\", \"question\": \"How many caps has Ann?\", \"sql\": {\"sel\": 1, \"agg\": 4, \"conds\": "  \
    "[[0, 0, \"Ann\"], [2, 1, 2004.0], [2, 2, 2010], [1, 3, \"x\"]]}}\n"                                               \
    "{\"table_id\": \"1-2\", \"question\": \"Which cities?\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": []}}\n"

static void write_wikisql(const char *dir, const char *tables, const char *questions)
{
    test_file(dir, "train.tables.jsonl", tables);
    test_file(dir, "train.jsonl", questions);
}

static void check_use(const struct corpus_question *q, int use, int column, const char *value)
{
    assert_int_equal(q->uses[use].column, column);
    if (value)
        assert_string_equal(q->uses[use].value, value);
    else
        assert_null(q->uses[use].value);
}

static void wikisql_is_read(void **state)
{
    struct error err = { 0 };
    struct table_corpus c;

    write_wikisql(*state, TABLES, QUESTIONS);
    assert_int_equal(wikisql_read(&c, *state, &err), 0);
    assert_int_equal(c.n_tables, 2);
    assert_int_equal(c.n_questions, 2);
    const struct corpus_table *t = &c.tables[0];
    assert_string_equal(t->id, "1-1");
    assert_int_equal(t->n_columns, 3);
    assert_string_equal(t->columns[1].name, "Caps won"); /* a blank for the line break */
    assert_int_equal(t->columns[0].type, COLUMN_TEXT);
    assert_int_equal(t->columns[2].type, COLUMN_NUMBER);
    assert_int_equal(t->columns[0].n_values, 2); /* Ann counts once */
    assert_string_equal(t->columns[0].values[1], "Bo");
    assert_int_equal(t->columns[1].n_values, 1); /* null is no value */
    assert_int_equal(t->columns[2].n_values, 2); /* nor is an empty text */
    assert_string_equal(t->columns[2].values[0], "2004");
    assert_string_equal(t->columns[2].values[1], "2.5");
    const struct corpus_question *q = &c.questions[0];
    assert_string_equal(q->text, "How many caps has Ann?");
    assert_int_equal(q->table, 0);
    assert_int_equal(q->n_uses, 5);
    check_use(q, 0, 1, NULL);
    check_use(q, 1, 0, "Ann");
    check_use(q, 2, 2, "2004");
    check_use(q, 4, 1, "x");
    assert_int_equal(q->keywords, 1u << SQL_KEYWORD_SUM | 1u << SQL_KEYWORD_EQUAL | 1u << SQL_KEYWORD_GREATER |
                                      1u << SQL_KEYWORD_LESS);
    assert_int_equal(c.questions[1].table, 1);
    assert_int_equal(c.questions[1].keywords, 0);
    table_corpus_release(&c);
}

/* A split's questions may be about tables of an earlier split's file. */
static void wikisql_splits_are_joined(void **state)
{
    struct error err = { 0 };
    struct table_corpus c;

    write_wikisql(*state, TABLES, QUESTIONS);
    test_file(*state, "test.tables.jsonl",
              "{\"id\": \"2-1\", \"header\": [\"A\"], \"types\": [\"text\"], \"rows\": []}\n");
    test_file(*state, "test.jsonl",
              "{\"table_id\": \"2-1\", \"question\": \"a?\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": []}}\n"
              "{\"table_id\": \"1-1\", \"question\": \"b?\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": []}}\n");
    assert_int_equal(wikisql_read(&c, *state, &err), 0);
    assert_int_equal(c.n_tables, 3);
    assert_int_equal(c.n_questions, 4);
    assert_int_equal(c.questions[2].table, 2);
    assert_int_equal(c.questions[3].table, 0);
    table_corpus_release(&c);
}

/* Values beyond the maximum are left out; the wider of two tables is refused. */
static void wikisql_is_bounded(void **state)
{
    struct error err = { 0 };
    struct table_corpus c;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    fputs("{\"id\": \"a\", \"header\": [\"A\"], \"types\": [\"text\"], \"rows\": [[0]", f);
    for (int i = 1; i <= CORPUS_VALUES; i++)
        fprintf(f, ", [%d]", i);
    fputs("]}\n", f);
    fclose(f);
    write_wikisql(*state, text, "");
    free(text);
    assert_int_equal(wikisql_read(&c, *state, &err), 0);
    assert_int_equal(c.tables[0].columns[0].n_values, CORPUS_VALUES);
    table_corpus_release(&c);

    f = open_memstream(&text, &n);
    fputs("{\"id\": \"a\", \"header\": [\"A\"", f);
    for (int i = 0; i < CORPUS_COLUMNS; i++)
        fputs(", \"A\"", f);
    fputs("], \"types\": [\"text\"", f);
    for (int i = 0; i < CORPUS_COLUMNS; i++)
        fputs(", \"text\"", f);
    fputs("], \"rows\": []}\n", f);
    fclose(f);
    write_wikisql(*state, text, "");
    free(text);
    assert_int_equal(wikisql_read(&c, *state, &err), -1);
    assert_error(err, "train.tables.jsonl: line 1", "expected 1 to 512 columns, got 513");
    table_corpus_release(&c);
}

static void refuse_wikisql(void **state, const char *tables, const char *questions, const char *place, const char *says)
{
    struct error err = { 0 };
    struct table_corpus c;

    write_wikisql(*state, tables, questions);
    assert_int_equal(wikisql_read(&c, *state, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, place, says);
    table_corpus_release(&c);
}

static void wikisql_lines_are_checked(void **state)
{
    static const char *const bad_tables[][2] = {
        { "{\"id\": 7, \"header\": [], \"types\": [], \"rows\": []}\n", "\"id\"" },
        { "{\"id\": \"a\", \"header\": [], \"types\": [], \"rows\": []}\n", "expected 1 to 512 columns, got 0" },
        { "{\"id\": \"a\", \"header\": [\"A\"], \"types\": [\"text\", \"text\"], \"rows\": []}\n",
          "expected 1 types, got 2" },
        { "{\"id\": \"a\", \"header\": [\"A\"], \"types\": [null], \"rows\": []}\n", "\"text\" or \"real\", got null" },
        { "{\"id\": \"a\", \"header\": [[]], \"types\": [\"text\"], \"rows\": []}\n",
          "expected strings, got an array" },
        { "{\"id\": \"a\", \"header\": [\"A\"], \"types\": [\"text\"], \"rows\": [{}]}\n", "rows of 1 cells" },
        { "{\"id\": \"1-1\", \"header\": [\"A\"], \"types\": [\"text\"], \"rows\": []}\n", "1-1 twice" },
        { "{\"id\": \"a\",\n", "" },
        { "[]\n", "" },
    };
    static const char *const bad_questions[][2] = {
        { "{\"table_id\": \"1-1\", \"question\": 7, \"sql\": {}}\n", "\"question\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\"}\n", "\"sql\"" },
        { "{\"table_id\": \"9\", \"question\": \"a\", \"sql\": {}}\n", "got \"9\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 3, \"agg\": 0, \"conds\": []}}\n",
          "\"sel\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": -1, \"agg\": 0, \"conds\": []}}\n",
          "\"sel\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 0, \"agg\": 6, \"conds\": []}}\n",
          "\"agg\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": [7]}}\n",
          "\"conds\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": [[0, 0, \"a\", 1]]}}\n",
          "\"conds\"" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": [[0.5, 0, \"a\"]]}}\n",
          "a column as a number, got a real" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": [[0, 4, \"a\"]]}}\n",
          "a comparison from 0 to 3, got 4" },
        { "{\"table_id\": \"1-1\", \"question\": \"a\", \"sql\": {\"sel\": 0, \"agg\": 0, \"conds\": [[0, 0, true]]}}\n",
          "a string or number" },
    };
    char text[4096];

    for (int i = 0; i < ARRAY_LEN(bad_tables); i++) {
        snprintf(text, sizeof text, "%s%s", TABLES, bad_tables[i][0]);
        refuse_wikisql(state, text, QUESTIONS, "train.tables.jsonl: line 3", bad_tables[i][1]);
    }
    for (int i = 0; i < ARRAY_LEN(bad_questions); i++) {
        snprintf(text, sizeof text, "%s%s", QUESTIONS, bad_questions[i][0]);
        refuse_wikisql(state, TABLES, text, "train.jsonl: line 3", bad_questions[i][1]);
    }
}

static void wikisql_files_are_required(void **state)
{
    struct error err = { 0 };
    struct table_corpus c;

    assert_int_equal(wikisql_read(&c, *state, &err), -1);
    assert_error(err, "expected train.jsonl with train.tables.jsonl", "got none");
    table_corpus_release(&c);
    test_file(*state, "dev.jsonl", "");
    assert_int_equal(wikisql_read(&c, *state, &err), -1);
    assert_error(err, "dev.tables.jsonl");
    table_corpus_release(&c);
}

/* Squall */

#define CELLS "[{\"col\": \"x\", \"type\": \"TEXT\", \"data\": [\"a\", \"b\", \"a\"]}]"
#define TABLE                                                                                                           \
    "{\"headers\": [\"id\", \"agg\", \"name\", \"date\", \"rank\", \"spans\"], \"types\": [\"id\", \"agg\", \"text\", " \
    "\"date\", \"rank\", \"number_span\"], \"contents\": [" CELLS ", " CELLS ", " CELLS ", " CELLS ", " CELLS           \
    ", " CELLS "]}"

static void write_squall(const char *dir, const char *table, const char *questions)
{
    static const char *const folders[] = { "data", "tables", "tables/json" };
    char path[512];

    for (int i = 0; i < ARRAY_LEN(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        mkdir(path, 0700);
    }
    test_file(dir, "tables/json/200_0.json", table);
    test_file(dir, "data/squall.json", questions);
}

/* One question whose SQL has these tokens. */
static const char *asked(char text[4096], const char *tokens)
{
    snprintf(text, 4096, "[{\"tbl\": \"200_0\", \"nl\": [\"who\", \"won\", \"?\"], \"sql\": [%s]}]", tokens);
    return text;
}

static void read_squall(struct table_corpus *c, void **state, const char *tokens)
{
    struct error err = { 0 };
    char text[4096];

    write_squall(*state, TABLE, asked(text, tokens));
    if (squall_read(c, *state, &err))
        fail_msg("%s", err.text);
}

static void squall_is_read(void **state)
{
    struct table_corpus c;

    read_squall(
        &c, state,
        "[\"Keyword\", \"select\", []], [\"Keyword\", \"max\", []], [\"Column\", \"c3_number\", []], [\"Keyword\", "
        "\"where\", []], [\"Column\", \"c1\", []], [\"Keyword\", \"=\", []], [\"Literal.String\", \"'o\\\\'hara'\", "
        "[1]]");
    assert_int_equal(c.n_questions, 1);
    assert_string_equal(c.questions[0].text, "who won ?");
    const struct corpus_table *t = &c.tables[c.questions[0].table];
    assert_int_equal(t->n_columns, 4); /* without id and agg */
    assert_string_equal(t->columns[0].name, "name");
    assert_int_equal(t->columns[0].n_values, 2);
    assert_int_equal(t->columns[0].type, COLUMN_TEXT);
    assert_int_equal(t->columns[1].type, COLUMN_TIME);
    assert_int_equal(t->columns[2].type, COLUMN_NUMBER);
    assert_int_equal(t->columns[3].type, COLUMN_TEXT); /* a span of numbers is no number */
    assert_int_equal(c.questions[0].n_uses, 3);
    check_use(&c.questions[0], 0, 2, NULL);
    check_use(&c.questions[0], 1, 0, NULL);
    check_use(&c.questions[0], 2, 0, "o'hara");
    assert_int_equal(c.questions[0].keywords, 1u << SQL_KEYWORD_MAX | 1u << SQL_KEYWORD_EQUAL);
    table_corpus_release(&c);
}

/* The number behind "limit" is compared with no column, and those in a list are. */
static void squall_literals_have_columns(void **state)
{
    struct table_corpus c;

    read_squall(
        &c, state,
        "[\"Column\", \"c1\", []], [\"Keyword\", \"in\", []], [\"Keyword\", \"(\", []], [\"Literal.Number\", \"3\", "
        "[]], [\"Keyword\", \",\", []], [\"Literal.Number\", \"4\", []], [\"Keyword\", \")\", []], [\"Keyword\", "
        "\"limit\", []], [\"Literal.Number\", \"1\", []]");
    assert_int_equal(c.questions[0].n_uses, 3);
    check_use(&c.questions[0], 1, 0, "3");
    check_use(&c.questions[0], 2, 0, "4");
    table_corpus_release(&c);
    read_squall(&c, state, "[\"Column\", \"c4\", []], [\"Keyword\", \"=\", []], [\"Literal.String\", \"'\", []]");
    check_use(&c.questions[0], 1, 3, "'");
    table_corpus_release(&c);
}

static void squall_tables_alone_are_read(void **state)
{
    struct error err = { 0 };
    struct table_corpus c;
    char path[512];

    write_squall(*state, TABLE, "[]");
    test_file(*state, "tables/json/notes.txt", "no table");
    test_file(*state, "tables/json/200_1.json", TABLE);
    snprintf(path, sizeof path, "%s/data/squall.json", (const char *)*state);
    assert_int_equal(remove(path), 0);
    setenv("AMBIT_LOG", "error", 1);
    assert_int_equal(squall_read(&c, *state, &err), 0);
    assert_int_equal(c.n_tables, 2);
    assert_string_equal(c.tables[1].id, "200_1");
    assert_int_equal(c.n_questions, 0);
    table_corpus_release(&c);
}

static void refuse_squall(void **state, const char *table, const char *questions, const char *place, const char *says)
{
    struct error err = { 0 };
    struct table_corpus c;

    write_squall(*state, table, questions);
    assert_int_equal(squall_read(&c, *state, &err), -1);
    assert_int_equal(err.code, EXIT_CODE_DATA);
    assert_error(err, place, says);
    table_corpus_release(&c);
}

static void squall_tokens_are_checked(void **state)
{
    static const char *const bad[][2] = {
        { "7", "expected tokens" },
        { "[\"Keyword\"]", "expected tokens" },
        { "[\"Keyword\", 7]", "expected tokens" },
        { "[\"Verb\", \"go\"]", "got \"Verb\"" },
        { "[\"Column\", \"c0\"]", "expected a column from c1 to c4, got \"c0\"" },
        { "[\"Column\", \"c5\"]", "got \"c5\"" },
        { "[\"Column\", \"c1x\"]", "got \"c1x\"" },
        { "[\"Column\", \"c99999999999999999999\"]", "got \"c9" },
        { "[\"Column\", \"name\"]", "got \"name\"" },
    };
    char text[4096];

    for (int i = 0; i < ARRAY_LEN(bad); i++)
        refuse_squall(state, TABLE, asked(text, bad[i][0]), "squall.json: record 1: field \"sql\"", bad[i][1]);
}

static void squall_records_are_checked(void **state)
{
    static const char *const bad[][2] = {
        { "{\"nl\": [], \"sql\": []}", "\"tbl\"" },
        { "{\"tbl\": \"../200_0\", \"nl\": [\"a\"], \"sql\": []}", "got \"../200_0\"" },
        { "{\"tbl\": \"200_7\", \"nl\": [\"a\"], \"sql\": []}", "200_7.json" },
        { "{\"tbl\": \"200_0\", \"nl\": [], \"sql\": []}", "expected words, got none" },
        { "{\"tbl\": \"200_0\", \"nl\": [\"a\", 7], \"sql\": []}", "expected strings, got an integer" },
        { "{\"tbl\": \"200_0\", \"nl\": [\"a\"], \"sql\": 7}", "\"sql\"" },
        { "7", "" },
    };
    char text[4096];

    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(text, sizeof text, "[{\"tbl\": \"200_0\", \"nl\": [\"a\"], \"sql\": []}, %s]", bad[i][0]);
        refuse_squall(state, TABLE, text, "squall.json: record 2", bad[i][1]);
    }
}

static void squall_tables_are_checked(void **state)
{
    static const char *const bad[][2] = {
        { "{", "" },
        { "[]", "headers" },
        { "{\"headers\": [\"id\", \"agg\"], \"types\": [\"id\", \"agg\"], \"contents\": [" CELLS ", " CELLS "]}",
          "at least 3" },
        { "{\"headers\": [\"id\", \"agg\", \"a\"], \"types\": [\"id\", \"agg\"], \"contents\": []}",
          "as many headers" },
        { "{\"headers\": [\"id\", \"agg\", 7], \"types\": [\"id\", \"agg\", \"text\"], \"contents\": [[], [], " CELLS
          "]}",
          "expected strings, got an integer" },
        { "{\"headers\": [\"id\", \"agg\", \"a\"], \"types\": [\"id\", \"agg\", \"text\"], \"contents\": [[], [], []]}",
          "expected the cells of each column, got none" },
        { "{\"headers\": [\"id\", \"agg\", \"a\"], \"types\": [\"id\", \"agg\", \"text\"], \"contents\": [[], [], [{}]]}",
          "\"data\"" },
    };
    char text[4096];

    for (int i = 0; i < ARRAY_LEN(bad); i++)
        refuse_squall(state, bad[i][0], asked(text, ""), "200_0.json", bad[i][1]);
}

/* A question of very many words takes time and memory of its length, not of its square. */
static void squall_questions_may_be_long(void **state)
{
    struct error err = { 0 };
    struct table_corpus c;
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    fputs("[{\"tbl\": \"200_0\", \"sql\": [], \"nl\": [\"a\"", f);
    for (int i = 0; i < 200000; i++)
        fputs(", \"b\"", f);
    fputs("]}]", f);
    fclose(f);
    write_squall(*state, TABLE, text);
    free(text);
    assert_int_equal(squall_read(&c, *state, &err), 0);
    assert_int_equal(strlen(c.questions[0].text), 400001);
    table_corpus_release(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(wikisql_is_read),
        TEST(wikisql_splits_are_joined),
        TEST(wikisql_is_bounded),
        TEST(wikisql_lines_are_checked),
        TEST(wikisql_files_are_required),
        TEST(squall_is_read),
        TEST(squall_literals_have_columns),
        TEST(squall_tables_alone_are_read),
        TEST(squall_tokens_are_checked),
        TEST(squall_records_are_checked),
        TEST(squall_tables_are_checked),
        TEST(squall_questions_may_be_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
