/* Part of connection.h: a database file that others write to, or put another one in place of.
 *
 * SQLite's locks keep a statement's state whole where others hold to them.  Where a view is private (sqlite_view.h), or
 * the file is another one now, the state of the files tells.
 */
#include "data/util/log.h"
#include "data/worker/connection_impl.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 20 };

/* How long another program's lock is waited for, if the statement has so many seconds. */
static const double LOCKED_SECONDS = 10;

/* SQLite's busy handler: 0 gives up. */
static int wait_for_lock(void *of, int count)
{
    enum { SHORT = 1, LONG = 10 }; /* milliseconds */
    const struct connection *db = of;
    double now = now_seconds(), begun = db->deadline - db->limits.seconds;

    if (now > db->deadline - 0.1 || now > begun + LOCKED_SECONDS)
        return 0;
    sqlite3_sleep(count < 10 ? SHORT : LONG);
    return 1;
}

int connection_open_file(struct connection *db, struct error *err)
{
    database_state_look(&db->state, db->path);
    int rc = sqlite_open_file(&db->file, db->path, db->ways, CONNECTION_MAX_VALUE, err);
    db->db = db->file.db;
    if (rc == 0 && (rc = connection_set_up(db, err)) == 0)
        sqlite3_busy_handler(db->db, wait_for_lock, db);
    if (rc)
        connection_close_file(db);
    return rc;
}

void connection_close_file(struct connection *db)
{
    if (!db->path)
        return;
    db->notes |= db->file.view ? sqlite_view_notes(db->file.view) : 0;
    sqlite_close_file(&db->file);
    db->db = NULL;
    connection_unguard(db);
}

unsigned connection_notes(const struct connection *db)
{
    return db->notes | (db->file.view ? sqlite_view_notes(db->file.view) : 0);
}

/* What goes wrong with a statement is told without the path, as if the file had been open. */
static int open_for_statement(struct connection *db)
{
    struct error err = { 0 };
    size_t n = strlen(db->path);

    if (connection_open_file(db, &err) == 0)
        return 0;
    bool named = strncmp(err.text, db->path, n) == 0 && strncmp(err.text + n, ": ", 2) == 0;
    return connection_end(db, EXEC_FAILED, "%s", named ? err.text + n + 2 : err.text);
}

/* Takes the lock that was given back. */
static int wake(struct connection *db)
{
    int rc, count = 0;

    while ((rc = sqlite_view_wake(db->file.view)) == SQLITE_BUSY && wait_for_lock(db, count))
        count++;
    return rc == SQLITE_OK ? 0 : connection_end_sqlite(db, rc);
}

int connection_refresh(struct connection *db)
{
    struct database_state now;

    if (!db->path)
        return 0;
    if (db->db && wake(db))
        return -1;
    database_state_look(&now, db->path);
    if (db->db && database_state_same(&db->state, &now))
        return 0;
    if (db->db)
        db->ways = 0;
    connection_close_file(db);
    return open_for_statement(db);
}

/* The statement begins anew, in what is left of its time. */
static void begin_again(struct connection *db)
{
    double deadline = db->deadline;

    connection_begin(db);
    db->deadline = deadline;
}

static bool may_run_again(struct connection *db, int tries)
{
    if (tries < TRIES && now_seconds() < db->deadline)
        return true;
    db->status = EXEC_OK;
    connection_end(db, EXEC_FAILED,
                   "the database changes faster than it can be read: its -shm file, whose locks would "
                   "keep writers apart, is missing or cannot be used");
    return false;
}

bool connection_is_torn(struct connection *db, int tries)
{
    if (!db->path || !db->db)
        return false;
    bool torn = sqlite_file_is_torn(&db->file, db->path, &db->state), young = db->state.young;
    unsigned ways = torn ? 0 : sqlite_better_ways(db->ways, db->code);
    bool hot = db->code == SQLITE_READONLY_ROLLBACK; /* so it seems for a moment while a writer begins */
    if (!torn && !hot && ways == db->ways)
        return false;
    connection_close_file(db);
    if (!may_run_again(db, tries))
        return false;
    if (torn && young)
        sqlite3_sleep((int)(1e3 * DATABASE_STATE_SETTLES));
    db->ways = ways;
    begin_again(db);
    return true;
}

void connection_rest(struct connection *db)
{
    if (db->path && db->db && !sqlite_view_rest(db->file.view))
        connection_close_file(db);
}
