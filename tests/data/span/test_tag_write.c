/*
 * A tagger's answer as sentences, a line of JSON, text and a page.
 */
#include "data/span/problem.h"
#include "data/span/tagging.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static const char *points[] = { "3", "5", "a value that goes on and on, so long that nobody wants to read all of it",
                                "7" };
static const struct span_column columns[] = {
    { .table = NULL, .name = "our score", .type = COLUMN_NUMBER, .values = points, .n_values = 4 },
    { .table = NULL, .name = "opponent score", .type = COLUMN_NUMBER },
    { .table = NULL, .name = "the \"final\" score", .type = COLUMN_NUMBER },
    { .table = NULL, .name = "<b>&'", .type = COLUMN_TEXT },
};
static const struct span_column shop[] = {
    { .table = "airport", .name = "city", .type = COLUMN_TEXT },
    { .table = "person", .name = "town", .type = COLUMN_TEXT, .sql_table = "Person", .sql_name = "home_city" },
};

static struct tag_concept scores[] = { { TAG_COLUMN, 0, NULL, 0.9 },
                                       { TAG_COLUMN, 1, NULL, 0.875 },
                                       { TAG_COLUMN, 2, NULL, 0.5 },
                                       { TAG_COLUMN, 3, NULL, 0.25 } };
static struct tag_concept cities[] = { { TAG_VALUE, 0, "Austin", 1 },
                                       { TAG_VALUE, 1, "Austin", 1 },
                                       { TAG_TABLE, 1, NULL, 0.5 } };

static struct tag_span ambiguous(int start, int end, struct tag_concept *list, int n)
{
    return (struct tag_span){
        .start = start, .end = end, .label = SPAN_AMB, .probability = 0.75, .alternatives = list, .n_alternatives = n
    };
}

static struct tag_span unknown(int start, int end, struct tag_concept *list, int n)
{
    return (struct tag_span){
        .start = start, .end = end, .label = SPAN_UNK, .probability = 0.5, .nearest = list, .n_nearest = n
    };
}

static void check_sentence(const struct tag_question *q, struct tag_span *spans, int n, const char *wanted)
{
    struct tag_answer a = { .spans = spans, .n_spans = n };
    char *sentence = tag_sentence(q, &a);

    assert_string_equal(sentence, wanted);
    free(sentence);
}

static void test_sentences(void **state)
{
    (void)state;
    struct tag_question q = { .question = "Which \"scor\xc3\xa9\" and salary?", .columns = columns, .n_columns = 4 };
    struct tag_span two[] = { ambiguous(7, 12, scores, 2), unknown(18, 24, NULL, 0) };

    check_sentence(&q, NULL, 0, "Nothing ambiguous or unanswerable was found.");
    check_sentence(&q, (struct tag_span[]){ ambiguous(7, 12, scores, 1) }, 1,
                   "Oops, this question has multiple semantic meanings: \"scor\xc3\xa9\" may refer to \"our score\".");
    check_sentence(
        &q, two, 1,
        "Oops, this question has multiple semantic meanings: \"scor\xc3\xa9\" may refer to either \"our score\" or \"opponent "
        "score\".");
    check_sentence(
        &q, (struct tag_span[]){ ambiguous(6, 13, scores, 3) }, 1,
        "Oops, this question has multiple semantic meanings: \"\"\"scor\xc3\xa9\"\"\" may refer to either \"our score\", "
        "\"opponent score\" or \"the \"\"final\"\" score\".");
    check_sentence(
        &q, two, 2,
        "Oops, this question has multiple semantic meanings: \"scor\xc3\xa9\" may refer to either \"our score\" or \"opponent "
        "score\". Sorry, we can't find an answer: \"salary\" cannot be mapped to any concept of the table.");
    check_sentence(
        &q, (struct tag_span[]){ unknown(7, 12, scores, 2), unknown(18, 24, NULL, 0) }, 2,
        "Sorry, we can't find an answer: \"scor\xc3\xa9\" cannot be mapped to any concept of the table (closest: \"our "
        "score\", \"opponent score\"); \"salary\" cannot be mapped to any concept of the table.");
    q = (struct tag_question){ .question = "people in Austin", .columns = shop, .n_columns = 2 };
    check_sentence(
        &q, (struct tag_span[]){ ambiguous(10, 16, cities, 3) }, 1,
        "Oops, this question has multiple semantic meanings: \"Austin\" may refer to either \"Austin\" of \"airport.city\", "
        "\"Austin\" of \"Person.home_city\" or \"Person\".");
    check_sentence(
        &q, (struct tag_span[]){ unknown(0, 6, cities + 2, 1) }, 1,
        "Sorry, we can't find an answer: \"people\" cannot be mapped to any concept of the database (closest: \"Person\").");
}

/* The sentences of appendix A.3, with the reason for the categories that no column or value decides. */
static void test_categories(void **state)
{
    (void)state;
    const struct tag_question q = { .question = "Show the score growth and draw a pie chart.",
                                    .columns = columns,
                                    .n_columns = 4 };

    check_sentence(&q, (struct tag_span[]){ unknown(9, 21, scores, 1) }, 1,
                   "Sorry, we can't find an answer: \"score growth\" cannot be mapped to any concept of the table (a "
                   "calculation that is not defined; closest: \"our score\").");
    check_sentence(&q, (struct tag_span[]){ unknown(9, 21, NULL, 0) }, 1,
                   "Sorry, we can't find an answer: \"score growth\" cannot be mapped to any concept of the table (a "
                   "calculation that is not defined).");
    check_sentence(&q, (struct tag_span[]){ unknown(26, 42, scores, 2) }, 1,
                   "Sorry, we can't find an answer: \"draw a pie chart\" cannot be mapped to any concept of the table "
                   "(more than an SQL query can do).");
}

/* The category of the only span of an answer, as its line has it. */
static void check_category(const struct tag_question *q, struct tag_span *span, const char *wanted)
{
    json_t *line = tag_json(NULL, NULL, q, &(struct tag_answer){ .spans = span, .n_spans = 1 });
    const json_t *category = json_object_get(json_array_get(json_object_get(line, "spans"), 0), "category");

    assert_string_equal(json_string_value(category) ? json_string_value(category) : "none", wanted);
    json_decref(line);
}

static void test_category_of_words(void **state)
{
    (void)state;
    struct tag_question q = { .question = "Salary in Austin, 2004 and 'y' or profit margin",
                              .columns = shop,
                              .n_columns = 2 };
    struct tag_span named = { .end = 6, .label = SPAN_COL, .alternatives = cities + 2, .n_alternatives = 1 };

    check_category(&q, (struct tag_span[]){ unknown(0, 6, NULL, 0) }, "column-unanswerable");
    check_category(&q, (struct tag_span[]){ unknown(10, 16, NULL, 0) }, "value-unanswerable");
    check_category(&q, (struct tag_span[]){ unknown(18, 22, NULL, 0) }, "value-unanswerable");
    check_category(&q, (struct tag_span[]){ unknown(27, 30, NULL, 0) }, "value-unanswerable");
    check_category(&q, (struct tag_span[]){ unknown(34, 47, NULL, 0) }, "calculation-unanswerable");
    check_category(&q, (struct tag_span[]){ ambiguous(10, 16, cities, 2) }, "value-ambiguity");
    check_category(&q, (struct tag_span[]){ ambiguous(10, 16, cities, 3) }, "column-ambiguity");
    check_category(&q, &named, "none");
}

/* The lists of the generator are known to the sentences. */
static void test_lists(void **state)
{
    (void)state;
    for (int i = 0; i < PROBLEM_REQUESTS; i++)
        assert_int_equal(problem_of_unanswerable(problem_requests[i], strlen(problem_requests[i]), false),
                         PROBLEM_OUT_OF_SCOPE);
    for (int i = 0; i < PROBLEM_QUANTITIES; i++)
        assert_int_equal(problem_of_unanswerable(problem_quantities[i], strlen(problem_quantities[i]), false),
                         PROBLEM_CALCULATION);
}

static const struct tag_question asked = { .question = "sc\xc3\xb6re <i> \x1b[2J", .columns = columns, .n_columns = 4 };

/* Of one AMB and one UNK span, with heat. */
static json_t *make_line(void)
{
    struct tag_span spans[] = { ambiguous(0, 5, scores, 4), unknown(6, 9, scores + 3, 1) };
    struct tag_heat heat[] = { { 0, 5, 0.5 }, { 6, 9, 1 } };
    struct tag_answer a = { .spans = spans, .heat = heat, .n_spans = 2, .n_heat = 2 };
    json_t *id = json_string("a\"<1>"), *line = tag_json(id, "db", &asked, &a);

    json_decref(id);
    assert_non_null(line);
    return line;
}

static void test_line(void **state)
{
    (void)state;
    json_t *line = make_line();
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));

    assert_string_equal(
        text,
        "{\"id\":\"a\\\"<1>\",\"db_id\":\"db\",\"question\":\"sc\xc3\xb6re <i> \\u001B[2J\",\"status\":[\"ambiguous\","
        "\"unanswerable\"],\"problem\":0.75,\"spans\":[{\"start\":0,\"end\":5,\"text\":\"sc\xc3\xb6re\",\"label\":\"AMB\","
        "\"probability\":0.75,\"alternatives\":[{\"concept\":\"our score\",\"type\":\"column\",\"score\":0.9,"
        "\"values\":[\"3\",\"5\",\"a value that goes on and on, so long that nobody wants to re...\"]},{\"concept\":\"opponent "
        "score\",\"type\":\"column\",\"score\":0.875,\"values\":[]},{\"concept\":\"the \\\"final\\\" "
        "score\",\"type\":\"column\",\"score\":0.5,\"values\":[]},{\"concept\":\"<b>&'\",\"type\":\"column\",\"score\":0.25,"
        "\"values\":[]}],\"nearest\":[],\"category\":\"column-ambiguity\"},{\"start\":6,\"end\":9,\"text\":\"<i>\",\"label\":\"UNK\",\"probability\":0.5,"
        "\"alternatives\":[],\"nearest\":[{\"concept\":\"<b>&'\",\"type\":\"column\",\"score\":0.25,\"values\":[]}],"
        "\"category\":\"column-unanswerable\"}],\"sentence\":\"Oops, this question has multiple semantic meanings: \\\"sc\xc3\xb6re\\\" may refer to either \\\"our score\\\", "
        "\\\"opponent score\\\", \\\"the \\\"\\\"final\\\"\\\" score\\\" or \\\"<b>&'\\\". Sorry, we can't find an answer: \\\"<i>\\\" "
        "cannot be mapped to any concept of the table (closest: \\\"<b>&'\\\").\",\"triage\":{\"class\":\"unanswerable\",\"kind\":\"column\","
        "\"words\":[{\"text\":\"<i>\",\"start\":6,\"end\":9,\"reason\":\"column\"}],\"sentence\":\"Oops, this question has "
        "multiple semantic meanings: \\\"sc\xc3\xb6re\\\" may refer to either \\\"our score\\\", \\\"opponent score\\\", "
        "\\\"the \\\"\\\"final\\\"\\\" score\\\" or \\\"<b>&'\\\". Sorry, we can't find an answer: \\\"<i>\\\" cannot be "
        "mapped to any concept of the table (closest: \\\"<b>&'\\\").\"},\"heat\":[{\"start\":0,\"end\":5,"
        "\"score\":0.5},{\"start\":6,\"end\":9,\"score\":1.0}]}");
    free(text);
    json_decref(line);
}

/* The problem score and the word weights precede the spans; an answer without them omits both. */
static void test_problem(void **state)
{
    (void)state;
    struct tag_span named = {
        .start = 0, .end = 5, .label = SPAN_COL, .probability = 1, .alternatives = scores, .n_alternatives = 1
    };
    struct tag_answer a = { .spans = &named, .n_spans = 1 };

    for (int i = 0; i < 2; i++) {
        a.problem = 0.25 * i;
        json_t *line = tag_json(NULL, NULL, &asked, &a);
        assert_true(json_real_value(json_object_get(line, "problem")) == 0.25 * i);
        assert_int_equal(json_array_size(json_object_get(line, "status")), 0);
        assert_string_equal(json_string_value(json_object_get(json_object_get(line, "triage"), "class")), "answerable");
        assert_string_equal(json_string_value(json_object_get(json_object_get(line, "triage"), "kind")), "answerable");
        assert_null(json_object_get(line, "id"));
        assert_null(json_object_get(line, "heat"));
        json_decref(line);
    }
}

static void check_kind(const struct tag_question *q, struct tag_span *spans, int n, const char *class, const char *kind)
{
    const struct tag_answer a = { .spans = spans, .n_spans = n };
    json_t *line = tag_json(NULL, NULL, q, &a);
    const json_t *triage = json_object_get(line, "triage");

    assert_string_equal(json_string_value(json_object_get(triage, "class")), class);
    assert_string_equal(json_string_value(json_object_get(triage, "kind")), kind);
    json_decref(line);
}

/* The first ambiguous words give the kind, unless there are unanswerable ones. */
static void test_kinds(void **state)
{
    (void)state;
    struct tag_question q = { .question = "score Austin 7 growth and draw a pie chart",
                              .columns = columns,
                              .n_columns = 4 };
    struct tag_span spans[] = { ambiguous(0, 5, scores, 2), ambiguous(6, 12, cities, 2), unknown(13, 14, NULL, 0) };
    struct tag_span growth = unknown(15, 21, NULL, 0), chart = unknown(26, 42, NULL, 0);

    check_kind(&q, spans, 2, "ambiguous", "schema");
    check_kind(&q, spans + 1, 1, "ambiguous", "value");
    check_kind(&q, spans, 3, "unanswerable", "value");
    check_kind(&q, &growth, 1, "unanswerable", "column");
    check_kind(&q, &chart, 1, "unanswerable", "request");
}

static void test_bad_names(void **state)
{
    (void)state;
    const struct span_column bad = { .name = "\xff", .type = COLUMN_TEXT };
    struct tag_question q = { .question = "score", .columns = &bad, .n_columns = 1 };
    struct tag_concept one = { TAG_COLUMN, 0, NULL, 1 };
    struct tag_span span = { .end = 5, .label = SPAN_COL, .alternatives = &one, .n_alternatives = 1 };

    assert_null(tag_json(NULL, NULL, &q, &(struct tag_answer){ .spans = &span, .n_spans = 1 }));
}

static char *printed(void (*print)(FILE *out, const json_t *line), const json_t *line)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    print(out, line);
    fclose(out);
    return text;
}

static void test_text(void **state)
{
    (void)state;
    json_t *line = make_line(), *wrong = json_pack("{s:i, s:s}", "id", 1, "error", "no \x1b[31mschema");
    char *text = printed(tag_print_text, line), *error = printed(tag_print_text, wrong);

    assert_string_equal(
        text,
        "[sc\xc3\xb6re|AMB] [<i>|UNK] \\u001b[2J\n    Oops, this question has multiple semantic meanings: \"sc\xc3\xb6re\" may refer to "
        "either \"our score\", \"opponent score\", \"the \"\"final\"\" score\" or \"<b>&'\". Sorry, we can't "
        "find an answer: \"<i>\" cannot be mapped to any concept of the table (closest: \"<b>&'\").\n"
        "      sc\xc3\xb6re, AMB, 75 %\n        our score: 3, 5, a value that goes on and on, so long that "
        "nobody wants to re...\n        opponent score\n        the \"final\" score\n        <b>&'\n"
        "      <i>, UNK, 50 %\n\n");
    assert_string_equal(error, "error: no \\u001b[31mschema\n\n");
    free(text);
    free(error);
    json_decref(line);
    json_decref(wrong);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in %s", part, text);
}

static void test_page(void **state)
{
    (void)state;
    json_t *line = make_line(), *wrong = json_pack("{s:i, s:s}", "id", 1, "error", "no <schema>");
    char *text = printed(tag_print_html, line), *error = printed(tag_print_html, wrong);

    assert_has(text, "<p class=\"id\">a&quot;&lt;1&gt; in db</p>");
    assert_has(text,
               "<span class=\"AMB\" style=\"background:rgba(255,80,0,0.300)\">sc\xc3\xb6re</span><span class=\"\"> "
               "</span><span class=\"UNK\" style=\"background:rgba(255,80,0,0.600)\">&lt;i&gt;</span><span "
               "class=\"\"> \xef\xbf\xbd[2J</span>");
    assert_has(text, "<td>&lt;b&gt;&amp;&#39;</td><td>0.25</td>");
    assert_has(text, "<td>closest: &lt;b&gt;");
    assert_has(error, "<p class=\"error\">no &lt;schema&gt;</p>");
    assert_null(strstr(text, "<b>"));
    free(text);
    free(error);
    json_decref(line);
    json_decref(wrong);
}

static void assert_heat(double first, double second, const char *a, const char *b)
{
    json_t *line = json_pack("{s:s, s:[], s:[{s:i, s:i, s:f}, {s:i, s:i, s:f}]}", "question", "ab", "spans", "heat",
                             "start", 0, "end", 1, "score", first, "start", 1, "end", 2, "score", second);
    char *text = printed(tag_print_html, line);

    assert_has(text, a);
    assert_has(text, b);
    free(text);
    json_decref(line);
}

/* The greatest score of a question is the reddest, unless it is next to nothing. */
static void test_heat(void **state)
{
    (void)state;
    assert_heat(0.02, 0.2, "rgba(255,80,0,0.060)\">a", "rgba(255,80,0,0.600)\">b");
    assert_heat(0.02, 0, "rgba(255,80,0,0.240)\">a", "rgba(255,80,0,0.000)\">b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_categories), cmocka_unit_test(test_category_of_words),
        cmocka_unit_test(test_lists),     cmocka_unit_test(test_line),       cmocka_unit_test(test_problem),
        cmocka_unit_test(test_bad_names), cmocka_unit_test(test_text),       cmocka_unit_test(test_page),
        cmocka_unit_test(test_heat),      cmocka_unit_test(test_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
