#include "data/eval/trial.h"

#include "data/db/result_match.h"
#include "data/sql/sql.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_text(struct trial_texts *t, const json_t *value, const char *field, const char *where, struct error *err)
{
    const char *text = json_string_value(value);
    if (!text)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"%s\": expected a string or a list of strings", where, field);
    GROW(t->sql, t->n, t->cap);
    t->sql[t->n++] = text;
    return 0;
}

int trial_texts_add(struct trial_texts *t, const json_t *value, const char *field, const char *where, struct error *err)
{
    if (!json_is_array(value))
        return add_text(t, value, field, where, err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (add_text(t, json_array_get(value, i), field, where, err))
            return -1;
    return 0;
}

struct trial_text trial_texts_part(const struct trial_texts *t, int first, int n)
{
    return (struct trial_text){ n ? t->sql + first : NULL, n };
}

static void explain(struct trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void explain(struct trial *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = t->why ? 0 : vasprintf(&t->why, fmt, ap);
    va_end(ap);
    CHECK(n >= 0, "cannot format %s", fmt);
}

static int find(const struct trial_query *list, int n, const char *sql)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i].sql, sql) == 0)
            return i;
    return -1;
}

int trial_find(const struct trial *t, const char *sql)
{
    return find(t->queries, t->n_queries, sql);
}

/* Sets whether a query orders its rows. -1 if our parser rejects it, although SQLite accepts it. */
static int see_order(struct trial_query *q, struct error *err)
{
    int ordered = sql_ordered(q->sql, err);

    q->ordered = ordered > 0;
    return ordered < 0 ? -1 : 0;
}

static void add_gold(struct trial *t, struct exec_db *db, const char *sql)
{
    struct error err = { 0 };
    bool known = find(t->golds, t->n_golds, sql) >= 0;

    t->listed_golds += !known || t->rule == TRIAL_PUBLISHED;
    if (t->why || known)
        return;
    GROW(t->golds, t->n_golds, t->golds_cap);
    struct trial_query *gold = &t->golds[t->n_golds++];
    *gold = (struct trial_query){ sql, exec_run(db, sql), false };
    if (gold->result.status != EXEC_OK)
        explain(t, "gold %d does not execute: %s", t->n_golds, gold->result.message);
    else if (t->rule != TRIAL_PUBLISHED && see_order(gold, &err))
        explain(t, "gold %d: %s", t->n_golds, err.text);
}

static bool rows_same(const struct trial *t, const struct trial_query *a, const struct trial_query *b, bool ordered)
{
    if (t->rule == TRIAL_STRICT)
        return match_rows(&a->result, &b->result, ordered);
    return ordered ? match_row_cells(&a->result, &b->result) : match_cells(&a->result, &b->result);
}

bool trial_same(const struct trial *t, const struct trial_query *query, const struct trial_query *gold)
{
    if (t->rule == TRIAL_PUBLISHED)
        return match_published(&query->result, &gold->result, gold->sql);
    return rows_same(t, query, gold, gold->ordered);
}

bool trial_alike(const struct trial *t, const struct trial_query *a, const struct trial_query *b)
{
    if (t->rule == TRIAL_PUBLISHED)
        return a->result.n && rows_same(t, a, b, says_order_by(a->sql) || says_order_by(b->sql));
    return rows_same(t, a, b, a->ordered && b->ordered);
}

static bool golds_same(const struct trial *t, const struct trial_query *a, const struct trial_query *b)
{
    return t->rule == TRIAL_PUBLISHED ? match_exactly(&a->result, &b->result) : trial_alike(t, a, b);
}

static void tell_golds_apart(struct trial *t)
{
    for (int i = 0; i < t->n_golds && !t->why; i++)
        for (int k = 0; k < i; k++)
            if (golds_same(t, &t->golds[k], &t->golds[i]))
                explain(t, "golds %d and %d give the same result: the database does not tell them apart", k + 1, i + 1);
}

static void add_query(struct trial *t, struct exec_db *db, const char *sql)
{
    if (trial_find(t, sql) >= 0)
        return;
    GROW(t->queries, t->n_queries, t->queries_cap);
    struct trial_query *q = &t->queries[t->n_queries++];
    *q = (struct trial_query){ sql, exec_run(db, sql), false };
    if (q->result.status == EXEC_OK && t->rule != TRIAL_PUBLISHED)
        see_order(q, NULL); /* unparsable counts as unordered */
}

static void compare_all(struct trial *t)
{
    t->hits = xcalloc((size_t)t->n_queries * (size_t)t->n_golds + 1, 1);
    for (int q = 0; q < t->n_queries; q++)
        for (int g = 0; g < t->n_golds && t->queries[q].result.status == EXEC_OK; g++)
            t->hits[q * t->n_golds + g] = trial_same(t, &t->queries[q], &t->golds[g]);
}

void trial_run(struct trial *t, enum trial_rule rule, struct exec_db *db, struct trial_text golds,
               struct trial_text queries)
{
    *t = (struct trial){ .rule = rule };
    for (int i = 0; i < golds.n; i++)
        add_gold(t, db, golds.sql[i]);
    if (golds.n == 0)
        explain(t, "no gold");
    tell_golds_apart(t);
    for (int i = 0; i < queries.n; i++)
        add_query(t, db, queries.sql[i]);
    if (!t->why)
        compare_all(t);
}

void trial_release(struct trial *t)
{
    for (int i = 0; i < t->n_golds; i++)
        exec_result_release(&t->golds[i].result);
    for (int i = 0; i < t->n_queries; i++)
        exec_result_release(&t->queries[i].result);
    free(t->golds);
    free(t->queries);
    free(t->hits);
    free(t->why);
    *t = (struct trial){ 0 };
}

/* The indices of distinct texts; the caller frees. */
static int *choose(const struct trial *t, struct trial_text queries, int *n)
{
    int *chosen = xmalloc(((size_t)t->n_queries + 1) * sizeof *chosen);
    uint8_t *seen = xcalloc((size_t)t->n_queries + 1, 1);
    *n = 0;
    for (int i = 0; i < queries.n; i++) {
        int q = trial_find(t, queries.sql[i]);
        CHECK(q >= 0, "the trial has no %s", queries.sql[i]);
        if (!seen[q])
            chosen[(*n)++] = q;
        seen[q] = 1;
    }
    free(seen);
    return chosen;
}

static struct trial_score finish(const struct trial *t, struct trial_text queries, const int *chosen, int n,
                                 int covered, int correct)
{
    struct trial_score s = { .queries = queries.n, .unique = n };
    for (int i = 0; i < n; i++)
        s.failed += t->queries[chosen[i]].result.status != EXEC_OK;
    s.recall = t->listed_golds ? (double)covered / t->listed_golds : 0;
    s.precision = n ? (double)correct / n : 0;
    s.f1 = s.recall + s.precision > 0 ? 2 * s.precision * s.recall / (s.precision + s.recall) : 0;
    s.one_found = covered > 0;
    s.all_found = covered == t->listed_golds;
    return s;
}

struct trial_score trial_score_covered(const struct trial *t, struct trial_text queries)
{
    struct trial_score none = { .queries = queries.n };
    int n, correct = 0, covered = 0;
    if (t->why)
        return none;
    int *chosen = choose(t, queries, &n);
    uint8_t *found = xcalloc((size_t)t->n_golds + 1, 1);
    for (int i = 0; i < n; i++) {
        bool any = false;
        for (int g = 0; g < t->n_golds; g++)
            if (t->hits[chosen[i] * t->n_golds + g])
                found[g] = any = true;
        correct += any;
    }
    for (int g = 0; g < t->n_golds; g++)
        covered += found[g];
    struct trial_score s = finish(t, queries, chosen, n, covered, correct);
    free(found);
    free(chosen);
    return s;
}

/* Kuhn's augmenting path: assigns gold g a query, if necessary by reassigning another gold. */
static bool pair_gold(const struct trial *t, int g, const int *chosen, int n, int *gold_of, uint8_t *tried)
{
    for (int i = 0; i < n; i++) {
        if (!t->hits[chosen[i] * t->n_golds + g] || tried[i])
            continue;
        tried[i] = 1;
        if (gold_of[i] < 0 || pair_gold(t, gold_of[i], chosen, n, gold_of, tried)) {
            gold_of[i] = g;
            return true;
        }
    }
    return false;
}

struct trial_score trial_score_paired(const struct trial *t, struct trial_text queries)
{
    struct trial_score none = { .queries = queries.n };
    int n, pairs = 0;
    if (t->why)
        return none;
    int *chosen = choose(t, queries, &n), *gold_of = xmalloc(((size_t)n + 1) * sizeof *gold_of);
    uint8_t *tried = xmalloc((size_t)n + 1);
    for (int i = 0; i < n; i++)
        gold_of[i] = -1;
    for (int g = 0; g < t->n_golds; g++) {
        memset(tried, 0, (size_t)n);
        pairs += pair_gold(t, g, chosen, n, gold_of, tried);
    }
    struct trial_score s = finish(t, queries, chosen, n, pairs, pairs);
    free(tried);
    free(gold_of);
    free(chosen);
    return s;
}
