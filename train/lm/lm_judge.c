#include "train/lm/lm_judge.h"

#include "data/exec/result_match.h"
#include "data/plan/parser_text.h"
#include "data/prompt/model_output.h"
#include "data/sql/sql.h"
#include "data/util/log.h"

#include <stdlib.h>
#include <string.h>

const char *lm_judge_gold(const json_t *record)
{
    const json_t *messages = json_object_get(record, "messages");
    size_t n = json_array_size(messages);
    const json_t *last = n ? json_array_get(messages, n - 1) : NULL;

    return json_string_value(json_object_get(last ? last : record, last ? "content" : "completion"));
}

/* The template or the statement alone. */
static const char *statement(const char *text)
{
    const char *behind = parser_behind_name(text), *rest;
    struct sql_plan plan;

    return sql_plan_parse(&plan, behind, &rest, NULL) == 0 ? rest : behind;
}

static const char *database_of(const json_t *record)
{
    const char *db_id = json_string_value(json_object_get(record, "db_id"));
    return db_id ? db_id : "";
}

/* What an answer says: its statement, as every reader of answers finds it, else its text. */
static char *said_statement(const char *answer)
{
    char *text = output_answer(answer);
    struct text_items sql = { 0 };

    output_sql(&sql, statement(text), false);
    char *said = xstrdup(sql.n ? sql.items[0] : statement(text));
    text_items_release(&sql);
    free(text);
    return said;
}

static bool same_set(const struct lm_judge *j, const json_t *record, const char *said)
{
    struct spider_schema schema;

    spider_schema_init(&schema, schema_find(&j->schemas, database_of(record)));
    struct spider_query *gold = spider_query_new(&schema, statement(lm_judge_gold(record)));
    char *text = said_statement(said);
    struct spider_query *query = spider_query_new(&schema, text);
    bool same = spider_query_parsed(query) && spider_match(&schema, query, gold);
    spider_query_free(query);
    spider_query_free(gold);
    spider_schema_release(&schema);
    free(text);
    return same;
}

static bool same_rows(struct lm_judge *j, const json_t *record, const char *said)
{
    struct error err;
    const char *gold = statement(lm_judge_gold(record));

    if (ambiqt_runner_use(j->runner, database_of(record), &err))
        return false;
    char *text = said_statement(said);
    const struct exec_result *a = ambiqt_run(j->runner, text), *b = ambiqt_run(j->runner, gold);
    free(text);
    return a->status == EXEC_OK && b->status == EXEC_OK && match_rows(a, b, sql_ordered(gold, NULL) > 0);
}

static bool same_template(const json_t *record, const char *said)
{
    char *text = output_answer(said);
    bool same = sql_template_match(statement(text), statement(lm_judge_gold(record)));

    free(text);
    return same;
}

bool lm_judge_says(struct lm_judge *j, const json_t *record, const char *said)
{
    switch (j->select) {
    case SELECT_EXACT:
        return same_set(j, record, said);
    case SELECT_EXECUTION:
        return same_rows(j, record, said);
    default:
        return same_template(record, said);
    }
}

static int check_exact(const struct lm_judge *j, const json_t *record, const char *where, struct error *err)
{
    const struct schema *s = schema_find(&j->schemas, database_of(record));
    struct spider_schema schema;

    if (!s)
        return error_set(err, EXIT_CODE_DATA, "%s: db_id: expected one of the schema's, got \"%s\"", where,
                         database_of(record));
    spider_schema_init(&schema, s);
    struct spider_query *gold = spider_query_new(&schema, statement(lm_judge_gold(record)));
    bool parsed = spider_query_parsed(gold);
    spider_query_free(gold);
    spider_schema_release(&schema);
    return parsed ? 0
                  : error_set(err, EXIT_CODE_DATA, "%s: expected a statement of Spider's SQL, got \"%.200s\"", where,
                              statement(lm_judge_gold(record)));
}

static int check_rows(struct lm_judge *j, const json_t *record, const char *where, struct error *err)
{
    const char *gold = statement(lm_judge_gold(record));

    if (ambiqt_runner_use(j->runner, database_of(record), err)) {
        error_prefix(err, "%s: db_id \"%s\"", where, database_of(record));
        return -1;
    }
    const struct exec_result *r = ambiqt_run(j->runner, gold);
    if (r->status != EXEC_OK)
        log_warn("%s: no answer can be right, its own \"%.200s\" does not run: %s", where, gold, r->message);
    return 0;
}

static int check(struct lm_judge *j, const struct lm_example *e, const char *path, int number, struct error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s: record %d", path, number);
    if (j->select == SELECT_EXACT)
        return check_exact(j, e->record, where, err);
    return j->select == SELECT_EXECUTION ? check_rows(j, e->record, where, err) : 0;
}

int lm_judge_open(struct lm_judge *j, const struct lm_request *q, const struct lm_data *valid, struct error *err)
{
    int rc = 0;

    j->select = q->settings.select;
    if (j->select == SELECT_EXACT && schema_set_open(&j->schemas, q->schema, err))
        return -1;
    if (j->select == SELECT_EXECUTION)
        j->runner = ambiqt_runner_new(q->db, false);
    for (int i = 0; i < valid->n && rc == 0; i++)
        rc = check(j, &valid->items[i], q->valid, i + 1, err);
    return rc;
}

void lm_judge_release(struct lm_judge *j)
{
    schema_set_close(&j->schemas);
    ambiqt_runner_free(j->runner);
    *j = (struct lm_judge){ 0 };
}
