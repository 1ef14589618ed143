/* Part of sqlite_view.h: the database file: pages that were written in memory over those on the disk, real shared
 * locks, and the exclusive ones of a recovery, which nobody else sees. */
#include "data/sqlite/sqlite_view_impl.h"

#include <stdio.h>
#include <string.h>

static struct view_file *file_of(sqlite3_file *f)
{
    return (struct view_file *)f;
}

static int close_main(sqlite3_file *f)
{
    struct sqlite_view *v = file_of(f)->view;
    int rc = v->real->pMethods->xClose(v->real);

    v->real = NULL;
    v->level = SQLITE_LOCK_NONE;
    return rc;
}

static int read_real(void *below, void *to, int64_t n, int64_t at)
{
    sqlite3_file *real = below;
    int rc = real->pMethods->xRead(real, to, (int)n, at);
    return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : rc; /* the rest is zeros */
}

static int read_main(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    struct sqlite_view *v = file_of(f)->view;

    if (!v->written.changed)
        return v->real->pMethods->xRead(v->real, to, n, at);
    int rc = overlay_read(&v->written, to, n, at, read_real, v->real);
    return rc == SQLITE_OK && at + n > v->written.size ? SQLITE_IOERR_SHORT_READ : rc;
}

/* Before the first change. */
static int begin_changes(struct sqlite_view *v)
{
    sqlite3_int64 size = 0;
    int rc = v->written.changed ? SQLITE_OK : v->real->pMethods->xFileSize(v->real, &size);

    if (rc == SQLITE_OK)
        overlay_begin(&v->written, size);
    v->notes |= VIEW_ROLLED_BACK;
    return rc;
}

static int write_main(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    struct sqlite_view *v = file_of(f)->view;
    int rc = begin_changes(v);

    if (rc == SQLITE_OK)
        rc = overlay_write(&v->written, from, n, at, VIEW_MAX_CHANGES, read_real, v->real);
    if (rc != 1)
        return rc;
    snprintf(
        v->trouble, sizeof v->trouble,
        "%.400s: expected a journal that can be undone within %d MiB of memory; open the database once in a program "
        "that may write to it",
        v->journal, VIEW_MAX_CHANGES >> 20);
    return SQLITE_FULL;
}

static int truncate_main(sqlite3_file *f, sqlite3_int64 size)
{
    struct sqlite_view *v = file_of(f)->view;
    int rc = begin_changes(v);

    if (rc == SQLITE_OK)
        overlay_truncate(&v->written, size);
    return rc;
}

static int sync_main(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_OK;
}

static int size_main(sqlite3_file *f, sqlite3_int64 *size)
{
    struct sqlite_view *v = file_of(f)->view;

    if (!v->written.changed)
        return v->real->pMethods->xFileSize(v->real, size);
    *size = v->written.size;
    return SQLITE_OK;
}

static int check_reserved(sqlite3_file *f, int *reserved)
{
    struct sqlite_view *v = file_of(f)->view;

    *reserved = v->level >= SQLITE_LOCK_RESERVED;
    return *reserved ? SQLITE_OK : v->real->pMethods->xCheckReservedLock(v->real, reserved);
}

/* A writer may have begun since the journal was taken for one that a crash left. */
static int lock_in_private(sqlite3_file *f, int level)
{
    struct sqlite_view *v = file_of(f)->view;
    int reserved, rc = check_reserved(f, &reserved);

    if (rc == SQLITE_OK && reserved && v->level < SQLITE_LOCK_RESERVED)
        rc = SQLITE_BUSY;
    if (rc == SQLITE_OK)
        v->level = level;
    return rc;
}

static int lock_real(struct sqlite_view *v)
{
    int rc = v->real->pMethods->xLock(v->real, SQLITE_LOCK_SHARED);
    return rc != SQLITE_BUSY && v->alone ? SQLITE_OK : rc;
}

static int lock_main(sqlite3_file *f, int level)
{
    struct sqlite_view *v = file_of(f)->view;

    if (level <= v->level)
        return SQLITE_OK;
    if (level > SQLITE_LOCK_SHARED)
        return lock_in_private(f, level);
    int rc = lock_real(v);
    if (rc == SQLITE_OK)
        v->level = level;
    return rc;
}

static int unlock_main(sqlite3_file *f, int level)
{
    struct sqlite_view *v = file_of(f)->view;

    v->level = level < v->level ? level : v->level;
    if (level != SQLITE_LOCK_NONE)
        return SQLITE_OK;
    v->resting = false;
    int rc = v->real->pMethods->xUnlock(v->real, SQLITE_LOCK_NONE);
    return v->alone ? SQLITE_OK : rc;
}

bool sqlite_view_rest(struct sqlite_view *v)
{
    if (v->level == SQLITE_LOCK_NONE || v->resting)
        return true;
    if (!sqlite_view_is_private(v) || v->shm == SHM_OF_OTHERS)
        return false;
    v->real->pMethods->xUnlock(v->real, SQLITE_LOCK_NONE);
    return v->resting = true;
}

int sqlite_view_wake(struct sqlite_view *v)
{
    int rc = v->resting ? lock_real(v) : SQLITE_OK;

    if (rc == SQLITE_OK)
        v->resting = false;
    return rc;
}

static int control_main(sqlite3_file *f, int op, void *of)
{
    (void)f, (void)op, (void)of;
    return SQLITE_NOTFOUND;
}

static int sector_main(sqlite3_file *f)
{
    sqlite3_file *real = file_of(f)->view->real;
    return real->pMethods->xSectorSize(real);
}

static int no_characteristics(sqlite3_file *f)
{
    (void)f;
    return 0;
}

const sqlite3_io_methods view_main_methods = { .iVersion = 2,
                                               .xClose = close_main,
                                               .xRead = read_main,
                                               .xWrite = write_main,
                                               .xTruncate = truncate_main,
                                               .xSync = sync_main,
                                               .xFileSize = size_main,
                                               .xLock = lock_main,
                                               .xUnlock = unlock_main,
                                               .xCheckReservedLock = check_reserved,
                                               .xFileControl = control_main,
                                               .xSectorSize = sector_main,
                                               .xDeviceCharacteristics = no_characteristics,
                                               .xShmMap = view_shm_map,
                                               .xShmLock = view_shm_lock,
                                               .xShmBarrier = view_shm_barrier,
                                               .xShmUnmap = view_shm_unmap };
