/* The heuristic tagger: its marks, its thresholds, and the search for them. */
#include "data/span/heuristic.h"
#include "data/span/span_count.h"
#include "data/span/tag_source.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct heuristic usual = HEURISTIC_DEFAULT;
static const char *cities[] = { "Boston", "New York" }, *teams[] = { "Boston", "Leeds United" }, *years[] = { "2008" };
static const struct span_column game[] = {
    { .name = "our score", .type = COLUMN_NUMBER },
    { .name = "opponent score", .type = COLUMN_NUMBER },
    { .name = "city", .type = COLUMN_TEXT, .values = cities, .n_values = 2 },
    { .name = "team", .type = COLUMN_TEXT, .values = teams, .n_values = 2 },
    { .name = "year", .type = COLUMN_NUMBER, .values = years, .n_values = 1 },
};
static const struct span_column shop[] = {
    { .table = "customer", .name = "name", .type = COLUMN_TEXT },
    { .table = "product", .name = "name", .type = COLUMN_TEXT },
};

static const struct span_column price[] = {
    { .name = "\u0446\u0435\u043d\u0430", .type = COLUMN_NUMBER }, /* price, in Russian */
    { .name = "Gr\u00f6\u00dfe", .type = COLUMN_TEXT },
};

static char *tagged(const struct heuristic *h, const struct span_column *columns, int n, const char *question)
{
    struct tag_source source;
    struct tag_matches values;
    struct tag_answer a;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    tag_source_of(&source, columns, n);
    struct tag_question q = tag_source_ask(&source, question, &values);
    heuristic_tag(&a, h, &q);
    for (int i = 0; i < a.n_spans; i++) {
        const struct tag_span *s = &a.spans[i];
        fprintf(out, "%s@%d-%d", span_label_name(s->label), s->start, s->end);
        for (int k = 0; k < s->n_alternatives; k++)
            fprintf(out, "%s%d%s%s", k ? "|" : ":", s->alternatives[k].column, s->alternatives[k].value ? "=" : "",
                    s->alternatives[k].value ? s->alternatives[k].value : "");
        fputc(' ', out);
    }
    fclose(out);
    tag_answer_release(&a);
    tag_matches_release(&values);
    tag_source_close(&source);
    return text;
}

static void check(const struct span_column *columns, int n, const char *question, const char *wanted)
{
    char *text = tagged(&usual, columns, n, question);

    assert_string_equal(text, wanted);
    free(text);
}

static void test_marks(void **state)
{
    (void)state;
    check(game, 5, "What was our score in New York?", "COL@9-18:0 VAL@22-30:2=New York ");
    check(game, 5, "What was the score in Boston?", "AMB@13-18:1|0 AMB@22-28:2=Boston|3=Boston ");
    check(game, 5, "Which teams played in 2008?", "COL@6-11:3 VAL@22-26:4=2008 ");
    check(game, 5, "Which teams played in 2009?", "COL@6-11:3 ");
    check(game, 5, "Which team has the largest stadium?", "COL@6-10:3 UNK@27-34 ");
    check(game, 5, "How many fans watched in the cty?", "UNK@9-13 COL@29-32:2 ");
    check(game, 5, "the big team", "COL@8-12:3 ");
    check(game, 5, "", "");
    check(game, 5, "?!", "");
    check(shop, 2, "Show the names", "AMB@9-14:0|1 ");
    check(shop, 2, "Show the names of products", "COL@9-14:1 ");
    check(shop, 2, "Show the names of bananas", "AMB@9-14:0|1 UNK@18-25 ");
    check(game, 5, "Boston's city", "AMB@0-6:2=Boston|3=Boston COL@9-13:2 ");
    check(game, 5, "the team Boston\u2019s city\u2014\u201cour score\u201d\u00a0?",
          "COL@4-8:3 VAL@9-15:3=Boston COL@18-22:2 COL@24-33:0 ");
    check(game, 5, "the team in 2008\uff1f", "COL@4-8:3 VAL@12-16:4=2008 ");
    check(game, 5, "the citi team\uff1f", "COL@9-13:3 ");
    check(game, 5, "Which stadium has the score?", "UNK@6-13 AMB@22-27:1|0 ");
    check(price, 2, "\u0426\u0415\u041d\u0410 \u0442\u043e\u0432\u0430\u0440\u0430", "COL@0-4:0 ");
    check(price, 2, "GRO\u0308SSE", "COL@0-7:1 ");
}

static void test_likeness(void **state)
{
    (void)state;
    assert_true(heuristic_likeness("dates", "Date") == 1);
    assert_true(heuristic_likeness("birth date", "date of birth") == 1);
    assert_true(heuristic_likeness("score", "opponent score") == 0.9);
    assert_true(heuristic_likeness("opponent", "opponent score") < 0.9);
    assert_true(heuristic_likeness("scre", "score") > 0.85);
    assert_true(heuristic_likeness("x", "") < 0.5);
}

static void test_thresholds(void **state)
{
    (void)state;
    struct heuristic h = usual;
    char *text;

    h.unknown = 0;
    text = tagged(&h, game, 5, "Which team has the largest stadium?");
    assert_string_equal(text, "COL@6-10:3 ");
    free(text);
    h.name = 1;
    text = tagged(&h, game, 5, "the score and the team");
    assert_string_equal(text, "COL@18-22:3 ");
    free(text);
    h = usual;
    h.margin = 0.5;
    text = tagged(&h, game, 5, "our score");
    assert_string_equal(text, "AMB@0-9:0|1 ");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_likeness),
        cmocka_unit_test(test_thresholds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
