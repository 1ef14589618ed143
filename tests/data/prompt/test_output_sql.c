/* Statements in completions of every form: the extracted ones, character by character, and rules for every completion.
 */
#include "data/prompt/model_output.h"
#include "data/sql/sql.h"
#include "data/sql/sql_lex.h"
#include "tests/support/support.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define A "SELECT name FROM singer WHERE age > 30"
#define B "SELECT age FROM singer"
#define CTE "WITH older AS (\n  SELECT * FROM singer\n),\n\npaid AS (SELECT * FROM singer)\n\nSELECT name FROM older"

static const struct {
    const char *answer;
    const char *wanted[4];
} answers[] = {
    /* where statements end */
    { "SELECT name FROM singer -- all; of them\nWHERE age > 30;",
      { "SELECT name FROM singer -- all; of them\nWHERE age > 30" } },
    { "SELECT name /* a; b */ FROM singer; " B, { "SELECT name /* a; b */ FROM singer", B } },
    { "SELECT ';', \";\", `;`, [;] FROM t; " B, { "SELECT ';', \";\", `;`, [;] FROM t", B } },
    { "SELECT 'it''s; so' FROM t;", { "SELECT 'it''s; so' FROM t" } },
    { CTE ";\n", { CTE } },
    { "```sql\n" CTE "\n```", { CTE } },
    { A "\r\n\r\n" B "\r\n", { A, B } },
    { A "\n \t\n" B, { A, B } },
    { A "\n" B, { A, B } },
    { A "\n\nUNION\n\n" B, { A "\n\nUNION\n\n" B } },
    { "SELECT name\n\nFROM singer\n\nWHERE age > 30\n\nORDER BY name",
      { "SELECT name\n\nFROM singer\n\nWHERE age > 30\n\nORDER BY name" } },
    { "SELECT name FROM singer WHERE id IN (\n\n  SELECT id FROM singer\n\n)",
      { "SELECT name FROM singer WHERE id IN (\n\n  SELECT id FROM singer\n\n)" } },
    { A "\n\n-- the other one\n" B, { A, B } },
    { A "\n\nWITH x AS (SELECT 1) SELECT * FROM x", { A, "WITH x AS (SELECT 1) SELECT * FROM x" } },
    { "SELECT x FROM a\nMINUS\nSELECT x FROM b", { "SELECT x FROM a\nMINUS\nSELECT x FROM b" } },
    { A "; -- done", { A } },
    { A "\n\n/* second */ " B, { A, B } },
    { A "\n\nUPDATE singer SET age = 1;", { A } },
    { "It is:\n/* older */ select name from singer where age ilike 3",
      { "select name from singer where age ilike 3" } },
    { A ";;\n;" B ";", { A, B } },
    /* comments */
    { "-- older singers\n" A, { A } },
    { "/* reading 1 */ " A ";\n/* reading 2 */ " B ";", { A, B } },
    { "-- " B ";\n" A, { A } },
    { "```sql\n-- Select the names\n" A " -- here\n```", { A } },
    { "SELECT name -- the name\nFROM singer", { "SELECT name -- the name\nFROM singer" } },
    /* prose before */
    { "Here is the query:\n" A ";", { A } },
    { "SQLQuery: " A, { A } },
    { "Sure! " A, { A } },
    { "The SELECT statement with a WHERE clause lists them:\n\n" A, { A } },
    { "With this in mind, we select the names.\n\n" A, { A } },
    { "Select the rows that are older than 30.\nWith the table singer, this gives:\n" A, { A } },
    { "First we need names from the table; then we select all singers from the table.\n" A ";", { A } },
    { "assistant\n\nselect name from singer;", { "select name from singer" } },
    { "\xef\xbb\xbf" A, { A } },
    { "\xe6\x9f\xa5\xe8\xaf\xa2\xe5\xa6\x82\xe4\xb8\x8b\xef\xbc\x9a" A, { A } },
    { "The query is " A ".", { A "." } },
    { "You can use `" A "` for that.", { A } },
    { "It is \"" A "\".", { A } },
    { "<sql>" A "</sql>", { A } },
    { "<answer>\n" A "\n</answer>", { A } },
    { "**" A "**", { A } },
    { "> " A "\n\nok", { A } },
    { "sql = \"\"\"\n" A "\n\"\"\"\nrun(sql)", { A } },
    { "```python\ncursor.execute(\"" A "\")\n```", { A } },
    { "| older | " A " |\n| ages | " B " |\n", { A, B } },
    { "\xe2\x80\x9c" A "\xe2\x80\x9d", { A } },
    { "$$" A "$$", { A } },
    { "q = \"\"\"\n" A "\"\"\"", { A } },
    { "\"SELECT * FROM singer \"s\" WHERE age > 30\"", { "SELECT * FROM singer \"s\" WHERE age > 30" } },
    { "It's \"SELECT * FROM singer \"s\" WHERE age > 30\" here", { "SELECT * FROM singer \"s\" WHERE age > 30" } },
    { "```text\nSelect the rows that are older\n```\n" A, { A } },
    { "It's `SELECT `name` FROM `singer``.", { "SELECT `name` FROM `singer`" } },
    { "[SQL]" A "[/SQL]", { A } },
    { "[ANSWER]\n" A "\n[/ANSWER]", { A } },
    /* blanks of Unicode are blanks, but for those in strings and names */
    { "SELECT\xc2\xa0name FROM singer\xc2\xa0WHERE age > 30;", { "SELECT  name FROM singer  WHERE age > 30" } },
    { "\xe2\x80\x8b" A "\xe2\x80\x8b", { A } },
    { "SELECT name FROM singer\xe3\x80\x80WHERE age > 30", { "SELECT name FROM singer   WHERE age > 30" } },
    { "SELECT\xc2\xa0\"a\xc2\xa0z\" FROM t WHERE x = 'b\xe3\x80\x80z'",
      { "SELECT  \"a\xc2\xa0z\" FROM t WHERE x = 'b\xe3\x80\x80z'" } },
    { "SELECT name\\nFROM singer\\nWHERE note = '\\n'", { "SELECT name \nFROM singer \nWHERE note = '\\n'" } },
    { A "\xe3\x80\x82", { A } },
    { "\xe6\x9f\xa5\xe8\xaf\xa2\xef\xbc\x9a\n" B "\xef\xbc\x9b\n" A, { B, A } },
    /* prose behind */
    { A "\nwith the filter on age", { A } },
    { A "\nGO", { A } },
    { A "\ngo\n" B ";\ngo", { A, B } },
    { A "\n/", { A } },
    { A " \\g", { A } },
    { A "\\G\n", { A } },
    { A " \\", { A " \\" } },
    { A "\nThis query lists the names of older singers.", { A } },
    { A "\n\nThis query lists the names; it doesn't sort them.", { A } },
    { A "\n\nExplanation:\n- WHERE keeps the older ones.\n- SELECT names them.", { A } },
    { A "\n\n### Explanation\nIt filters.", { A } },
    { A "\n**Explanation:** it filters", { A } },
    { "SELECT name FROM singer. It lists all names.", { "SELECT name FROM singer" } },
    { A ". This lists the older singers.", { A } },
    { A " which lists the older singers", { A } },
    { "SELECT name FROM singer\nOrder them by age if you like.", { "SELECT name FROM singer" } },
    { "SELECT name FROM singer\nDone.", { "SELECT name FROM singer" } },
    { "SELECT name FROM singer\nNote: names are not unique", { "SELECT name FROM singer" } },
    { "SELECT name FROM singer\n\n---\n\nHope this helps!", { "SELECT name FROM singer" } },
    { A ";<|im_end|>", { A } },
    { A "<|eot_id|>", { A } },
    { A "</s>", { A } },
    /* other dialects are kept whole, so that running them fails */
    { "SELECT name FROM singer\nFETCH FIRST 3 ROWS ONLY", { "SELECT name FROM singer\nFETCH FIRST 3 ROWS ONLY" } },
    { "SELECT name FROM singer WHERE name ILIKE 'a%'", { "SELECT name FROM singer WHERE name ILIKE 'a%'" } },
    { "SELECT name FROM singer\nQUALIFY row_number() OVER (ORDER BY age) = 1",
      { "SELECT name FROM singer\nQUALIFY row_number() OVER (ORDER BY age) = 1" } },
    { "SELECT TOP 5 name FROM singer;", { "SELECT TOP 5 name FROM singer" } },
    { "SELECT name FROM singer ORDER BY age::int DESC;", { "SELECT name FROM singer ORDER BY age::int DESC" } },
    { "SELECT name FROM singer # all\nWHERE age > 30;", { "SELECT name FROM singer # all\nWHERE age > 30" } },
    { "select name from singer as s the on s.id = 3 where age > 30;",
      { "select name from singer as s the on s.id = 3 where age > 30" } },
    { "SELECT name FROM singer WHERE age ) > 30;", { "SELECT name FROM singer WHERE age ) > 30" } },
    { "SQL: select name from singer where age ilike (select max(age) from singer)",
      { "select name from singer where age ilike (select max(age) from singer)" } },
    { "SELECT a FROM t UNION ~* 'a' SELECT b FROM t", { "SELECT a FROM t UNION ~* 'a' SELECT b FROM t" } },
    { "SELECT name FROM singer\nFOR UPDATE SKIP LOCKED", { "SELECT name FROM singer\nFOR UPDATE SKIP LOCKED" } },
    { "SELECT s.name FROM singer AS s WHERE s. x y = 3", { "SELECT s.name FROM singer AS s WHERE s. x y = 3" } },
    { "SELECT name FROM singer JOIN ) x ON x.age = (SELECT max(age) FROM singer)",
      { "SELECT name FROM singer JOIN ) x ON x.age = (SELECT max(age) FROM singer)" } },
    { "Select name From singer Where age In (SELECT age FROM singer) Qualify 1", { NULL } },
    { "SELECT name FROM singer WHERE a ! b", { "SELECT name FROM singer WHERE a ! b" } },
    { "SELECT 'it's' FROM singer;", { "SELECT 'it's' FROM singer" } },
    { "SELECT name FROM singer WHERE age &gt; 30;", { "SELECT name FROM singer WHERE age &gt; 30" } },
    /* fences */
    { "```sql\n" A "\n```\nor\n```sqlite " B "```", { A, B } },
    { "```" A "```", { A } },
    { "~~~sql\n" A "\n~~~", { A } },
    { "````\n" A "\n````", { A } },
    { "1. ```sql\n   " A "\n   ```\n2. ```sql\n   " B "\n   ```", { A, B } },
    { "```sql\r\n" A "\r\n```\r\n", { A } },
    { "```sql\n" A, { A } },
    { A "\n\nOutput:\n```\n| name |\n| Ada  |\n```", { A } },
    { "```sql\n" A ";\n" B ";\n```", { A, B } },
    { "```\nSelect name From singer\n```", { "Select name From singer" } },
    /* thoughts */
    { "<think>\n```sql\n" B "\n```\nNo.\n</think>\n\n```sql\n" A "\n```", { A } },
    { B ";\nNo.\n</think>\n" A ";", { A } },
    { "<thinking>" B "</thinking>" A, { A } },
    { "<think >\n" B ";\n</think >\n" A, { A } },
    { "<THINK effort=\"high\">" B "</Think\n>" A, { A } },
    { "<antThinking>" B "</antThinking>" A, { A } },
    { "<thought_process>\n" B "\n</thought_process>\n" A, { A } },
    { A " -- a <reason for it>\n AND 1", { A " -- a <reason for it>\n AND 1" } },
    { "<reasoning>" B "</reasoning>\n<answer>" A "</answer>", { A } },
    { "<think>\n" A ";\n", { NULL } },
    { "<THINK>hm</THINK>" A, { A } },
    { A "\n<reasoning>" B "</reasoning>", { A } },
    { "[THINK]" B "[/THINK]" A, { A } },
    { "<thoughts>" B ";</thoughts>" A, { A } },
    { "<reason>" B ";</reason>" A, { A } },
    { "<analysis>" B ";</analysis>" A, { A } },
    { "<scratchpad>" B ";</scratchpad>" A, { A } },
    { "<reflection>" B ";</reflection>" A, { A } },
    { "<seed:think>" B ";</seed:think>" A, { A } },
    { "<|begin_of_thought|>" B ";<|end_of_thought|><|begin_of_solution|>" A "<|end_of_solution|>", { A } },
    { "<|START_THINKING|>" B ";<|END_THINKING|><|START_RESPONSE|>" A "<|END_RESPONSE|>", { A } },
    { "<|channel|>analysis<|message|>" B "<|end|><|start|>assistant<|channel|>final<|message|>" A "<|return|>", { A } },
    { "SELECT id FROM post WHERE body LIKE '%</think>%'", { "SELECT id FROM post WHERE body LIKE '%</think>%'" } },
    { "SELECT id FROM post WHERE body LIKE '%a</think>b%'", { "SELECT id FROM post WHERE body LIKE '%a</think>b%'" } },
    { "<think>" B ";</think>SELECT id FROM post WHERE body = 'a <think> b'",
      { "SELECT id FROM post WHERE body = 'a <think> b'" } },
    { "<think>The names' order, LIKE '%'. It's done, 'tis.</think>" A " AND name <> 'x'", { A " AND name <> 'x'" } },
    /* braces, JSON and almost JSON */
    { "{" A "}", { A } },
    { "Sure: {select name from singer where name <> 'a}b'}", { "select name from singer where name <> 'a}b'" } },
    { "{\"queries\": [\"" A "\", \"" B "\"]}", { A, B } },
    { "Here:\n```json\n{\"queries\": [\"" A "\", \"" B "\",]}\n```", { A, B } },
    { "[\"" A "\", \"" B "\"]", { A, B } },
    { "```json\n[\"" A "\"]\n```", { A } },
    { "[{\"reading\": \"Select the names\", \"sql\": \"" A "\"}, {\"reading\": \"Select ages\", \"sql\": \"" B "\"}]",
      { A, B } },
    { "{'queries': ['" A "', '" B "']}", { A, B } },
    { "['SELECT 1 FROM t WHERE n = 'Ada'', '" B "']", { "SELECT 1 FROM t WHERE n = 'Ada'", B } },
    { "[\"SELECT \"name\", \"age\" FROM singer\", \"" B "\"]", { "SELECT \"name\", \"age\" FROM singer", B } },
    { "{\"queries\": [\"SELECT name\nFROM singer\", \"" B "\"]}", { "SELECT name\nFROM singer", B } },
    { "{\"queries\": [\"SELECT name\\nFROM singer\", \"" B "\"]}", { "SELECT name\nFROM singer", B } },
    { "{\"queries\": [\"SELECT '}', ']' FROM t\", \"" B "\"] and more", { "SELECT '}', ']' FROM t", B } },
    { "{\"queries\": [\"" A "\", \"SELECT age FR", { A } },
    { "Two: {\"queries\": [\"" A "\" \n \"" B "\"]} as asked", { A, B } },
    { "{queries: [\"" A "\"]}", { A } },
    { "{\"sql\": \"" A "\", \"explanation\": \"Select the names. SELECT age FROM singer is wrong.\"}", { A } },
    { "{\"sql\": \"" A "\", \"explanation\": [\"SELECT age FROM singer was wrong\"]}", { A } },
    { "{\"readings\": [{\"sql\": \"" A "\"}]}", { A } },
    { "{\"interpretations\": [\"" A "\", \"" B "\"]}", { A, B } },
    { "{\"sql\": \"```sql\\n" A "\\n```\"}", { A } },
    { "[\"" A "\", // the older\n \"" B "\"]", { A, B } },
    { "\"SELECT name\\nFROM singer\"", { "SELECT name\nFROM singer" } },
    { "{\"sql\": \"" A "\", \"sql\": \"" B "\"}", { A, B } },
    { "{\"queries\": [{\"query\": \"" A "\"}, {\"query\": \"" B "\"}]}", { A, B } },
    { "{\"1\": \"" A "\", \"2\": \"" B "\"}", { A, B } },
    { "[see below]\n{\"queries\": [\"" A "\"]}", { A } },
    { "SELECT [name] FROM [singer]", { "SELECT [name] FROM [singer]" } },
    /* numbered and bulleted lists */
    { "1. " A "\n2. " B, { A, B } },
    { "1) " A ";\n2) " B ";", { A, B } },
    { "- " A "\n- " B, { A, B } },
    { "- " A " ORDER BY age\n- nothing else", { A " ORDER BY age" } },
    { "* " A "\n* " B, { A, B } },
    { "\xe2\x80\xa2 " A "\n\xe2\x80\xa2 " B, { A, B } },
    { "(1) " A "\n(2) " B, { A, B } },
    { "1. Names: " A "\n2. Ages: " B, { A, B } },
    { "Reading 1:\n" A "\n\nReading 2:\n" B, { A, B } },
    { "**1.** `" A "`\n**2.** `" B "`", { A, B } },
    { "1. The names:\n   " A "\n2. The ages of each singer:\n   " B, { A, B } },
    { "1) " A "\n2) " B, { A, B } },
    { "a. " A "\nb. " B, { A, B } },
    { "a) " A "\nb) " B, { A, B } },
    { "II. " A "\nIII. " B, { A, B } },
    { "Query 1: " A "\nQuery 2: " B, { A, B } },
    { "1. **Names**: " A "\n2. **Ages**: " B, { A, B } },
    { "### Reading 1\n" A "\n### Reading 2\n" B, { A, B } },
    { A "\n\n(Only the older ones.)", { A } },
    { "SELECT name FROM singer WHERE age ILIKE\n(SELECT 1)",
      { "SELECT name FROM singer WHERE age ILIKE\n(SELECT 1)" } },
    /* kinds of statements */
    { "VALUES (1), (2)", { "VALUES (1), (2)" } },
    { "(" A ")", { A } },
    { "(SELECT a FROM t) UNION (SELECT b FROM u)", { "(SELECT a FROM t) UNION (SELECT b FROM u)" } },
    { "CREATE VIEW v AS SELECT a FROM t;\n" A, { A } },
    { "DELETE FROM singer;", { NULL } },
    { "INSERT INTO t SELECT a FROM u;", { NULL } },
    { "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
      { "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n" } },
    { "select name from singer where", { "select name from singer where" } },
    { "select 1", { "select 1" } },
    /* no statement */
    { "", { NULL } },
    { "I cannot say.", { NULL } },
    { "Select the rows that are older, with the names of all singers.", { NULL } },
    { "Select all singers from the database.", { NULL } },
    { "To select name from singer is not enough.", { NULL } },
    { "{\"queries\": []}", { NULL } },
    { "{\"other\": 1}", { NULL } },
    { "Values (such as 3) differ.", { NULL } },
};

static void check(const char *answer, const char *const *wanted, int most)
{
    struct text_items found = { 0 };
    int n = 0;

    while (n < most && wanted[n])
        n++;
    output_sql(&found, answer, false);
    for (int i = 0; i < found.n || i < n; i++)
        if (i >= found.n || i >= n || strcmp(found.items[i], wanted[i]) != 0)
            fail_msg("%s\n%d statements, the %d. %s\nexpected %s", answer, found.n, i + 1,
                     i < found.n ? found.items[i] : "none", i < n ? wanted[i] : "none");
    text_items_release(&found);
}

static void test_answers(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(answers); i++)
        check(answers[i].answer, answers[i].wanted, ARRAY_LEN(answers[i].wanted));
}

/* --- a statement of the corpus comes back from whatever stands around it */

static const struct {
    const char *before, *behind;
} wrappings[] = {
    { "", "" },
    { "", ";" },
    { "```sql\n", "\n```" },
    { "Here is the query:\n", ";\n\nThis query lists what was asked." },
    { "Here is the query:\n\n", "\n\nThis query lists what was asked, which isn't much." },
    { "SQL: ", ";" },
    { "<think>\nSELECT wrong FROM thought;\n</think>\n", "" },
    { "SELECT wrong FROM thought;\n</think>\n```\n", "\n```" },
    { "1. ", ";" },
    { "**Reading 1:**\n\n```sqlite\n", ";\n```\nDone." },
    { "\xef\xbb\xbf", "\r\n" },
};

/* The bytes of a statement without comments and semicolons around it. */
static char *core_of(const char *text)
{
    struct sql_token t;
    int begin = -1, end = 0;

    for (int i = 0; (i = sql_lex_next(text, i, &t)), t.kind > TOKEN_ILLEGAL && t.kind != TOKEN_SEMICOLON; end = t.end)
        begin = begin < 0 ? t.begin : begin;
    return strndup(text + (begin < 0 ? 0 : begin), (size_t)(begin < 0 ? 0 : end - begin));
}

static void check_one(const char *answer, const char *wanted)
{
    check(answer, (const char *const[]){ wanted }, 1);
}

static void check_wrapped(const char *statement)
{
    char *text;

    for (int i = 0; i < ARRAY_LEN(wrappings); i++) {
        assert_true(asprintf(&text, "%s%s%s", wrappings[i].before, statement, wrappings[i].behind) > 0);
        check_one(text, statement);
        free(text);
    }
    for (int i = 0; i < 3; i++) {
        json_t *o = i == 0   ? json_pack("{s:[s]}", "queries", statement)
                    : i == 1 ? json_pack("[s]", statement)
                             : json_pack("[{s:s}]", "sql", statement);
        text = json_dumps(o, 0);
        if (text)
            check_one(text, statement);
        free(text);
        json_decref(o);
    }
}

static void check_line(const char *statement)
{
    char *line = sql_normal_line(statement);
    struct sql_token a, b;

    for (int i = 0, j = 0;;) {
        i = sql_lex_next(statement, i, &a);
        j = sql_lex_next(line, j, &b);
        assert_int_equal(a.kind, b.kind);
        if (a.kind == TOKEN_END)
            break;
        assert_int_equal(a.end - a.begin, b.end - b.begin);
        assert_int_equal(strncasecmp(statement + a.begin, line + b.begin, (size_t)(a.end - a.begin)), 0);
        if (a.kind == TOKEN_STRING)
            assert_memory_equal(statement + a.begin, line + b.begin, (size_t)(a.end - a.begin));
        else
            assert_null(memchr(line + b.begin, '\n', (size_t)(b.end - b.begin)));
    }
    free(line);
}

static char *read_text(const char *path)
{
    char *text = xcalloc(1, 1 << 20);
    FILE *f = fopen(path, "rb");

    assert_non_null(f);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    text[strlen(text) < n ? strlen(text) : n] = '\0';
    return text;
}

static void test_corpus(void **state)
{
    glob_t files;
    int n = 0;

    (void)state;
    assert_int_equal(glob("tests/corpus/sql*/*", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *text = read_text(files.gl_pathv[i]), *core = core_of(text);
        struct arena trees;
        struct error err;
        assert_int_equal(arena_init(&trees, 16 << 20, &err), 0);
        if (sql_parse(&trees, core, &err)) {
            check_wrapped(core);
            check_line(core);
            n++;
        }
        arena_release(&trees);
        free(core);
        free(text);
    }
    globfree(&files);
    assert_true(n >= 20);
}

/* --- on one line */

static void test_lines(void **state)
{
    static const struct {
        const char *text, *normal;
    } cases[] = {
        { "SELECT a -- x\nFROM t", "select a from t" },
        { "SELECT a/* x */FROM t", "select a from t" },
        { "SELECT  Count ( * ) ,\tB\r\nFROM T WHERE n = 'A  B\n(C ) , D' ;",
          "select count(*), b from t where n = 'A  B\n(C ) , D'" },
        { "SELECT \"A  B\", `C D`, [E F] FROM t", "select \"A  B\", `C D`, [E F] from t" },
        { "SELECT 'a -- x\nFROM T", "select 'a -- x FROM T" },
        { "", "" },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        char *normal = sql_normal_line(cases[i].text);
        assert_string_equal(normal, cases[i].normal);
        free(normal);
    }
}

/* --- hostile text takes no quadratic time */

static void test_large(void **state)
{
    static const char *const pieces[] = { "select ",
                                          "(select ",
                                          "SELECT (",
                                          "with a(",
                                          "[\"",
                                          "{\"a\": [",
                                          "<think>",
                                          "\"SELECT ",
                                          "'select ",
                                          "```",
                                          "\n- SELECT a FROM t x y z ",
                                          "1. ",
                                          "</think>",
                                          "[[\"select " };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(pieces); i++) {
        size_t n = strlen(pieces[i]), times = (24 << 10) / n;
        char *text = xcalloc(times + 1, n);
        struct text_items found = { 0 };
        for (size_t k = 0; k < times; k++)
            memcpy(text + k * n, pieces[i], n);
        clock_t begin = clock();
        output_sql(&found, text, false);
        output_interpretations(&found, text, false);
        assert_true(clock() - begin < 5 * CLOCKS_PER_SEC);
        text_items_release(&found);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_corpus),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests_name("output_sql", tests, NULL, NULL);
}
