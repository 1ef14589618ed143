/* Tests on random expressions and statements: the parser accepts every statement that SQLite accepts, and the printed
 * form has the same meaning. */
#include "tests/support/sql_world.h"
#include "tests/support/support.h"

#include "data/sql/sql_check.h"
#include "data/sql/sql_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] = "CREATE TABLE t (a INT, b INT, c TEXT, d REAL);"
                             "CREATE TABLE u (a INT, e INT, f TEXT);"
                             "CREATE TABLE v (e INT, g INT);";

struct world {
    struct sql_world sql; /* first */
    uint64_t random;
};

static int set_up(void **state)
{
    return sql_world_set_up(state, sizeof(struct world), script);
}

static int below(struct world *w, int n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->random >> 33) % (uint64_t)n);
}

static const char *pick(struct world *w, const char *const *words, int n)
{
    return words[below(w, n)];
}
#define PICK(w, ...) pick(w, (const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

/* Operands and operators in a row with few parentheses, to test precedence. */
static void flat_expr(struct world *w, FILE *out, int depth)
{
    int terms = 1 + below(w, 6);
    for (int i = 0; i < terms; i++) {
        if (i > 0)
            fputs(PICK(w, " + ", " - ", " * ", " / ", " % ", " || ", " = ", " == ", " <> ", " < ", " >= ", " & ", " | ",
                       " << ", " >> ", " AND ", " OR ", " IS ", " IS NOT ", " LIKE ", " NOT LIKE ", " GLOB ",
                       " IS NOT DISTINCT FROM ", " IS DISTINCT FROM ", " BETWEEN 1 AND ", " NOT BETWEEN d + 1 AND ",
                       " LIKE c ESCAPE ", " -> ", " ->> "),
                  out);
        fputs(PICK(w, "", "", "", "", "- ", "~ ", "NOT ", "+ "), out);
        if (depth > 0 && below(w, 6) == 0) {
            fputc('(', out);
            flat_expr(w, out, depth - 1);
            fputc(')', out);
        } else {
            fputs(PICK(w, "a", "b", "c", "d", "1", "2.5", "'x'", "NULL", "CASE a WHEN b THEN c END", "max(a, b)"), out);
        }
        fputs(PICK(w, "", "", "", "", "", "", " IS NULL", " NOTNULL", " NOT NULL", " ISNULL", " COLLATE nocase",
                   " IN (1, b)", " NOT IN (2)"),
              out);
    }
}

static void put_all_parens(struct sql_printer *p, const struct sql_expr *e);

static void put_operand(struct sql_printer *p, const char *before, const struct sql_expr *e)
{
    sql_put(p, before);
    put_all_parens(p, e);
}

static const char *op_word(const struct sql_expr *e, char *word, size_t size)
{
    /* prints the operator alone, between two leaves */
    struct sql_expr leaf = { .kind = SQL_EXPR_LITERAL, .text = "1" }, copy = *e;
    struct sql_printer p = { 0 };
    copy.left = &leaf;
    copy.right = copy.right ? &leaf : NULL;
    copy.third = NULL;
    sql_print_expr(&p, &copy);
    int skip = copy.right ? 1 : 0;
    snprintf(word, size, "%.*s", (int)p.n - 1 - skip, p.text + skip);
    free(p.text);
    return word;
}

static void put_list(struct sql_printer *p, const struct sql_expr *list)
{
    for (const struct sql_expr *e = list; e; e = e->next)
        put_operand(p, e == list ? "" : ", ", e);
}

/* Prints the tree with parentheses around every operation, so that precedence does not matter. */
static void put_all_parens(struct sql_printer *p, const struct sql_expr *e)
{
    char word[64];
    switch (e->kind) {
    case SQL_EXPR_UNARY:
        sql_put(p, "(");
        put_operand(p, op_word(e, word, sizeof word), e->left);
        break;
    case SQL_EXPR_BINARY:
        put_operand(p, "(", e->left);
        put_operand(p, op_word(e, word, sizeof word), e->right);
        if (e->third)
            put_operand(p, " ESCAPE ", e->third);
        break;
    case SQL_EXPR_BETWEEN:
        put_operand(p, "(", e->left);
        put_operand(p, e->negated ? " NOT BETWEEN " : " BETWEEN ", e->right);
        put_operand(p, " AND ", e->third);
        break;
    case SQL_EXPR_IN:
        put_operand(p, "(", e->left);
        sql_put(p, e->negated ? " NOT IN (" : " IN (");
        put_list(p, e->list);
        sql_put(p, ")");
        break;
    case SQL_EXPR_COLLATE:
        put_operand(p, "(", e->left);
        sql_put(p, " COLLATE ");
        sql_put(p, e->name.text);
        break;
    default:
        sql_print_expr(p, e);
        return;
    }
    sql_put(p, ")");
}

static void same_program(struct world *w, const char *a, const char *b)
{
    bool good_a, good_b;
    char *x = explain(w->sql.db, a, &good_a), *y = explain(w->sql.db, b, &good_b);
    if (good_a != good_b || strcmp(x, y) != 0)
        fail_msg("%s\n%s\n%s\n%s", a, x, b, y);
    free(x);
    free(y);
}

static struct sql_query *parse(struct world *w, const char *text)
{
    struct error err = { 0 };
    struct sql_query *q = sql_parse(&w->sql.arena, text, &err);
    if (!q)
        fail_msg("%s: %s", text, err.text);
    return q;
}

static void operators_bind_as_in_sqlite(void **state)
{
    struct world *w = *state;
    w->random = 7;
    for (int i = 0; i < 6000; i++) {
        char *text = NULL;
        size_t size;
        struct sql_printer full = { 0 };
        FILE *out = open_memstream(&text, &size);
        fputs("SELECT ", out);
        flat_expr(w, out, 2);
        fputs(" FROM t", out);
        fclose(out);
        arena_reset(&w->sql.arena, 0);
        const struct sql_query *q = parse(w, text);
        sql_put(&full, "SELECT ");
        put_all_parens(&full, q->select->cores->results->expr);
        sql_put(&full, " FROM t");
        full.text[full.n] = 0;
        const char *printed = sql_print(&w->sql.arena, q);
        same_program(w, text, full.text);
        same_program(w, text, printed);
        assert_string_equal(sql_print(&w->sql.arena, parse(w, printed)), printed);
        assert_string_equal(sql_print(&w->sql.arena, parse(w, full.text)), printed);
        free(full.text);
        free(text);
    }
}

static void random_select(struct world *w, FILE *out, int depth);

static void random_expr(struct world *w, FILE *out, int depth)
{
    switch (below(w, depth > 0 ? 14 : 6)) {
    case 0:
    case 1:
    case 2:
    case 3:
        fputs(PICK(w, "a", "b", "T.a", "x.e", "y.a", "\"e\"", "[g]", "f", "\"none\"", "y.f", "rowid", "x.rowid"), out);
        break;
    case 4:
    case 5:
        fputs(PICK(w, "1", "'s'", "NULL", "2.5", "TRUE", "x'00'", "CURRENT_DATE"), out);
        break;
    case 6:
    case 7:
        random_expr(w, out, depth - 1);
        fputs(PICK(w, " + ", " = ", " AND ", " OR ", " || ", " IS NOT ", " LIKE "), out);
        random_expr(w, out, depth - 1);
        break;
    case 8:
        fprintf(out, "%s(", PICK(w, "count", "max", "min", "sum", "length", "abs"));
        random_expr(w, out, depth - 1);
        fputs(PICK(w, ")", ")", ") FILTER (WHERE a > 1)", ") OVER (ORDER BY a)", ") OVER (PARTITION BY b)"), out);
        break;
    case 9:
        fputs(PICK(w, "(", "EXISTS (", "a IN (", "(a, b) IN ("), out);
        random_select(w, out, depth - 1);
        fputc(')', out);
        break;
    case 10:
        fputs("CASE WHEN ", out);
        random_expr(w, out, depth - 1);
        fputs(" THEN 1 ELSE ", out);
        random_expr(w, out, depth - 1);
        fputs(" END", out);
        break;
    case 11:
        fputs("CAST(", out);
        random_expr(w, out, depth - 1);
        fputs(" AS text) COLLATE nocase", out);
        break;
    default:
        fputs("(", out);
        random_expr(w, out, depth - 1);
        fputs(") BETWEEN 1 AND 2", out);
    }
}

static void random_source(struct world *w, FILE *out, int depth, bool first)
{
    int kind = below(w, depth > 0 ? 6 : 3);

    if (kind < 3) {
        fputs(PICK(w, "t", "u", "v", "T", "main.u", "w"), out);
    } else if (kind < 5) {
        fputc('(', out);
        random_select(w, out, depth - 1);
        fputc(')', out);
    } else {
        fputs("(t JOIN v ON t.a = v.g)", out);
    }
    fputs(PICK(w, "", "", " x", " AS y", " AS \"y\""), out);
    if (!first && below(w, 3) == 0)
        fputs(PICK(w, " USING (a)", " USING (e)", " ON 1", " ON x.a = y.a"), out);
}

static void random_core(struct world *w, FILE *out, int depth)
{
    static const char *const joins[] = { ", ",           " JOIN ",       " LEFT JOIN ", " NATURAL JOIN ",
                                         " CROSS JOIN ", " RIGHT JOIN ", " FULL JOIN ", " NATURAL LEFT JOIN " };
    fputs(PICK(w, "SELECT ", "SELECT ", "SELECT DISTINCT "), out);
    for (int n = 1 + below(w, 2); n > 0; n--) {
        if (below(w, 4) == 0) {
            fputs(PICK(w, "*", "x.*", "y.*"), out);
        } else {
            random_expr(w, out, depth);
            fputs(PICK(w, "", "", " AS a", " AS k"), out);
        }
        fputs(n > 1 ? ", " : "", out);
    }
    for (int n = below(w, 4), i = 0; i < n; i++) {
        fputs(i ? pick(w, joins, ARRAY_LEN(joins)) : " FROM ", out);
        random_source(w, out, depth, i == 0);
    }
    if (below(w, 3) == 0) {
        fputs(" WHERE ", out);
        random_expr(w, out, depth);
    }
    if (below(w, 4) == 0) {
        fputs(" GROUP BY ", out);
        random_expr(w, out, depth);
        fputs(PICK(w, "", " HAVING count(*) > 1", " HAVING k > 1"), out);
    }
}

static void random_select(struct world *w, FILE *out, int depth)
{
    if (below(w, 6) == 0 && depth > 0) {
        fputs(PICK(w, "WITH w AS (", "WITH RECURSIVE w(a) AS (", "WITH t AS MATERIALIZED ("), out);
        random_select(w, out, depth - 1);
        fputs(") ", out);
    }
    random_core(w, out, depth);
    while (below(w, 5) == 0) {
        fputs(PICK(w, " UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT "), out);
        random_core(w, out, depth);
    }
    if (below(w, 4) == 0)
        fputs(PICK(w, " ORDER BY 1", " ORDER BY a", " ORDER BY k DESC", " ORDER BY a COLLATE nocase, 1 NULLS LAST"),
              out);
    fputs(PICK(w, "", "", "", " LIMIT 3", " LIMIT 3, 2", " LIMIT 4 OFFSET 1"), out);
}

/* Most random statements contain unknown names; enough of them do not. */
static void statements_mean_the_same(void **state)
{
    struct world *w = *state;
    int taken = 0, lenient = 0;

    w->random = 11;
    for (int i = 0; i < 40000; i++) {
        char *text = NULL;
        size_t size;
        struct error err = { 0 };
        struct sql_uses uses, again;
        bool good;
        FILE *out = open_memstream(&text, &size);
        random_select(w, out, 2);
        fclose(out);
        arena_reset(&w->sql.arena, 0);
        struct sql_query *q = sql_parse(&w->sql.arena, text, &err);
        char *program = explain(w->sql.db, text, &good);
        int rc = q ? sql_resolve(&w->sql.arena, q, w->sql.schemas.schemas, &uses, &err) : -1;
        if (rc == 0)
            rc = sql_check(q, w->sql.schemas.schemas, &err);
        if (good && rc)
            fail_msg("SQLite takes %s: %s", text, err.text);
        lenient += !good && rc == 0;
        if (good) {
            const char *printed = sql_print(&w->sql.arena, q);
            struct sql_query *second = parse(w, printed);
            same_program(w, text, printed);
            assert_int_equal(sql_resolve(&w->sql.arena, second, w->sql.schemas.schemas, &again, NULL), 0);
            assert_string_equal(sql_print(&w->sql.arena, second), printed);
            assert_int_equal(again.n, uses.n);
            taken++;
        }
        free(program);
        free(text);
    }
    print_message("%d of 40000 statements taken\n", taken);
    assert_true(taken > 2000);
    assert_in_range(lenient, 0, 100); /* sources of the same name under *, and USING columns that two sources have */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_bind_as_in_sqlite),
        cmocka_unit_test(statements_mean_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, sql_world_tear_down);
}
