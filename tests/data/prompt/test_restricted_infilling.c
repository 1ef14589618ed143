/* LogicalBeam's published rules against a second writing of them, replayed on stored scores. */
#include "tests/support/infilling_gold.h"
#include "tests/support/support.h"

#include "data/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A case that runs, and the step that it is at. */
struct replay {
    const struct infilling_case *c;
    size_t step;
};

static const char *decision_name(enum infilling_decision d)
{
    static const char *const names[] = { "KILL", "FORCE", "BRANCH", "LEAVE" };
    return names[d];
}

static void assert_score(double got, double wanted, const struct infilling_case *c, const char *what)
{
    if (fabs(got - wanted) > 2e-6 * fmax(1, fabs(wanted)))
        fail_msg("%s: %s %.7f, not %.7f", c->name, what, got, wanted);
}

static void compare_step(void *user, const enum infilling_decision *decisions, int n_decisions,
                         const int32_t *const *beams, const double *sums, int n_beams)
{
    struct replay *r = user;
    const json_t *step = json_array_get(r->c->steps, r->step++), *wanted = json_object_get(step, "decisions");

    if (json_array_size(wanted) != (size_t)n_decisions)
        fail_msg("%s: step %zu decides on %d beams", r->c->name, r->step, n_decisions);
    for (int i = 0; i < n_decisions; i++)
        if (strcmp(json_string_value(json_array_get(wanted, (size_t)i)), decision_name(decisions[i])) != 0)
            fail_msg("%s: step %zu, beam %d: %s", r->c->name, r->step, i, decision_name(decisions[i]));
    wanted = json_object_get(step, "beams");
    assert_int_equal(json_array_size(wanted), n_beams);
    for (int i = 0; i < n_beams; i++) {
        const json_t *beam = json_array_get(wanted, (size_t)i);
        int32_t newest = beams[i][r->step];
        if (newest != (int32_t)json_integer_value(json_array_get(beam, 0)))
            fail_msg("%s: step %zu, beam %d: token %d", r->c->name, r->step, i, newest);
        assert_score(sums[i], json_number_value(json_array_get(beam, 1)), r->c, "a beam's sum");
    }
}

static int replay_scores(void *user, double *rows, const int32_t *const *beams, int n, int length)
{
    return infilling_gold_scores((void *)(uintptr_t)((struct replay *)user)->c, rows, beams, n, length);
}

static char *replay_decode(void *user, const int32_t *ids, int n)
{
    return infilling_gold_decode((void *)(uintptr_t)((struct replay *)user)->c, ids, n);
}

static void compare_answers(const struct infilling_case *c, const struct infilling_answer *answers, int n,
                            const struct infilling_rules *rules)
{
    struct strings kept = { 0 };

    assert_int_equal(n, json_array_size(c->answers));
    for (int i = 0; i < n; i++) {
        const json_t *wanted = json_array_get(c->answers, (size_t)i), *ids = json_object_get(wanted, "ids");
        assert_int_equal(answers[i].n, json_array_size(ids));
        for (int k = 0; k < answers[i].n; k++)
            assert_int_equal(answers[i].ids[k], json_integer_value(json_array_get(ids, (size_t)k)));
        assert_score(answers[i].score, json_number_value(json_object_get(wanted, "score")), c, "an answer's score");
        char *text = infilling_gold_decode((void *)(uintptr_t)c, answers[i].ids, answers[i].n);
        assert_string_equal(text, json_string_value(json_object_get(wanted, "text")));
        char *sql = infilling_statement(rules, text);
        if (sql)
            strings_add(&kept, sql);
        free(sql);
        free(text);
    }
    if ((size_t)kept.n != json_array_size(c->kept))
        fail_msg("%s: %d answers are kept", c->name, kept.n);
    for (int i = 0; i < kept.n; i++)
        assert_string_equal(kept.items[i], json_string_value(json_array_get(c->kept, (size_t)i)));
    strings_release(&kept);
}

static void run_case(const struct infilling_case *c)
{
    struct infilling_ids whitelist = { 0 };
    struct infilling_answer *answers;
    struct template_names names;
    struct replay r = { .c = c };
    struct error err = { 0 };

    assert_int_equal(template_names_of_text(&names, c->schema, &err), 0);
    assert_int_equal(infilling_whitelist(&whitelist, c->schema, c->branch_columns, c->branch_tables,
                                         infilling_gold_encode, (void *)(uintptr_t)c->gold, &err),
                     0);
    if ((size_t)whitelist.n != json_array_size(c->whitelist))
        fail_msg("%s: %d tokens of names", c->name, whitelist.n);
    for (int i = 0; i < whitelist.n; i++)
        assert_int_equal(whitelist.items[i], json_integer_value(json_array_get(c->whitelist, (size_t)i)));

    const struct infilling_rules rules = { .names = &names,
                                           .template = c->template,
                                           .branch_columns = c->branch_columns,
                                           .branch_tables = c->branch_tables,
                                           .whitelist = whitelist.items,
                                           .n_whitelist = whitelist.n,
                                           .unrestricted_from = c->unrestricted_from };
    int n = infilling_run(&answers, &(struct infilling_search){ .rules = &rules,
                                                                .beams = c->beams,
                                                                .max_length = c->max_length,
                                                                .n_vocabulary = c->gold->n_pieces,
                                                                .start = c->gold->start,
                                                                .end = c->gold->end,
                                                                .user = &r,
                                                                .scores = replay_scores,
                                                                .decode = replay_decode,
                                                                .seen = compare_step });
    assert_int_equal(r.step, json_array_size(c->steps));
    compare_answers(c, answers, n, &rules);
    for (int i = 0; i < n; i++)
        free(answers[i].ids);
    free(answers);
    free(whitelist.items);
    template_names_release(&names);
}

static void stored_searches_are_replayed(void **state)
{
    struct infilling_gold g;

    (void)state;
    infilling_gold_read(&g);
    for (int i = 0; i < g.n_cases; i++)
        run_case(g.cases + i);
    infilling_gold_release(&g);
}

/* Cases that the stored searches do not cover. */
static void texts_are_cut_as_published(void **state)
{
    static const struct {
        const char *template, *text;
        enum infilling_decision wanted;
    } cases[] = {
        { "select column from table", "", INFILLING_FORCE },
        { "select column from table", "boats | select", INFILLING_BRANCH },
        { "select column from table", "boats | 0 joins @ select id from", INFILLING_BRANCH },
        { "select column from table", "boats | select | id from", INFILLING_KILL },
        { "select column from table as t1 join table as t2 on column = column", "select t1.", INFILLING_BRANCH },
        { "select column from table as t1 join table as t2 on column = column", "select t\xc3\xa9. ",
          INFILLING_BRANCH },
        { "select column from table as t1 join table as t2 on column = column", "select t12.", INFILLING_FORCE },
        { "select column from table as t1 join table as t2 on column = column", "select T1.", INFILLING_FORCE },
        { "select column from table as t1 join table as t2 on column = column", "a | b | t1.", INFILLING_KILL },
    };
    struct template_names names;

    (void)state;
    assert_int_equal(template_names_of_text(&names, "boat : id , name", NULL), 0);
    for (int i = 0; i < ARRAY_LEN(cases); i++) {
        const struct infilling_rules r = { .names = &names,
                                           .template = cases[i].template,
                                           .branch_columns = true,
                                           .branch_tables = true,
                                           .unrestricted_from = 128 };
        enum infilling_decision got = infilling_decide(&r, cases[i].text, 3);
        if (got != cases[i].wanted)
            fail_msg("\"%s\": %s", cases[i].text, decision_name(got));
        assert_int_equal(infilling_decide(&r, cases[i].text, 128), INFILLING_LEAVE);
    }
    const struct infilling_rules r = { .names = &names, .template = "select column from table" };
    char *sql = infilling_statement(&r, "boats | SELECT id FROM boat;");
    assert_string_equal(sql, "select id from boat");
    free(sql);
    assert_null(infilling_statement(&r, "select id || name from boat"));
    template_names_release(&names);
}

/* A model that fails at the third step. */
static int fail_late(void *user, double *rows, const int32_t *const *beams, int n, int length)
{
    (void)user, (void)beams;
    for (int i = 0; i < n * 4; i++)
        rows[i] = -1 - i % 4;
    return length < 3 ? 0 : -1;
}

static char *no_text(void *user, const int32_t *ids, int n)
{
    (void)user, (void)ids, (void)n;
    return xstrdup("");
}

static void searches_end_with_their_model(void **state)
{
    const struct infilling_rules r = { .unrestricted_from = 0, .template = "" };
    struct infilling_answer *answers;

    (void)state;
    assert_int_equal(infilling_run(&answers, &(struct infilling_search){ .rules = &r,
                                                                         .beams = 2,
                                                                         .max_length = 9,
                                                                         .n_vocabulary = 4,
                                                                         .end = 1,
                                                                         .scores = fail_late,
                                                                         .decode = no_text }),
                     -1);
    assert_null(answers);
}

static void encode_first_letter(void *user, const char *text, struct infilling_ids *out)
{
    (void)user;
    GROW(out->items, out->n, out->cap);
    out->items[out->n++] = (unsigned char)text[0];
}

static void names_are_tokenised_as_written(void **state)
{
    static const int32_t wanted[] = { '*', 'B', 'a', 'n' };
    struct infilling_ids ids = { 0 };

    (void)state;
    assert_int_equal(infilling_whitelist(&ids, "Boat : a , age , n ", true, true, encode_first_letter, NULL, NULL), 0);
    assert_int_equal(ids.n, ARRAY_LEN(wanted));
    assert_memory_equal(ids.items, wanted, sizeof wanted);
    free(ids.items);
}

/* Without a template the row alone tells; before that comes the prefix. */
static void rows_of_one_stage(void **state)
{
    static const int32_t prefix[] = { 0, 3 }, whitelist[] = { 1, 2 };
    const struct infilling_rules r = { .prefix = prefix, .n_prefix = 2, .whitelist = whitelist, .n_whitelist = 2 };
    double first[] = { -1, -2, -3, -4 }, named[] = { -4, -2, -1, -3 }, other[] = { -1, -2, -2, -3 };

    (void)state;
    assert_int_equal(infilling_restrict(&r, "", 1, first, 4), INFILLING_FORCE);
    assert_true(isinf(first[0]) && isinf(first[1]) && isinf(first[2]) && first[3] == 1);
    assert_int_equal(infilling_restrict(&r, "", 2, named, 4), INFILLING_BRANCH);
    assert_true(isinf(named[0]) && named[1] == -2 && named[2] == -1 && isinf(named[3]));
    assert_int_equal(infilling_restrict(&r, "", 2, other, 4), INFILLING_FORCE);
    assert_true(other[0] == 1 && isinf(other[1]) && isinf(other[2]) && isinf(other[3]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_searches_are_replayed),
        cmocka_unit_test(texts_are_cut_as_published),
        cmocka_unit_test(searches_end_with_their_model),
        cmocka_unit_test(names_are_tokenised_as_written),
        cmocka_unit_test(rows_of_one_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
