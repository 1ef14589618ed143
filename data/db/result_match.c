#include "data/db/result_match.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int rank(const struct cell *c)
{
    switch (c->type) {
    case CELL_NULL:
        return 0;
    case CELL_INTEGER:
    case CELL_REAL:
        return 1;
    case CELL_TEXT:
        return 2;
    default:
        return 3;
    }
}

/* Compares exactly, as Python does: an integer is never rounded to a double. */
static int compare_integer_real(int64_t i, double r)
{
    if (r >= 0x1p63)
        return -1;
    if (r < -0x1p63)
        return 1;
    double whole = trunc(r);
    if (i != (int64_t)whole)
        return i < (int64_t)whole ? -1 : 1;
    return (r < whole) - (r > whole);
}

static int compare_numbers(const struct cell *a, const struct cell *b)
{
    if (a->type == CELL_INTEGER && b->type == CELL_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->type == CELL_REAL && b->type == CELL_REAL)
        return (a->real > b->real) - (a->real < b->real);
    return a->type == CELL_INTEGER ? compare_integer_real(a->integer, b->real)
                                   : -compare_integer_real(b->integer, a->real);
}

static int compare_bytes(const struct cell *a, const struct cell *b)
{
    int n = a->n < b->n ? a->n : b->n, first = n ? memcmp(a->bytes, b->bytes, (size_t)n) : 0;
    return first ? first : (a->n > b->n) - (a->n < b->n);
}

int cell_compare(const struct cell *a, const struct cell *b)
{
    int ra = rank(a), rb = rank(b);
    if (ra != rb)
        return ra < rb ? -1 : 1;
    if (ra == 0)
        return 0;
    return ra == 1 ? compare_numbers(a, b) : compare_bytes(a, b);
}

static int by_cell(const void *a, const void *b)
{
    return cell_compare(a, b);
}

static struct cell *sorted(const struct cell *cells, int64_t n)
{
    struct cell *copy = xmalloc((size_t)n * sizeof *copy + 1);
    if (n)
        memcpy(copy, cells, (size_t)n * sizeof *copy);
    qsort(copy, (size_t)n, sizeof *copy, by_cell);
    return copy;
}

static bool same_cells(const struct cell *a, const struct cell *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (cell_compare(&a[i], &b[i]))
            return false;
    return true;
}

static bool same_multiset(const struct cell *a, const struct cell *b, int64_t n)
{
    struct cell *x = sorted(a, n), *y = sorted(b, n);
    bool same = same_cells(x, y, n);
    free(x);
    free(y);
    return same;
}

bool match_cells(const struct exec_result *a, const struct exec_result *b)
{
    int64_t n = a->n * a->columns;
    return n == b->n * b->columns && same_multiset(a->cells, b->cells, n);
}

bool match_row_cells(const struct exec_result *a, const struct exec_result *b)
{
    if (a->n != b->n || (a->n && a->columns != b->columns))
        return false;
    for (int64_t row = 0; row < a->n; row++)
        if (!same_multiset(a->cells + row * a->columns, b->cells + row * a->columns, a->columns))
            return false;
    return true;
}

bool match_exactly(const struct exec_result *a, const struct exec_result *b)
{
    return a->n == b->n && (!a->n || a->columns == b->columns) && same_cells(a->cells, b->cells, a->n * a->columns);
}

bool says_order_by(const char *sql)
{
    return strcasestr(sql, "order by") != NULL;
}

bool match_published(const struct exec_result *p, const struct exec_result *gold, const char *gold_sql)
{
    if (p->n == 0)
        return false;
    return says_order_by(gold_sql) ? match_row_cells(p, gold) : match_cells(p, gold);
}

/* Compares all parts that must be identical, which excludes the values of numbers. */
static int compare_rest(const struct cell *a, const struct cell *b)
{
    int ra = rank(a), rb = rank(b);
    return ra == 1 && rb == 1 ? 0 : cell_compare(a, b);
}

static bool close_enough(const struct cell *a, const struct cell *b)
{
    if (compare_rest(a, b))
        return false;
    if (rank(a) != 1 || compare_numbers(a, b) == 0)
        return true;
    if (a->type == CELL_INTEGER && b->type == CELL_INTEGER)
        return false;
    double x = a->type == CELL_REAL ? a->real : (double)a->integer;
    double y = b->type == CELL_REAL ? b->real : (double)b->integer;
    return isfinite(x) && isfinite(y) && fabs(x - y) <= MATCH_TOLERANCE * fmax(fabs(x), fabs(y));
}

static bool rows_close(const struct cell *a, const struct cell *b, int columns)
{
    for (int i = 0; i < columns; i++)
        if (!close_enough(&a[i], &b[i]))
            return false;
    return true;
}

static int compare_rows(const struct cell *a, const struct cell *b, int columns,
                        int (*compare)(const struct cell *, const struct cell *))
{
    int way = 0;
    for (int i = 0; i < columns && !way; i++)
        way = compare(&a[i], &b[i]);
    return way;
}

/* A row as a pointer. It has its width, because qsort passes no context. */
struct row {
    const struct cell *cells;
    int columns;
    bool taken;
};

/* Sorts first by the parts that must be identical, then by numbers, so that nearly equal rows are adjacent. */
static int by_row(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int way = compare_rows(x->cells, y->cells, x->columns, compare_rest);
    return way ? way : compare_rows(x->cells, y->cells, x->columns, cell_compare);
}

static struct row *sorted_rows(const struct exec_result *r)
{
    struct row *rows = xcalloc((size_t)r->n + 1, sizeof *rows);
    for (int64_t i = 0; i < r->n; i++)
        rows[i] = (struct row){ r->cells + i * r->columns, r->columns, false };
    qsort(rows, (size_t)r->n, sizeof *rows, by_row);
    return rows;
}

/* Takes the first free row of b, from index `from` on, that is close to a. */
static bool take_close(const struct row *a, struct row *b, int64_t from, int64_t n)
{
    for (int64_t i = from; i < n && compare_rows(a->cells, b[i].cells, a->columns, compare_rest) == 0; i++)
        if (!b[i].taken && rows_close(a->cells, b[i].cells, a->columns)) {
            b[i].taken = true;
            return true;
        }
    return false;
}

/* Pairs each row of a with a close row of b. Close rows are near each other after sorting, so the search is short. */
static bool pair_rows(const struct row *a, struct row *b, int64_t n)
{
    int64_t from = 0;
    for (int64_t i = 0; i < n; i++) {
        while (from < n && b[from].taken)
            from++;
        if (!take_close(&a[i], b, from, n))
            return false;
    }
    return true;
}

static bool match_in_order(const struct exec_result *a, const struct exec_result *b)
{
    for (int64_t i = 0; i < a->n; i++)
        if (!rows_close(a->cells + i * a->columns, b->cells + i * a->columns, a->columns))
            return false;
    return true;
}

bool match_rows(const struct exec_result *a, const struct exec_result *b, bool ordered)
{
    if (a->n != b->n || a->columns != b->columns)
        return false;
    if (ordered)
        return match_in_order(a, b);
    struct row *x = sorted_rows(a), *y = sorted_rows(b);
    bool same = pair_rows(x, y, a->n);
    free(x);
    free(y);
    return same;
}
