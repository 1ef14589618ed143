#include "data/sqlite/sqlite_view_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct view_file *file_of(sqlite3_file *f)
{
    return (struct view_file *)f;
}

static struct sqlite_view *view_of(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* The system's own, below. */
static sqlite3_vfs *real_vfs(void)
{
    return sqlite3_vfs_find("unix");
}

/* -1 says in `trouble` why the file cannot be read.  Nothing but a regular file is opened: a pipe would wait. */
static int check_regular(struct sqlite_view *v, const char *path, const struct stat *st)
{
    if (S_ISREG(st->st_mode) && access(path, R_OK) == 0)
        return 0;
    snprintf(v->trouble, sizeof v->trouble, "%.400s: %s", path,
             S_ISREG(st->st_mode) ? strerror(errno) : "expected a regular file");
    return -1;
}

/* The file on the disk, for reading alone; what is missing becomes an empty file where it may be made. */
static int open_real(struct sqlite_view *v, struct view_file *f, const char *path, int flags)
{
    const int making = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE | SQLITE_OPEN_DELETEONCLOSE;
    sqlite3_file *real = (sqlite3_file *)(f + 1);
    struct stat st;
    int got;

    if (stat(path, &st))
        return flags & SQLITE_OPEN_CREATE ? SQLITE_OK : SQLITE_CANTOPEN;
    if (check_regular(v, path, &st))
        return SQLITE_CANTOPEN;
    real->pMethods = NULL;
    int rc = real_vfs()->xOpen(real_vfs(), path, real, (flags & ~making) | SQLITE_OPEN_READONLY, &got);
    if (rc == SQLITE_OK)
        f->real = real;
    return rc;
}

static int open_main(struct sqlite_view *v, struct view_file *f, const char *path, int flags)
{
    int rc = v->real ? SQLITE_CANTOPEN : open_real(v, f, path, flags & ~SQLITE_OPEN_CREATE);

    if (rc != SQLITE_OK)
        return rc;
    v->real = f->real;
    free(v->journal);
    free(v->wal);
    CHECK(asprintf(&v->journal, "%s-journal", path) >= 0 && asprintf(&v->wal, "%s-wal", path) >= 0, "out of memory");
    f->base.pMethods = &view_main_methods;
    return SQLITE_OK;
}

/* Zeros behind its end. */
static void read_wal_header(const struct sqlite_view *v, char *header)
{
    memset(header, 0, VIEW_WAL_HEADER);
    if (v->real_wal)
        v->real_wal->pMethods->xRead(v->real_wal, header, VIEW_WAL_HEADER, 0);
}

bool sqlite_view_wal_goes_on(const struct sqlite_view *v)
{
    char header[VIEW_WAL_HEADER];

    read_wal_header(v, header);
    return !v->real_wal || memcmp(header, v->wal_header, sizeof header) == 0;
}

static int open_wal(struct sqlite_view *v, struct view_file *f, const char *path, int flags)
{
    int rc = open_real(v, f, path, flags);

    if (rc != SQLITE_OK)
        return rc;
    v->wal_missing = !f->real;
    v->real_wal = f->real;
    read_wal_header(v, v->wal_header);
    f->note = VIEW_WITH_WAL;
    f->base.pMethods = &view_beside_methods;
    return SQLITE_OK;
}

/* A super-journal is a list of other databases' journals, by which SQLite decides when to delete it: an empty one will
 * do.  Temporary files are not made. */
static int open_in_view(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *got)
{
    struct sqlite_view *v = view_of(vfs);
    struct view_file *f = file_of(file);
    int rc = SQLITE_CANTOPEN;

    *f = (struct view_file){ .view = v };
    if (flags & SQLITE_OPEN_MAIN_DB)
        rc = open_main(v, f, path, flags);
    else if (flags & SQLITE_OPEN_WAL)
        rc = open_wal(v, f, path, flags);
    else if (flags & SQLITE_OPEN_SUPER_JOURNAL)
        rc = SQLITE_OK;
    else if (flags & SQLITE_OPEN_MAIN_JOURNAL && !v->journal_gone)
        rc = open_real(v, f, path, flags & ~SQLITE_OPEN_CREATE);
    if (rc == SQLITE_OK && !f->base.pMethods)
        f->base.pMethods = &view_beside_methods;
    if (got)
        *got = flags;
    return rc;
}

static int delete_in_view(sqlite3_vfs *vfs, const char *path, int sync)
{
    struct sqlite_view *v = view_of(vfs);

    (void)sync;
    if (v->journal && strcmp(path, v->journal) == 0)
        v->journal_gone = true;
    if (v->wal && strcmp(path, v->wal) == 0)
        v->wal_gone = true;
    return SQLITE_OK;
}

static int access_in_view(sqlite3_vfs *vfs, const char *path, int how, int *result)
{
    const struct sqlite_view *v = view_of(vfs);
    bool gone = (v->journal_gone && strcmp(path, v->journal) == 0) || (v->wal_gone && strcmp(path, v->wal) == 0);

    *result = 0;
    return gone ? SQLITE_OK : real_vfs()->xAccess(real_vfs(), path, how, result);
}

/* SQLite that runs as root would give a -shm file to the owner of the database. */
static int leave_owner(int fd, unsigned user, unsigned group)
{
    (void)fd, (void)user, (void)group;
    return 0;
}

struct sqlite_view *sqlite_view_new(bool alone)
{
    struct sqlite_view *v = xcalloc(1, sizeof *v);
    sqlite3_vfs *real = real_vfs();

    CHECK(real, "SQLite has no file system \"unix\"");
    if (real->iVersion >= 3)
        real->xSetSystemCall(real, "fchown", (sqlite3_syscall_ptr)leave_owner);
    v->alone = alone;
    snprintf(v->name, sizeof v->name, "view-%p", (void *)v);
    v->vfs = *real; /* of which clock, random numbers and full names are taken */
    v->vfs.iVersion = 2;
    v->vfs.pNext = NULL;
    v->vfs.zName = v->name;
    v->vfs.pAppData = v;
    v->vfs.szOsFile = (int)sizeof(struct view_file) + real->szOsFile;
    v->vfs.xOpen = open_in_view;
    v->vfs.xDelete = delete_in_view;
    v->vfs.xAccess = access_in_view;
    CHECK(sqlite3_vfs_register(&v->vfs, 0) == SQLITE_OK, "no room for a file system");
    return v;
}

void sqlite_view_free(struct sqlite_view *v)
{
    if (!v)
        return;
    sqlite3_vfs_unregister(&v->vfs);
    overlay_release(&v->written);
    free(v->journal);
    free(v->wal);
    free(v);
}

const char *sqlite_view_name(const struct sqlite_view *v)
{
    return v->name;
}

unsigned sqlite_view_notes(const struct sqlite_view *v)
{
    return v->notes;
}

bool sqlite_view_is_private(const struct sqlite_view *v)
{
    return v->alone || v->shm == SHM_OWN || v->wal_missing || v->journal_gone || v->wal_gone || v->written.changed;
}

const char *sqlite_view_trouble(const struct sqlite_view *v)
{
    return *v->trouble ? v->trouble : NULL;
}
