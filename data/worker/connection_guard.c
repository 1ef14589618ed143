/* Part of connection.h: functions that are weighed before they are called.
 *
 * SQLite looks at its limits between steps, never inside a function.  These functions compare every part of one
 * argument with every part of another, or write as many characters as a number says: one call could take an hour.  So
 * ours are called first; they weigh the arguments and hand them on to SQLite's own, which a second connection still
 * has.
 */
#include "data/worker/connection_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_WORK = 1 << 26, /* pairs of bytes in one call, which take tenths of a second */
    WORK_PER_STEP = 64  /* what a step is charged for */
};

typedef double weigh_fn(int n, sqlite3_value **v);

static double weigh_pairs(int n, sqlite3_value **v)
{
    (void)n;
    return (double)sqlite3_value_bytes(v[0]) * sqlite3_value_bytes(v[1]);
}

/* All widths that a format asks for, as if each * took the largest argument. */
static double weigh_format(int n, sqlite3_value **v)
{
    const char *f = n ? (const char *)sqlite3_value_text(v[0]) : NULL;
    double largest = 0, sum = 0;

    for (int i = 1; i < n; i++) {
        double x = (double)sqlite3_value_int64(v[i]);
        largest = x > largest ? x : -x > largest ? -x : largest;
    }
    for (double width = 0; f && *f; f++) {
        width = *f >= '0' && *f <= '9' ? 10 * width + *f - '0' : 0;
        sum += *f == '*' ? largest : width;
    }
    enum { WORK_PER_CHARACTER = 32 };
    return WORK_PER_CHARACTER * sum;
}

static const struct guarded {
    const char *name;
    int arguments; /* -1: any number */
    weigh_fn *weigh;
} guarded[] = {
    { "format", -1, weigh_format }, { "glob", 2, weigh_pairs },    { "instr", 2, weigh_pairs },
    { "like", 2, weigh_pairs },     { "like", 3, weigh_pairs },    { "ltrim", 2, weigh_pairs },
    { "printf", -1, weigh_format }, { "replace", 3, weigh_pairs }, { "rtrim", 2, weigh_pairs },
    { "trim", 2, weigh_pairs },
};

struct guard {
    struct connection *db;
    const struct guarded *function;
    sqlite3_stmt *call; /* of SQLite's own; made when it is first needed, */
    int arguments;      /* with so many arguments */
};

static bool affordable(const struct guard *g, int n, sqlite3_value **v)
{
    double work = g->function->weigh(n, v);

    if (work > MAX_WORK)
        connection_end(g->db, EXEC_STOPPED, "one call of %s() asks for too much work", g->function->name);
    return work <= MAX_WORK && connection_charge(g->db, (int64_t)work / WORK_PER_STEP);
}

/* SELECT name(?,?,...), unless that is what there is. */
static int prepare_call(struct guard *g, int n)
{
    if (g->call && g->arguments == n)
        return SQLITE_OK;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "SELECT %s(", g->function->name);
    for (int i = 0; i < n; i++)
        sqlite3_str_appendall(sql, i ? ",?" : "?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    sqlite3_finalize(g->call);
    g->call = NULL;
    g->arguments = n;
    int rc = text ? sqlite3_prepare_v2(g->db->plain, text, -1, &g->call, NULL) : SQLITE_NOMEM;
    sqlite3_free(text);
    return rc;
}

static void call_plain(sqlite3_context *c, const struct guard *g, int n, sqlite3_value **v)
{
    for (int i = 0; i < n; i++)
        sqlite3_bind_value(g->call, i + 1, v[i]);
    if (sqlite3_step(g->call) == SQLITE_ROW) {
        sqlite3_result_value(c, sqlite3_column_value(g->call, 0));
    } else {
        sqlite3_result_error(c, sqlite3_errmsg(g->db->plain), -1);
        sqlite3_result_error_code(c, sqlite3_errcode(g->db->plain));
    }
    sqlite3_reset(g->call);
    sqlite3_clear_bindings(g->call);
}

static void call_guarded(sqlite3_context *c, int n, sqlite3_value **v)
{
    struct guard *g = sqlite3_user_data(c);

    if (!affordable(g, n, v))
        sqlite3_result_error_code(c, SQLITE_INTERRUPT);
    else if (prepare_call(g, n) != SQLITE_OK)
        sqlite3_result_error(c, sqlite3_errmsg(g->db->plain), -1);
    else
        call_plain(c, g, n, v);
}

int connection_guard(struct connection *db)
{
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

    if (sqlite_open_memory(&db->plain, CONNECTION_MAX_VALUE, NULL))
        return -1;
    db->guards = xcalloc(ARRAY_LEN(guarded), sizeof *db->guards);
    for (int i = 0; i < ARRAY_LEN(guarded); i++) {
        const struct guarded *f = &guarded[i];
        db->guards[i] = (struct guard){ .db = db, .function = f };
        if (sqlite3_create_function(db->db, f->name, f->arguments, FLAGS, &db->guards[i], call_guarded, NULL, NULL))
            return -1;
    }
    return 0;
}

void connection_unguard(struct connection *db)
{
    for (int i = 0; db->guards && i < ARRAY_LEN(guarded); i++)
        sqlite3_finalize(db->guards[i].call);
    free(db->guards);
    db->guards = NULL;
    sqlite3_close(db->plain);
    db->plain = NULL;
}
