#include "data/sqlite/sqlite_copy.h"

#include "data/sqlite/sqlite_open.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

enum { TRIES = 20, LOCKED_MILLISECONDS = 10000, MAX_BYTES = 1 << 30 };

/* SQLite's code of the copying; a code of `to` alone is an error of writing. */
static int copy_pages(sqlite3 *to, sqlite3 *from)
{
    sqlite3_busy_timeout(from, LOCKED_MILLISECONDS);
    sqlite3_exec(to, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
    if (!b)
        return sqlite3_extended_errcode(to);
    int rc = sqlite3_backup_step(b, -1);
    int end = sqlite3_backup_finish(b);
    return rc == SQLITE_DONE ? end : rc;
}

/* One that stands alone is not in WAL mode. */
static int write_copy(sqlite3 *from, const char *path)
{
    sqlite3 *to = NULL;
    int rc = sqlite3_open(path, &to);

    if (rc == SQLITE_OK)
        rc = copy_pages(to, from);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    sqlite3_close(to);
    return rc;
}

static int copy_once(struct sqlite_file *f, const char *from, const char *to, unsigned *ways, bool *again,
                     struct error *err)
{
    struct database_state before;

    database_state_look(&before, from);
    if (sqlite_open_file(f, from, *ways, MAX_BYTES, err))
        return -1;
    int rc = write_copy(f->db, to);
    bool torn = sqlite_file_is_torn(f, from, &before);
    unsigned better = torn ? 0 : sqlite_better_ways(*ways, rc);
    *again = torn || better != *ways || rc == SQLITE_READONLY_ROLLBACK;
    *ways = better;
    if (torn)
        return error_set(err, EXIT_CODE_DATA, "%s: the database changes faster than it can be copied", from);
    const char *trouble = sqlite_view_trouble(f->view);
    return rc == SQLITE_OK ? 0
                           : error_set(err, EXIT_CODE_DATA, "%s: cannot copy to %s: %s", from, to,
                                       trouble ? trouble : sqlite3_errstr(rc));
}

int sqlite_copy(const char *from, const char *to, struct error *err)
{
    struct sqlite_file f = { 0 };
    unsigned ways = 0;
    bool again = true;
    int rc = -1;

    for (int tries = 0; rc && again && tries < TRIES; tries++) {
        unlink(to);
        if (tries > 2)
            sqlite3_sleep((int)(1e3 * DATABASE_STATE_SETTLES));
        again = false;
        rc = copy_once(&f, from, to, &ways, &again, err);
        sqlite_close_file(&f);
    }
    return rc;
}
