#include "data/score/ambiqt_exec.h"

#include "data/exec/db_path.h"
#include "data/score/score.h"
#include "data/util/strings.h"

#include <stdlib.h>
#include <string.h>

/* Exact, where converting the integer would round it. */
static int compare_mixed(int64_t i, double d)
{
    if (d >= 0x1p63)
        return -1;
    if (d < -0x1p63)
        return 1;
    int64_t whole = (int64_t)d;
    double rest = d - (double)whole;
    if (i != whole)
        return i < whole ? -1 : 1;
    return (rest < 0) - (rest > 0);
}

static int compare_numbers(const struct cell *a, const struct cell *b)
{
    if (a->type == CELL_INTEGER && b->type == CELL_INTEGER)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->type == CELL_INTEGER)
        return compare_mixed(a->integer, b->real);
    if (b->type == CELL_INTEGER)
        return -compare_mixed(b->integer, a->real);
    return (a->real > b->real) - (a->real < b->real);
}

static int compare_cells(const struct cell *a, const struct cell *b)
{
    static const int classes[] = {
        [CELL_NULL] = 0, [CELL_INTEGER] = 1, [CELL_REAL] = 1, [CELL_TEXT] = 2, [CELL_BLOB] = 3
    };
    int x = classes[a->type], y = classes[b->type];

    if (x != y)
        return x - y;
    if (x == 0)
        return 0;
    if (x == 1)
        return compare_numbers(a, b);
    int order = memcmp(a->bytes, b->bytes, (size_t)(a->n < b->n ? a->n : b->n));
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

static int compare_rows(const void *a, const void *b, void *columns)
{
    for (int c = 0; c < *(int *)columns; c++) {
        int order = compare_cells(*(const struct cell *const *)a + c, *(const struct cell *const *)b + c);
        if (order)
            return order;
    }
    return 0;
}

/* Pointers to the rows, sorted and each once when they are a set; *n of them.  The caller frees. */
static const struct cell **gather_rows(const struct exec_result *r, bool ordered, int64_t *n)
{
    const struct cell **rows = xcalloc((size_t)r->n + 1, sizeof *rows);
    int columns = r->columns;

    *n = r->n;
    for (int64_t i = 0; i < r->n; i++)
        rows[i] = r->cells + i * columns;
    if (ordered)
        return rows;
    qsort_r(rows, (size_t)r->n, sizeof *rows, compare_rows, &columns);
    *n = 0;
    for (int64_t i = 0; i < r->n; i++)
        if (i == 0 || compare_rows(&rows[i], &rows[*n - 1], &columns))
            rows[(*n)++] = rows[i];
    return rows;
}

bool ambiqt_same_rows(const struct exec_result *a, const struct exec_result *b, bool ordered)
{
    int columns = a->columns;
    int64_t n_a, n_b;

    if (a->n == 0 || b->n == 0)
        return a->n == b->n;
    if (a->columns != b->columns)
        return false;
    const struct cell **x = gather_rows(a, ordered, &n_a), **y = gather_rows(b, ordered, &n_b);
    bool same = n_a == n_b;
    for (int64_t i = 0; same && i < n_a; i++)
        same = compare_rows(&x[i], &y[i], &columns) == 0;
    free(x);
    free(y);
    return same;
}

/* The last item of b with the key of a's item i, or -1. */
static int last_with_key(const struct spider_query *a, int i, const struct spider_query *b)
{
    int j = spider_query_items(b) - 1;
    while (j >= 0 && !spider_same_key(a, i, b, j))
        j--;
    return j;
}

static bool same_column(const struct exec_result *a, int i, const struct exec_result *b, int j)
{
    bool same = a->n == b->n;

    for (int64_t row = 0; same && row < a->n; row++)
        same = compare_cells(&a->cells[row * a->columns + i], &b->cells[row * b->columns + j]) == 0;
    return same;
}

/* A select list that is longer than the result is wide has no columns to compare, if there are rows. */
static bool too_narrow(const struct exec_result *r, const struct spider_query *q)
{
    return r->n > 0 && spider_query_items(q) > r->columns;
}

bool ambiqt_same_columns(const struct exec_result *a, const struct spider_query *a_query, const struct exec_result *b,
                         const struct spider_query *b_query)
{
    bool same = !too_narrow(a, a_query) && !too_narrow(b, b_query);

    for (int i = 0; same && i < spider_query_items(a_query); i++) {
        int mine = last_with_key(a_query, i, a_query), theirs = last_with_key(a_query, i, b_query);
        same = theirs >= 0 && same_column(a, mine, b, theirs);
    }
    for (int j = 0; same && j < spider_query_items(b_query); j++)
        same = last_with_key(b_query, j, a_query) >= 0;
    return same;
}

enum { MAX_BYTES = 256 << 20 }; /* of results that are kept */

struct ambiqt_runner {
    const char *databases; /* as in db_path.h */
    struct exec_limits limits;
    char *db_id;
    struct exec_db *db;
    struct strings sql;
    struct exec_result **results; /* of each sql */
    int cap;
    int64_t bytes;
};

struct ambiqt_runner *ambiqt_runner_new(const char *db, bool python_text)
{
    struct ambiqt_runner *r = xcalloc(1, sizeof *r);
    r->databases = db;
    r->limits = exec_limits_default;
    r->limits.python_text = python_text;
    return r;
}

static void leave(struct ambiqt_runner *r)
{
    for (int i = 0; i < r->sql.n; i++) {
        exec_result_release(r->results[i]);
        free(r->results[i]);
    }
    r->bytes = 0;
    strings_release(&r->sql);
    exec_close(r->db);
    free(r->db_id);
    r->db = NULL;
    r->db_id = NULL;
}

void ambiqt_runner_free(struct ambiqt_runner *r)
{
    if (!r)
        return;
    leave(r);
    free(r->results);
    free(r);
}

int ambiqt_runner_use(struct ambiqt_runner *r, const char *db_id, struct error *err)
{
    if (r->db_id && strcmp(r->db_id, db_id) == 0 && r->bytes < MAX_BYTES)
        return 0;
    leave(r);
    char *path = db_path(r->databases, db_id, err);
    if (path && (r->db = exec_open(path, &r->limits, err)))
        r->db_id = xstrdup(db_id);
    free(path);
    return r->db ? 0 : -1;
}

const struct exec_result *ambiqt_run(struct ambiqt_runner *r, const char *sql)
{
    int known = strings_find(&r->sql, sql);
    if (known >= 0)
        return r->results[known];
    GROW(r->results, r->sql.n, r->cap);
    struct exec_result *result = xmalloc(sizeof *result);
    *result = exec_run(r->db, sql);
    r->bytes += result->bytes;
    return r->results[strings_add(&r->sql, sql)] = result;
}
