#include "data/sqlite/sqlite_open.h"

#include "data/base/whole_file.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The URI of a path, with all but plain characters escaped.  A -shm file is opened read-only.  The caller frees the
 * URI. */
static char *file_uri(const char *path, const struct sqlite_view *view)
{
    size_t n = strlen(path), used = 5;
    char *uri = xmalloc(3 * n + 96);

    memcpy(uri, "file:", 6);
    for (size_t i = 0; i < n; i++) {
        char c = path[i];
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || strchr("/._-", c);
        used += (size_t)snprintf(uri + used, 4, plain ? "%c" : "%%%02X", (unsigned char)c);
    }
    snprintf(uri + used, 96, "?readonly_shm=1&vfs=%s", sqlite_view_name(view));
    return uri;
}

static int open_uri(sqlite3 **db, const char *uri, const char *path, int flags, int max_bytes, struct error *err)
{
    int rc = sqlite3_open_v2(uri, db, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc != SQLITE_OK)
        return error_set(err, EXIT_CODE_DATA, "%s: %s", path, *db ? sqlite3_errmsg(*db) : sqlite3_errstr(rc));
    sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, max_bytes);
    sqlite3_limit(*db, SQLITE_LIMIT_ATTACHED, 0);
    return 0;
}

/* Checks the path by stat only.  Opening and closing the file would drop the locks that other connections of the
 * process hold on it. */
static int check_file(const char *path, struct error *err)
{
    struct stat st;

    if (stat(path, &st))
        return 0; /* SQLite reports a missing file */
    if (S_ISDIR(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: %s, expected a file", path, strerror(EISDIR));
    if (!S_ISREG(st.st_mode))
        return error_set(err, EXIT_CODE_DATA, "%s: expected a regular file, got a pipe or device", path);
    if (st.st_size > DATABASE_MAX_BYTES)
        return error_set(err, EXIT_CODE_DATA, "%s: expected at most %lld bytes, got %lld", path,
                         (long long)DATABASE_MAX_BYTES, (long long)st.st_size);
    return access(path, R_OK) ? error_set(err, EXIT_CODE_DATA, "%s: %s", path, strerror(errno)) : 0;
}

/* Rolls back a journal through a second connection to which SQLite may write.  It does so with its first lock, does not
 * read the schema and closes again.  A lock of another program is not an error, since the next statement meets it
 * again. */
static int recover(struct sqlite_view *view, const char *uri, const char *path, struct error *err)
{
    enum { MILLISECONDS = 200, HEADER = 1 << 16 };
    sqlite3 *db;
    int rc = open_uri(&db, uri, path, SQLITE_OPEN_URI | SQLITE_OPEN_READWRITE, HEADER, err);

    if (rc == 0) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* leaves a -wal file to the reader */
        sqlite3_busy_timeout(db, MILLISECONDS);
        int code = sqlite3_exec(db, "PRAGMA schema_version", NULL, NULL, NULL);
        const char *trouble = sqlite_view_trouble(view);
        if (code != SQLITE_OK && code != SQLITE_BUSY)
            rc = error_set(err, EXIT_CODE_DATA, "%s: %s", path, trouble ? trouble : sqlite3_errmsg(db));
    }
    sqlite3_close(db);
    return rc;
}

int sqlite_open_file(struct sqlite_file *f, const char *path, unsigned ways, int max_bytes, struct error *err)
{
    *f = (struct sqlite_file){ 0 };
    if (check_file(path, err))
        return -1;
    f->view = sqlite_view_new(ways & OPEN_ALONE);
    char *uri = file_uri(path, f->view);
    int rc = ways & OPEN_RECOVER ? recover(f->view, uri, path, err) : 0;
    if (rc == 0)
        rc = open_uri(&f->db, uri, path, SQLITE_OPEN_URI | SQLITE_OPEN_READONLY, max_bytes, err);
    free(uri);
    return rc;
}

unsigned sqlite_better_ways(unsigned ways, int code)
{
    int primary = code & 0xff;
    bool locks = primary == SQLITE_IOERR && code != SQLITE_IOERR_NOMEM && code != SQLITE_IOERR_READ;

    if (code == SQLITE_READONLY_ROLLBACK)
        return ways | OPEN_RECOVER;
    if (primary == SQLITE_READONLY || primary == SQLITE_CANTOPEN || primary == SQLITE_PROTOCOL || locks)
        return ways | OPEN_ALONE;
    return ways;
}

/* Frames are only appended to a -wal file until its header is rewritten. */
bool sqlite_file_is_torn(const struct sqlite_file *f, const char *path, const struct database_state *before)
{
    struct database_state now;

    if (!sqlite_view_is_private(f->view))
        return false;
    database_state_look(&now, path);
    return !database_state_same_but_wal(before, &now) || !sqlite_view_wal_goes_on(f->view);
}

void sqlite_close_file(struct sqlite_file *f)
{
    sqlite3_close(f->db);
    sqlite_view_free(f->view);
    *f = (struct sqlite_file){ 0 };
}

int sqlite_open_memory(sqlite3 **db, int max_bytes, struct error *err)
{
    *db = NULL;
    return open_uri(db, ":memory:", "a database in memory", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, max_bytes, err);
}

enum { TRIES = 20, LOCKED_MILLISECONDS = 10000, MAX_BYTES = 1 << 30 };

/* Returns SQLite's code for the copy.  A code that only `to` has is a write error. */
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

/* A single file must not be in WAL mode, since it has no -wal file. */
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
