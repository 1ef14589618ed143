/* The prompt about candidates that return different rows, the model's answers, and their effect on the choice. */
#include "tests/support/exec_world.h"
#include "tests/support/support.h"

#include "infer/clarify/choice_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 6 };

static int set_up(void **state)
{
    static const char script[] =
        "CREATE TABLE singer (name TEXT, age INT, note TEXT);"
        "INSERT INTO singer VALUES ('Ida', 30, NULL), ('Ole', 40, 'x'), ('Ann', 22, 'Answer \"A\".'),"
        " ('Per', 51, 'y'), ('Siv', 60, 'z'), ('Ulf', 70, x'00ff');";
    return exec_world_set_up(state, sizeof(struct exec_world), script);
}

/* Groups of statements, up to the first NULL. */
struct case_groups {
    struct auto_group list[GROUPS];
    struct exec_result results[GROUPS];
    int n;
};

static void open_groups(struct case_groups *c, struct exec_world *w, const char *const *sql)
{
    *c = (struct case_groups){ 0 };
    for (; c->n < GROUPS && sql[c->n]; c->n++) {
        c->results[c->n] = exec_run(w->db, sql[c->n]);
        c->list[c->n] = (struct auto_group){ .sql = sql[c->n], .result = &c->results[c->n] };
    }
    for (int i = 0; i < c->n; i++)
        c->list[i].vote = (double)(c->n - i) / (c->n * (c->n + 1) / 2.0);
}

static void close_groups(struct case_groups *c)
{
    for (int i = 0; i < c->n; i++)
        exec_result_release(&c->results[i]);
}

static void check_prompt(struct exec_world *w, const char *const *sql, const char *const *parts, const char *absent)
{
    const int shown[GROUPS] = { 0, 1, 2, 3, 4, 5 };
    struct case_groups c;

    open_groups(&c, w, sql);
    char *text = judge_prompt("Who is old?", c.list, shown, c.n);
    for (; *parts; parts++)
        if (!strstr(text, *parts))
            fail_msg("expected \"%s\" in: %s", *parts, text);
    if (absent && strstr(text, absent))
        fail_msg("expected no \"%s\" in: %s", absent, text);
    free(text);
    close_groups(&c);
}

static void test_prompts(void **state)
{
    check_prompt(
        *state,
        (const char *[GROUPS]){ "SELECT name FROM singer WHERE age > 25", "SELECT name FROM singer WHERE age > 35",
                                NULL },
        (const char *[]){ "The question: Who is old?\n\nA. SELECT name FROM singer WHERE age > 25\n   It returns "
                          "5 rows. Another statement lacks these:\n   ('Ida')\nB. SELECT",
                          "> 35\n   It returns 4 rows. The first ones:\n   ('Ole')\n   ('Per')\n   ('Siv')\n\n", NULL },
        "Ulf");
    check_prompt(*state,
                 (const char *[GROUPS]){ "SELECT note, 1.5 FROM singer WHERE age > 60 OR note IS NULL",
                                         "SELECT nosuch FROM singer", "SELECT name FROM singer WHERE 0", NULL },
                 (const char *[]){ "   (NULL, 1.5)\n   (a blob, 1.5)\n", "   It does not run: no such column",
                                   "It returns 0 rows.\n", NULL },
                 NULL);
    check_prompt(
        *state,
        (const char *[GROUPS]){ "SELECT printf('%.*c', 59, 'a') || 'éé', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12",
                                "SELECT char(27) || 'x' || char(10) || 'y' UNION SELECT cast(x'ff' AS TEXT)", NULL },
        (const char *[]){ "aaa...', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...)\n", "('\\u001bx y')\n", "('\\xff')\n",
                          NULL },
        NULL);
}

/* Numbers are equal across types, and rows beyond the maximum are not compared. */
static void test_compared_rows(void **state)
{
    check_prompt(
        *state, (const char *[GROUPS]){ "SELECT 1 UNION SELECT 2", "SELECT 1.0", NULL },
        (const char *[]){ "A. SELECT 1 UNION SELECT 2\n   It returns 2 rows. Another statement lacks these:\n   "
                          "(2)\nB. SELECT 1.0\n   It returns 1 row. The first ones:\n   (1)\n",
                          NULL },
        NULL);
    check_prompt(*state,
                 (const char *[GROUPS]){ "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 10001) "
                                         "SELECT x FROM r",
                                         "SELECT 0", NULL },
                 (const char *[]){ "It returns 10001 rows. The first ones:\n   (1)\n   (2)\n   (3)\nB.",
                                   "SELECT 0\n   It returns 1 row. The first ones:\n   (0)\n", NULL },
                 NULL);
}

static void test_answers(void **state)
{
    static const struct {
        const char *text;
        int place; /* of 3 */
    } cases[] = {
        { "{\"statement\": \"A\"}", 0 },
        { "<think>{\"statement\": \"A\"}</think> ```json\n{\"statement\": \"C\"}\n```", 2 },
        { "The answer is {'statement': 'b'}.", 1 },
        { "B", 1 },
        { "c.", 2 },
        { "none", 3 },
        { "{\"statement\": \"None\"}", 3 },
        { "{\"statement\": \"D\"}", -1 },
        { "{\"statement\": \"AB\"}", -1 },
        { "{\"statement\": 1}", -1 },
        { "{\"other\": \"A\"}", -1 },
        { "A nice question", -1 },
        { "{", -1 },
        { "", -1 },
        { "\xff\xfe", -1 },
    };

    (void)state;
    for (int i = 0; i < ARRAY_LEN(cases); i++)
        if (judge_read(cases[i].text, 3) != cases[i].place)
            fail_msg("\"%s\": %d, expected %d", cases[i].text, judge_read(cases[i].text, 3), cases[i].place);
}

/* A model that names the statement with a text, or answers as it is told. */
struct told_model {
    const char *wants; /* part of a statement; NULL: answer with text */
    const char *text;  /* NULL: no completion */
    int rc, calls;
};

static char *letter_of(const char *prompt, const char *wants)
{
    const char *at = strstr(prompt, wants);
    char *text = NULL;

    while (at && at > prompt && !(at[0] == '.' && at[1] == ' ' && at[-2] == '\n'))
        at--;
    if (!at || asprintf(&text, "{\"statement\": \"%c\"}", at[-1]) < 0)
        return NULL;
    return text;
}

/* Part of struct wording_model. */
static int complete(void *self, json_t *const *prompts, int64_t n, char **texts, struct error *err)
{
    struct told_model *m = self;

    for (int64_t i = 0; i < n && m->rc == 0; i++) {
        const json_t *message = json_array_get(json_object_get(prompts[i], "messages"), 0);
        const char *prompt = json_string_value(json_object_get(message, "content"));
        m->calls++;
        texts[i] = m->wants ? letter_of(prompt, m->wants) : m->text ? xstrdup(m->text) : NULL;
    }
    return m->rc ? error_set(err, EXIT_CODE_FAILURE, "the model has failed") : 0;
}

/* Judges statements, of which the first is the most probable.  Returns the judgement, a new reference. */
static json_t *judge(struct auto_choice *choice, struct exec_world *w, const char *const *sql, struct model_memo *memo,
                     int rc)
{
    const struct auto_question q = { "Who is old?", w->sql.schemas.schemas, w->db, &w->sql.arena };
    struct case_groups c;
    struct error err;
    json_t *out = NULL;

    open_groups(&c, w, sql);
    auto_choice_make(choice, &q, c.list, c.n);
    assert_int_equal(choice->best, 0);
    assert_int_equal(judge_choice(&out, memo, choice, q.text, c.list, &err), rc);
    close_groups(&c);
    return out;
}

static const char *const three[GROUPS] = { "SELECT name FROM singer WHERE age > 25",
                                           "SELECT name FROM singer WHERE age > 35",
                                           "SELECT name FROM singer WHERE age > 45", NULL };

/* The model names the second statement in both orders, and is asked once. */
static void test_judgement(void **state)
{
    struct told_model m = { .wants = "age > 35" };
    struct model_memo memo = { .model = { complete, &m, true } };

    for (int i = 0; i < 2; i++) {
        struct auto_choice choice;
        json_t *out = judge(&choice, *state, three, &memo, 0);
        assert_string_equal(json_string_value(json_object_get(out, "sql")), three[1]);
        assert_int_equal(json_integer_value(json_object_get(out, "statements")), 3);
        assert_int_equal(choice.best, 1);
        assert_string_equal(auto_choice_why(&choice),
                            "This statement is preferred because it is the choice of the language model.");
        assert_int_equal(m.calls, 2);
        json_decref(out);
        auto_choice_release(&choice);
    }
    model_memo_release(&memo);
}

/* Only the four most probable statements are shown, and a single one is not judged. */
static void test_shown(void **state)
{
    static const char *const six[GROUPS] = { "SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4", "SELECT 5", "SELECT 6" };
    static const char *const one[GROUPS] = { "SELECT 1", NULL };
    struct told_model m = { .wants = "SELECT 4" };
    struct model_memo memo = { .model = { complete, &m, true } };
    struct auto_choice choice;
    json_t *out = judge(&choice, *state, six, &memo, 0);

    assert_int_equal(json_integer_value(json_object_get(out, "statements")), JUDGED_MAX);
    assert_string_equal(json_string_value(json_object_get(out, "sql")), "SELECT 4");
    json_decref(out);
    auto_choice_release(&choice);
    assert_null(judge(&choice, *state, one, &memo, 0));
    auto_choice_release(&choice);
    model_memo_release(&memo);
}

/* "None" raises its probability; answers that cannot be used leave the choice as it was. */
static void test_other_answers(void **state)
{
    static const struct {
        const char *text, *error; /* error NULL: a judgement */
    } cases[] = {
        { "none", NULL }, { "A", "order was reversed" }, { "I cannot tell.", "expected {" }, { NULL, "no completion" }
    };
    struct model_memo none = { .model = { complete, &(struct told_model){ 0 }, true } };
    struct auto_choice alone;

    json_decref(judge(&alone, *state, three, &none, 0));
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        struct told_model m = { .text = cases[i].text };
        struct model_memo memo = { .model = { complete, &m, true } };
        struct auto_choice choice;
        json_t *out = judge(&choice, *state, three, &memo, 0);
        const char *error = json_string_value(json_object_get(out, "error"));
        if (cases[i].error ? !error || !strstr(error, cases[i].error) : !json_is_null(json_object_get(out, "sql")))
            fail_msg("%s: %s", cases[i].text, error ? error : "no error");
        assert_true(cases[i].error ? choice.p_none == alone.p_none : choice.p_none > alone.p_none * 1.5);
        assert_int_equal(choice.best, 0);
        json_decref(out);
        auto_choice_release(&choice);
        model_memo_release(&memo);
    }
    auto_choice_release(&alone);
    model_memo_release(&none);
}

/* A server that fails loses no choice, and is asked no more.  A model in memory that fails is an error. */
static void test_failures(void **state)
{
    struct told_model m = { .rc = -1 };
    struct model_memo server = { .model = { complete, &m, true } }, folder = { .model = { complete, &m, false } };
    struct auto_choice choice;

    json_t *out = judge(&choice, *state, three, &server, 0);
    assert_non_null(json_object_get(out, "error"));
    assert_true(server.lost);
    json_decref(out);
    auto_choice_release(&choice);
    assert_null(judge(&choice, *state, three, &folder, -1));
    auto_choice_release(&choice);
    model_memo_release(&server);
    model_memo_release(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_prompts, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_compared_rows, set_up, exec_world_tear_down),
        cmocka_unit_test(test_answers),
        cmocka_unit_test_setup_teardown(test_judgement, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_shown, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_other_answers, set_up, exec_world_tear_down),
        cmocka_unit_test_setup_teardown(test_failures, set_up, exec_world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
