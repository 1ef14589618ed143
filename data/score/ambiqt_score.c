#include "data/score/ambiqt_score.h"

#include "data/corpora/ambiqt_text.h"
#include "data/score/ambiqt_map.h"
#include "data/sql/sql.h"

#include <stdlib.h>
#include <string.h>

const char *ambiqt_measure_name(enum ambiqt_measure m)
{
    static const char *const names[AMBIQT_MEASURES] = { "em", "exm", "direct" };
    return names[m];
}

enum { MAX_LENGTH = 1 << 16 }; /* of a prediction; mapping takes time that grows faster than its length */

struct gold {
    char *sql;
    struct spider_query *query;
    const struct exec_result *result; /* NULL without databases */
    bool ordered;                     /* the order of its rows counts */
};

/* Measures that a prediction meets. */
struct met {
    bool by[AMBIQT_MEASURES];
};

/* The gold query failed in a way the published evaluator would have seen too; it sees no limits. */
static bool published_failure(const struct ambiqt_judge *j, const struct exec_result *gold)
{
    return j->published && (gold->status == EXEC_FAILED || gold->status == EXEC_REFUSED);
}

static void execute(const struct ambiqt_judge *j, const struct gold *gold, const struct spider_query *query,
                    const char *sql, struct met *met)
{
    const struct exec_result *result = ambiqt_run(j->runner, sql);

    if (result->status != EXEC_OK)
        return;
    if (gold->result->status != EXEC_OK) {
        met->by[AMBIQT_EXM] = met->by[AMBIQT_DIRECT] = published_failure(j, gold->result);
        return;
    }
    met->by[AMBIQT_EXM] = ambiqt_same_columns(result, query, gold->result, gold->query);
    met->by[AMBIQT_DIRECT] = ambiqt_same_rows(result, gold->result, gold->ordered);
}

static struct met compare(const struct ambiqt_judge *j, const struct gold *gold, const char *sql)
{
    struct met met = { { false } };

    if (!sql)
        return met;
    struct spider_query *query = spider_query_new(j->schema, sql);
    met.by[AMBIQT_EM] = spider_match(j->schema, query, gold->query);
    if (j->runner)
        execute(j, gold, query, sql, &met);
    if (!spider_query_parsed(gold->query))
        met.by[AMBIQT_EM] = met.by[AMBIQT_EXM] = j->published;
    spider_query_free(query);
    return met;
}

static void score_prediction(const struct ambiqt_judge *j, const struct ambiqt_record *r, const struct gold *gold,
                             const char *prediction, struct ambiqt_found *found)
{
    bool exclusive = r->kind == SIA_JOIN || r->kind == SIA_AGGREGATE;
    struct ambiqt_readings map =
        j->published ? ambiqt_map_published(r, prediction) : ambiqt_map(r, j->schema->schema, prediction);
    struct met first = compare(j, gold, map.sql[0]), second = compare(j, gold, map.sql[1]);

    for (int m = 0; m < AMBIQT_MEASURES; m++) {
        found->reading[m][0] |= first.by[m];
        found->reading[m][1] |= second.by[m] && !(exclusive && first.by[m]);
    }
    ambiqt_readings_release(&map);
}

/* The published evaluator takes an ORDER BY anywhere, in a sub-query or a string too, for the statement's own. */
static bool is_ordered(const struct ambiqt_judge *j, const char *sql)
{
    return j->published ? strstr(sql, " order by ") != NULL : sql_ordered(sql, NULL) > 0;
}

static void check_gold(const struct ambiqt_judge *j, struct ambiqt_cases *c, int row, const struct gold *gold)
{
    const char *met = j->published ? "which every prediction meets" : "which no prediction meets";

    if (!spider_query_parsed(gold->query))
        ambiqt_cases_skip(c, row, "em: the gold query is not in Spider's grammar, %s: %s", met, gold->sql);
    if (gold->result && gold->result->status != EXEC_OK)
        ambiqt_cases_skip(c, row, "exm, direct: the gold query fails, %s: %s",
                          published_failure(j, gold->result) ? met : "which no prediction meets",
                          gold->result->message);
}

struct ambiqt_found ambiqt_score(const struct ambiqt_judge *judge, struct ambiqt_cases *c, const struct ambiqt_case *of)
{
    const struct ambiqt_record *r = &c->corpus.items[of->record];
    struct ambiqt_found found = { { { false } } };
    struct gold gold = { .sql = ambiqt_normalize(r->original) };

    gold.ordered = is_ordered(judge, gold.sql);
    gold.query = spider_query_new(judge->schema, gold.sql);
    gold.result = judge->runner ? ambiqt_run(judge->runner, gold.sql) : NULL;
    check_gold(judge, c, of->row, &gold);
    for (int i = 0; i < of->predictions.n; i++) {
        const char *prediction = of->predictions.items[i];
        if (strlen(prediction) <= MAX_LENGTH)
            score_prediction(judge, r, &gold, prediction, &found);
        else
            ambiqt_cases_skip(c, of->row, "prediction %d: longer than %d bytes, which counts as wrong", i, MAX_LENGTH);
    }
    spider_query_free(gold.query);
    free(gold.sql);
    return found;
}
