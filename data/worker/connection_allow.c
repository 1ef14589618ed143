/* Part of connection.h: what a statement may do: read, and call functions that only compute. */
#include "data/util/strings.h"
#include "data/worker/connection_impl.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* More than any question asks, one for each column that a table may have; each may work on CONNECTION_MAX_VALUE bytes
 * before SQLite next looks at the limits. */
enum { MAX_CALLS = 2000 };

/* Sorted. */
static const char *const functions[] = {
    "->",
    "->>",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg",
    "bm25",
    "ceil",
    "ceiling",
    "changes",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "degrees",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "highlight",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_insert_rowid",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "match",
    "matchinfo",
    "max",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "offsets",
    "percent_rank",
    "pi",
    "pow",
    "power",
    "printf",
    "quote",
    "radians",
    "random",
    "randomblob",
    "rank",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sin",
    "sinh",
    "snippet",
    "soundex",
    "sqlite_version",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "tan",
    "tanh",
    "time",
    "timediff",
    "total",
    "total_changes",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unixepoch",
    "unlikely",
    "upper",
    "zeroblob",
};

static int compare(const void *name, const void *item)
{
    return strcasecmp(name, *(const char *const *)item);
}

static bool is_harmless(const char *name)
{
    return bsearch(name, functions, sizeof functions / sizeof *functions, sizeof *functions, compare) != NULL;
}

/* Functions that SQLite has beside the harmless ones. */
static struct strings others;

static int add_other(void *unused, int n, char **name, char **column)
{
    (void)unused, (void)n, (void)column;
    if (!is_harmless(*name))
        strings_add(&others, *name);
    return 0;
}

static void refuse(sqlite3_context *c, int n, sqlite3_value **v)
{
    (void)n, (void)v;
    sqlite3_result_error(c, "not allowed", -1);
}

int connection_hide_functions(struct connection *db)
{
    enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY };
    int rc =
        others.n ? SQLITE_OK : sqlite3_exec(db->plain, "SELECT name FROM pragma_function_list", add_other, NULL, NULL);

    for (int i = 0; i < others.n && rc == SQLITE_OK; i++)
        rc = sqlite3_create_function(db->db, others.items[i], -1, FLAGS, NULL, refuse, NULL, NULL);
    return rc == SQLITE_OK ? sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 1, NULL) : rc;
}

static int allow_function(struct connection *db, const char *name)
{
    if (++db->calls > MAX_CALLS)
        connection_end(db, EXEC_STOPPED, "more than %d calls of functions", MAX_CALLS);
    else if (!is_harmless(name))
        connection_end(db, EXEC_REFUSED, "the function %s is not allowed", name);
    else
        return SQLITE_OK;
    return SQLITE_DENY;
}

/* The actions of SQLite's authorizer, as a person calls them. */
static const char *action_name(int action)
{
    static const char *const names[] = {
        [SQLITE_CREATE_INDEX] = "CREATE INDEX",
        [SQLITE_CREATE_TABLE] = "CREATE TABLE",
        [SQLITE_CREATE_TEMP_INDEX] = "CREATE TEMP INDEX",
        [SQLITE_CREATE_TEMP_TABLE] = "CREATE TEMP TABLE",
        [SQLITE_CREATE_TEMP_TRIGGER] = "CREATE TEMP TRIGGER",
        [SQLITE_CREATE_TEMP_VIEW] = "CREATE TEMP VIEW",
        [SQLITE_CREATE_TRIGGER] = "CREATE TRIGGER",
        [SQLITE_CREATE_VIEW] = "CREATE VIEW",
        [SQLITE_DELETE] = "DELETE",
        [SQLITE_DROP_INDEX] = "DROP INDEX",
        [SQLITE_DROP_TABLE] = "DROP TABLE",
        [SQLITE_DROP_TRIGGER] = "DROP TRIGGER",
        [SQLITE_DROP_VIEW] = "DROP VIEW",
        [SQLITE_INSERT] = "INSERT",
        [SQLITE_PRAGMA] = "PRAGMA",
        [SQLITE_TRANSACTION] = "a transaction",
        [SQLITE_UPDATE] = "UPDATE",
        [SQLITE_ATTACH] = "ATTACH",
        [SQLITE_DETACH] = "DETACH",
        [SQLITE_ALTER_TABLE] = "ALTER TABLE",
        [SQLITE_REINDEX] = "REINDEX",
        [SQLITE_ANALYZE] = "ANALYZE",
        [SQLITE_CREATE_VTABLE] = "CREATE VIRTUAL TABLE",
        [SQLITE_DROP_VTABLE] = "DROP VIRTUAL TABLE",
        [SQLITE_SAVEPOINT] = "SAVEPOINT",
    };
    const char *name = action > 0 && action < ARRAY_LEN(names) ? names[action] : NULL;
    return name ? name : "this statement";
}

/* What the statements of a script do besides reading. */
static bool fills(int action)
{
    return action == SQLITE_CREATE_TABLE || action == SQLITE_CREATE_INDEX || action == SQLITE_CREATE_VIEW ||
           action == SQLITE_REINDEX || action == SQLITE_INSERT || action == SQLITE_DELETE ||
           action == SQLITE_TRANSACTION;
}

static bool is_among(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* What a table's columns are; and what virtual tables ask when they are opened. */
static bool allow_pragma(const struct connection *db, const char *name)
{
    static const char *const own[] = { "data_version", "page_size" };
    static const char *const schema[] = { "table_list", "table_xinfo", "foreign_key_list", "index_list", "index_info" };

    return is_among(name, own, ARRAY_LEN(own)) || (db->schema && is_among(name, schema, ARRAY_LEN(schema)));
}

/* An R-tree that is opened prepares how it would write, too; a statement of somebody else's that writes is refused
 * when it is prepared. */
static bool is_of_rtree(int action, const char *table)
{
    static const char *const ends[] = { "_node", "_rowid", "_parent" };
    bool writes = action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
    const char *end = writes ? strrchr(table, '_') : NULL;

    return end && is_among(end, ends, ARRAY_LEN(ends));
}

int connection_authorize(void *of, int action, const char *a, const char *b, const char *schema, const char *inner)
{
    struct connection *db = of;

    (void)schema, (void)inner;
    if (!connection_charge(db, 1)) /* names are looked up without a step of the machine, and views may multiply them */
        return SQLITE_DENY;
    if (action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE)
        return SQLITE_OK;
    if (action == SQLITE_FUNCTION)
        return allow_function(db, b);
    /* SQLite asks this when it sets up a virtual table or a table; direct writes to the schema are shut off */
    if (action == SQLITE_UPDATE && strcmp(a, "sqlite_master") == 0)
        return SQLITE_OK;
    if ((action == SQLITE_PRAGMA && allow_pragma(db, a)) || is_of_rtree(action, a))
        return SQLITE_OK;
    if (db->filling && fills(action))
        return SQLITE_OK;
    connection_end(db, EXEC_REFUSED, "%s is not allowed", action_name(action));
    return SQLITE_DENY;
}
