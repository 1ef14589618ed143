#include "data/prompt/model_output.h"
#include "tests/support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void parse(struct text_items *out, const char *answer, bool published);

struct parse_case {
    const char *answer;
    const char *ours, *published; /* items with | between; NULL: none */
};

static void check(parse *function, const char *answer, bool published, const char *wanted)
{
    struct text_items found = { 0 };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    function(&found, answer, published);
    for (int i = 0; i < found.n; i++)
        fprintf(f, "%s%s", i ? "|" : "", found.items[i]);
    fclose(f);
    if (strcmp(text, wanted ? wanted : "") != 0 || (found.n == 0) != (wanted == NULL))
        fail_msg("%s\n(%s): %d items: %s\nexpected: %s", answer, published ? "published" : "ours", found.n, text,
                 wanted ? wanted : "none");
    text_items_release(&found);
    free(text);
}

static void check_all(parse *function, const struct parse_case *cases, int n)
{
    for (int i = 0; i < n; i++) {
        check(function, cases[i].answer, false, cases[i].ours);
        check(function, cases[i].answer, true, cases[i].published);
    }
}

static void test_interpretations(void **state)
{
    static const struct parse_case cases[] = {
        { "", NULL, NULL },
        { "\n \n", NULL, NULL },
        { "one", "one", "one" },
        { "Here are the readings:\n1. one\n2. two\n\n3. one\n", "one|two", "Here are the readings:|one|two" },
        { "- one\n\xe2\x80\xa2 two\n12.three", "one|two|three", "one|two|three" },
        { "* one\n2) two", "one|two", "* one|2) two" },
        { "1990 was a year\n-", "1990 was a year", "1990 was a year|" },
        { "assistant: Here are the interpretations:\n\none\r\ntwo", "one|two", "one|two" },
        { "ASSISTANT:one\nsystem: two", "one|system: two", "one|system: two" },
        { "Some:\n```\n1. one\n```\nand\n```text\ntwo\n```\nend", "one|two", "one|two" },
        { "```one\ntwo```", "two", "two" },
        { "```one two```", "one two", "one two" },
        { "``` ```\nleft", "left", NULL },
        { "``` never closed\none", "never closed|one", "``` never closed|one" },
    };
    (void)state;
    check_all(output_interpretations, cases, ARRAY_LEN(cases));
}

/* Lists as chat models write them, each of the same two readings. */
static const char *const lists[] = {
    "<think>\nnames\n1. fee?\n</think>\n- A name?\n- An age?",
    "names?\n</think>\nA name?\nAn age?",
    "Sure! Here they are:\n\n1. A name?\n2. An age?\n\nLet me know which one you meant.",
    "[\"A name?\", \"An age?\"]",
    "```json\n{\"interpretations\": [\"A name?\", \"An age?\",]}\n```",
    "{\"readings\": [{\"text\": \"A name?\", \"sql\": \"SELECT 1\"}, {\"text\": \"An age?\"}]}",
    "{\"1\": \"A name?\", \"2\": \"An age?\"}",
    "['A name?', 'An age?']",
    "[\"A name?\", \"An age?\", \"Or a f",
    "**1.** A name?\n**2.** An age?",
    "1. **A name?**\n2. \"An age?\"",
    "Interpretation 1: A name?\nInterpretation 2: An age?",
    "### Interpretation 1\nA name?\n### Interpretation 2\nAn age?",
    "1) A name?\r\n2) An age?\r\n",
    "(1) A name?\n(2) An age?",
    "a) A name?\nb) An age?",
    "1. A\n   name?\n2. An age?",
    "1. A name?\n   - of a singer\n2. An age?\n   - of one too",
    "1. About singers:\n   - A name?\n   - An age?",
    "<answer>\nA name?\nAn age?\n</answer>",
    "Here are the readings.\nA name?\nAn age?",
    "  1. A name?\n  2. An age?",
    "a. A name?\nb. An age?",
    "II. A name?\nIII. An age?",
    "I) A name?\nII) An age?",
    "Q1: A name?\nQ2: An age?",
    "#1: A name?\n#2: An age?",
    "Reading A: A name?\nReading B: An age?",
    "- Interpretation 1: A name?\n- Interpretation 2: An age?",
    "- **Interpretation 1**: A name?\n- **Interpretation 2**: An age?",
    "[1] A name?\n[2] An age?",
    "1 - A name?\n2 - An age?",
    "- [ ] A name?\n- [x] An age?",
    "> 1. A name?\n> 2. An age?",
    ("\xef\xbb\xbf"
     "1. A name?\n2.\xc2\xa0"
     "An age?"),
    ("1\xe3\x80\x81"
     "A name?\n2\xe3\x80\x81"
     "An age?"),
    ("\xef\xbc\x88"
     "1\xef\xbc\x89"
     "A name?\n\xef\xbc\x88"
     "2\xef\xbc\x89"
     "An age?"),
    ("\xe4\xb8\x80\xe3\x80\x81"
     "A name?\n\xe4\xba\x8c\xe3\x80\x81"
     "An age?"),
    "\xe2\x91\xa0 A name?\n\xe2\x91\xa1 An age?",
    "\xe2\x97\x8f A name?\n\xe2\x97\x8f An age?",
    "\xe2\x80\x93 A name?\n\xe2\x80\x93 An age?",
    "<ol>\n<li>A name?</li>\n<li>An age?</li>\n</ol>",
    "1. A name?\n2. An age?<|im_end|>",
    "1. A name?\n2. An age?</s>",
    "{\"question\": \"A name?\"}\n{\"question\": \"An age?\"}",
    "readings = [\"A name?\", \"An age?\"]",
    ("*A name?*\n\xe2\x80\x9c"
     "An age?\xe2\x80\x9d"),
};

static void test_lists(void **state)
{
    (void)state;
    for (int i = 0; i < ARRAY_LEN(lists); i++)
        check(output_interpretations, lists[i], false, "A name?|An age?");
    check(output_interpretations, "<think>1. A name?", false, NULL);
    check(output_interpretations, "[]", false, NULL);
    check(output_interpretations, "{\"a\": \"A name?\", \"b\": [1]}", false, NULL);
    check(output_interpretations, "[{\"description\": \"A name?\"}, {\"description\": \"An age?\"}]", false,
          "A name?|An age?");
    check(output_infilled, "<think>1. A name?</think>All possible interpretations are covered.", false, NULL);
}

static void test_reasons(void **state)
{
    (void)state;
    assert_string_equal(output_lacks("<think>SELECT 1", "statement"),
                        "the answer breaks off in its thought and holds no statement");
    assert_string_equal(output_lacks(" \n", "statement"), "the answer is empty and holds no statement");
    assert_string_equal(output_lacks("<think></think>", "statement"), "the answer is empty and holds no statement");
    assert_string_equal(output_lacks("none", "statement"), "the answer holds no statement");
    assert_true(output_says_covered("<think>hm</think> \"All possible interpretations are covered\""));
    assert_false(output_says_covered("<think>All possible interpretations are covered"));
    assert_false(output_says_covered("A name?"));
}

static void test_infilled(void **state)
{
    static const struct parse_case cases[] = {
        { "All possible interpretations are covered", NULL, NULL },
        { "All possible interpretations are covered.\n", NULL, "" },
        { "\"ALL POSSIBLE INTERPRETATIONS ARE COVERED.\"", NULL, "\"ALL POSSIBLE INTERPRETATIONS ARE COVERED.\"" },
        { "", NULL, "" },
        { "one\n\ntwo", "one|two", "one||two" },
        { " one \n1. one\nMissing ones:\ntwo", "one", " one |1. one|Missing ones:|two" },
        { "one\nall possible interpretations are covered, then", "one", "one" },
    };
    (void)state;
    check_all(output_infilled, cases, ARRAY_LEN(cases));
}

/* Reviews of candidates: the list, and whether all candidates stay. */
static void test_reviewed(void **state)
{
    static const struct {
        const char *answer, *list;
        bool all;
    } cases[] = {
        { "1. A name?\n2. An age?", "A name?|An age?", false },
        { "Correct interpretations:\n- A name?\n\nMissing interpretations:\n- An age?", "A name?|An age?", false },
        { "A name?\nNo other interpretations exist.", "A name?", false },
        { "- A name?\n- None", "A name?", false },
        { "All candidate interpretations are correct.", "", true },
        { "All possible interpretations are covered.", "", true },
        { "None of the candidate interpretations is correct.", "", false },
        { "None.", "", false },
        { "", "", false },
        { "Which interpretation fees are there?", "Which interpretation fees are there?", false },
    };
    (void)state;

    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct text_items found = { 0 };
        char list[200] = "";
        assert_int_equal(output_reviewed(&found, cases[i].answer, false), cases[i].all);
        for (int k = 0; k < found.n; k++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", k ? "|" : "", found.items[k]);
        assert_string_equal(list, cases[i].list);
        text_items_release(&found);
    }
    struct text_items found = { 0 };
    assert_false(output_reviewed(&found, "All candidate interpretations are correct.", true));
    assert_int_equal(found.n, 1);
    text_items_release(&found);
}

static void test_sql(void **state)
{
    static const struct parse_case cases[] = {
        { "", NULL, NULL },
        { "I cannot say.", NULL, NULL },
        { "SELECT a FROM t", "SELECT a FROM t", "SELECT a FROM t" },
        { "SQL query(s): assistant\n\nselect 1;", "select 1", "select 1" },
        { "SELECT a\nFROM t;\nSELECT b\nFROM t", "SELECT a\nFROM t|SELECT b\nFROM t",
          "SELECT a\nFROM t|SELECT b\nFROM t" },
        { "SELECT a FROM t\n\nSELECT b FROM t\n\nSELECT a FROM t", "SELECT a FROM t|SELECT b FROM t",
          "SELECT a FROM t|SELECT b FROM t" },
        { "WITH x AS (SELECT 1) SELECT * FROM x;", "WITH x AS (SELECT 1) SELECT * FROM x", NULL },
        { "SELECT a FROM t WHERE b = 'x;y\\z';", "SELECT a FROM t WHERE b = 'x;y\\z'", "SELECT a FROM t WHERE b = 'x" },
        { "Sure:\n```sql\nSELECT a\n```\nor\n```sqlite SELECT b```", "SELECT a|SELECT b", "SELECT a\n|SELECT b" },
        { "```SELECT a FROM t```", "SELECT a FROM t", NULL },
        { "The answer:\n\nSELECT a FROM t;\n\nIt counts.", "SELECT a FROM t", "SELECT a FROM t" },
        { "DELETE FROM t;", NULL, NULL },
    };
    (void)state;
    check_all(output_sql, cases, ARRAY_LEN(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpretations), cmocka_unit_test(test_lists),    cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_infilled),        cmocka_unit_test(test_reviewed), cmocka_unit_test(test_sql),
    };
    return cmocka_run_group_tests_name("model_output", tests, NULL, NULL);
}
