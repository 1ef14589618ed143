/* Templates are compiled for hostile schemas. Each completion that they allow runs as SQL, or a message gives the
 * reason. Completions are sampled from the automaton token by token, as a model would do. */
#include "data/db/sqlite_exec.h"
#include "data/prompt/template_constraint.h"
#include "kernels/rng.h"
#include "models/engine/constraint_form.h"
#include "tests/support/explain.h"
#include "tests/support/hostile_schemas.h"
#include "tests/support/tokens.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS = 4, LONGEST = 4096 };

static const int32_t stop = 1 << 20; /* not a token of any text */

/* A tokenizer, a database and the counts of results. */
struct hostile_world {
    struct tokenizer *tokenizer;
    char *dir;
    sqlite3 *db;
    struct schema_set schemas;
    struct exec_db *exec;
    struct rng rng;
    int answers, refused;
};

static void world_open(struct hostile_world *w, int schema)
{
    char *script = hostile_script(schema);
    struct error err = { 0 };

    w->dir = test_dir_new();
    w->db = explain_open(NULL, script);
    explain_schema(&w->schemas, w->db, w->dir);
    w->exec = exec_open(test_file(w->dir, "db.sqlite", NULL), &exec_limits_default, &err);
    if (!w->exec)
        fail_msg("%s", err.text);
    free(script);
}

static void world_close(struct hostile_world *w)
{
    exec_close(w->exec);
    schema_set_close(&w->schemas);
    sqlite3_close(w->db);
    test_dir_remove(w->dir);
}

/* Words of a template, or NULL if a message gives the reason. */
static struct token_list *words_of(const struct hostile_world *w, const char *template, struct constraint_form *f,
                                   json_t **constraint, int *n, struct error *err)
{
    const struct template_question q = { w->schemas.schemas, hostile_question, NULL };

    *constraint = template_constraint(&q, template, err);
    if (!*constraint || constraint_form_keep_spelt(*constraint, w->tokenizer, err) ||
        constraint_form_read(f, *constraint, "template", err))
        return NULL;
    return constraint_form_encode(f, w->tokenizer, &stop, 1, n, err);
}

static char *draw(struct hostile_world *w, const struct automaton_host *a)
{
    struct ids ids = { 0 };
    int32_t state = 0;

    for (;;) {
        uint32_t n = (uint32_t)(a->first[state + 1] - a->first[state]);
        int32_t edge = a->first[state] + (int32_t)rng_below(&w->rng, n);
        if (a->token[edge] == stop)
            break;
        ids_push(&ids, a->token[edge]);
        assert_true(ids.count < LONGEST);
        state = a->next[edge];
    }
    char *sql = tokenizer_decode(w->tokenizer, ids.items, ids.count, 0, NULL);
    ids_release(&ids);
    return sql;
}

static void check_answers(struct hostile_world *w, const struct automaton_host *a)
{
    for (int i = 0; i < DRAWS; i++) {
        char *sql = draw(w, a);
        struct exec_result r = exec_run(w->exec, sql);
        if (r.status != EXEC_OK)
            fail_msg("%s: %s", sql, r.message);
        exec_result_release(&r);
        free(sql);
        w->answers++;
    }
}

static void check_template(struct hostile_world *w, const char *template)
{
    struct constraint_form f = { 0 };
    struct automaton_host a = { 0 };
    struct error err = { 0 };
    json_t *constraint;
    int n = 0;
    struct token_list *words = words_of(w, template, &f, &constraint, &n, &err);

    if (words && automaton_build(&a, words, n, &stop, 1, &err) == 0) {
        check_answers(w, &a);
    } else {
        assert_int_equal(err.code, EXIT_CODE_DATA);
        if (strncmp(err.text, "template: no tables of the schema fit", 37) != 0)
            assert_error(err, "the tokenizer cannot spell", "no other alternative is left");
        w->refused++;
    }
    for (int i = 0; words && i < n; i++)
        token_list_release(words + i);
    free(words);
    automaton_release(&a);
    constraint_form_release(&f);
    json_decref(constraint);
}

/* Number of cases with at least one completion. */
static int count_answered(const char *tokenizer)
{
    struct hostile_world w = { .tokenizer = test_tokenizer(tokenizer), .rng = { 11, 0 } };

    for (int i = 0; i < HOSTILE_SCHEMAS; i++) {
        world_open(&w, i);
        for (int k = 0; k < HOSTILE_TEMPLATES; k++)
            check_template(&w, hostile_templates[k]);
        world_close(&w);
    }
    tokenizer_close(w.tokenizer);
    assert_int_equal(w.answers / DRAWS + w.refused, HOSTILE_SCHEMAS * HOSTILE_TEMPLATES);
    return w.answers / DRAWS;
}

/* Some schemas lack keys for joins. A T5's few characters spell fewer names than bytes do. */
static void answers_run_or_are_refused(void **state)
{
    (void)state;
    assert_int_equal(count_answered("bpe/llama"), 191);
    assert_int_equal(count_answered("published"), 155);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(answers_run_or_are_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
