/* Part of sqlite_view.h: journals and -wal files, which are read alone. */
#include "data/sqlite/sqlite_view_impl.h"

#include <string.h>

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct view_file *)f)->real;
}

static int close_beside(sqlite3_file *f)
{
    struct sqlite_view *v = ((struct view_file *)f)->view;
    sqlite3_file *real = real_of(f);

    if (real && real == v->real_wal)
        v->real_wal = NULL;
    return real ? real->pMethods->xClose(real) : SQLITE_OK;
}

/* SQLite checks whole frames of a -wal file; of those that count it reads the pages alone. */
static bool reads_page(int n, sqlite3_int64 at)
{
    enum { FIRST_PAGE = 32 + 24, SMALLEST = 512 };
    return at >= FIRST_PAGE && n >= SMALLEST && (n & (n - 1)) == 0;
}

static int read_beside(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(f);

    if (reads_page(n, at))
        ((struct view_file *)f)->view->notes |= ((struct view_file *)f)->note;
    if (real)
        return real->pMethods->xRead(real, to, n, at);
    memset(to, 0, (size_t)n);
    return n ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int write_beside(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    (void)f, (void)from, (void)n, (void)at;
    return SQLITE_IOERR_WRITE;
}

static int truncate_beside(sqlite3_file *f, sqlite3_int64 size)
{
    (void)f, (void)size;
    return SQLITE_IOERR_TRUNCATE;
}

static int sync_beside(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_OK;
}

static int size_beside(sqlite3_file *f, sqlite3_int64 *size)
{
    sqlite3_file *real = real_of(f);

    *size = 0;
    return real ? real->pMethods->xFileSize(real, size) : SQLITE_OK;
}

static int lock_nothing(sqlite3_file *f, int level)
{
    (void)f, (void)level;
    return SQLITE_OK;
}

static int reserve_nothing(sqlite3_file *f, int *reserved)
{
    (void)f;
    *reserved = 0;
    return SQLITE_OK;
}

static int control_nothing(sqlite3_file *f, int op, void *of)
{
    (void)f, (void)op, (void)of;
    return SQLITE_NOTFOUND;
}

static int no_number(sqlite3_file *f)
{
    (void)f;
    return 0;
}

const sqlite3_io_methods view_beside_methods = { .iVersion = 1,
                                                 .xClose = close_beside,
                                                 .xRead = read_beside,
                                                 .xWrite = write_beside,
                                                 .xTruncate = truncate_beside,
                                                 .xSync = sync_beside,
                                                 .xFileSize = size_beside,
                                                 .xLock = lock_nothing,
                                                 .xUnlock = lock_nothing,
                                                 .xCheckReservedLock = reserve_nothing,
                                                 .xFileControl = control_nothing,
                                                 .xSectorSize = no_number,
                                                 .xDeviceCharacteristics = no_number };
