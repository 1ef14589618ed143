/* Part of infill_stages.h: the rounds of stage 0, each a question and its SQL for every gold that is still open. */
#include "infer/infill/infill_stages_impl.h"

#include "data/util/stop.h"

/* Whether a gold is to be tried now: one that waits has nothing to be judged by in this run. */
static bool is_open(const struct infill_case *c, int gold)
{
    const struct infill_gold *g = &c->golds[gold];
    return !c->error && !g->accepted && !g->waits;
}

/* The questions of a round: the file's, or else the model's. */
static int get_questions(struct infill_stages *f, struct error *err)
{
    struct infill_queue a = { .kind = PROMPT_REWRITE, .model = &f->q->rewrite };
    bool asks = f->writes == PROMPT_REWRITE || f->q->rewrite.generate;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int g = 0; g < c->n_golds && rc == 0; g++) {
            if (!is_open(c, g))
                continue;
            json_t *id = infill_rewrite_id(c, g);
            const char *answer = f->q->rewrites ? annotate_readings_answer(&f->rewrites, id) : NULL;
            json_decref(id);
            if (answer)
                infill_case_set_text(c, g, answer, f->q->published);
            else if (asks)
                rc = infill_ask(f, &a, i, g, err);
            if (!answer && !f->q->rewrite.generate)
                c->golds[g].waits = "the question";
        }
    }
    return infill_ask_end(f, &a, rc, err);
}

/* Their SQL likewise. */
static int get_sql(struct infill_stages *f, struct error *err)
{
    struct infill_queue a = { .kind = PROMPT_SQL, .model = &f->q->sql };
    bool asks = f->writes == PROMPT_SQL || f->q->sql.generate;
    int rc = 0;

    for (int64_t i = 0; i < f->n; i++) {
        struct infill_case *c = &f->cases[i];
        for (int g = 0; g < c->n_golds && rc == 0; g++) {
            const json_t *sql =
                f->q->sqls && is_open(c, g) ? reading_sql_find(&f->sqls, c->db_id, c->readings[g].text) : NULL;
            struct error bad = { 0 };
            if (!is_open(c, g) || !*c->readings[g].text) /* an answer without a question is one try */
                continue;
            if (sql && infill_case_set_known(c, g, sql, &bad))
                infill_case_fail(c, &bad);
            else if (!sql && asks)
                rc = infill_ask(f, &a, i, g, err);
            if (!sql && !f->q->sql.generate)
                c->golds[g].waits = "its SQL";
        }
    }
    return infill_ask_end(f, &a, rc, err);
}

/* Whether any gold is open still. */
static bool judge_all(struct infill_stages *f)
{
    bool open = false;

    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct infill_case *c = &f->cases[i];
        struct exec_db *db = infill_stages_database(f, c);
        for (int g = 0; g < c->n_golds && db; g++) {
            if (is_open(c, g))
                infill_rewrite_judge(c, g, db, f->q->published);
            open = open || is_open(c, g);
        }
    }
    return open;
}

static void check_all(struct infill_stages *f)
{
    for (int64_t i = 0; i < f->n && !stop_requested(); i++) {
        struct infill_case *c = &f->cases[i];
        struct exec_db *db = infill_stages_database(f, c);
        struct error bad = { 0 };
        if (db && infill_rewrite_check(c, db, f->q->published, &bad))
            infill_case_fail(c, &bad);
    }
}

/* Why a gold has no question; where prompts are written, one that waits is no failure. */
static void fail_gold(const struct infill_stages *f, struct infill_case *c, int gold)
{
    const struct infill_gold *g = &c->golds[gold];
    const struct infill_reading *r = &c->readings[gold];
    struct error bad = { 0 };

    if (g->waits && f->q->write)
        return;
    if (!g->waits)
        error_set(&bad, EXIT_CODE_DATA, "gold %d (%.80s): none of %d questions has its rows, the last \"%.200s\"",
                  gold + 1, g->word, g->tries, r->unread ? r->unread : r->text);
    else
        error_set(&bad, EXIT_CODE_DATA, "gold %d (%.80s): %s of try %d is missing", gold + 1, g->word, g->waits,
                  g->tries + 1);
    infill_case_fail(c, &bad);
}

int infill_rewrite_run(struct infill_stages *f, struct error *err)
{
    bool open = true;
    int rc = 0;

    check_all(f);
    for (int try = 0; try < f->q->tries && open && rc == 0 && !stop_requested(); try++) {
        rc = get_questions(f, err);
        if (rc == 0)
            rc = get_sql(f, err);
        if (rc == 0)
            open = judge_all(f);
    }
    for (int64_t i = 0; i < f->n && rc == 0; i++)
        for (int g = 0; g < f->cases[i].n_golds; g++)
            if (!f->cases[i].golds[g].accepted)
                fail_gold(f, &f->cases[i], g);
    return rc ? rc : stop_requested() ? 1 : 0;
}
