#include "data/sqlite/sqlite_view.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file with changes in memory: copy-on-write of blocks. */

enum { BLOCK = 4096 };

/* Reads n bytes at offset `at` of the file below; bytes behind its end are zeros.  Returns 0, or another number on
 * error. */
typedef int overlay_read_fn(void *below, void *to, int64_t n, int64_t at);

/* A zeroed struct has no changes. */
struct file_overlay {
    bool changed;
    int64_t size;                 /* size of the file with its changes, if there are any */
    int64_t below_end;            /* the file below counts up to this offset only */
    struct overlay_block *blocks; /* open-addressed hash table */
    int64_t n, cap;
};

struct overlay_block {
    int64_t number;
    uint8_t *bytes; /* NULL: a free slot */
};

/* Starts the changes of a file of this size. */
static void overlay_begin(struct file_overlay *o, int64_t size)
{
    if (!o->changed)
        *o = (struct file_overlay){ .changed = true, .size = size, .below_end = size };
}

static struct overlay_block *slot(const struct file_overlay *o, int64_t number)
{
    uint64_t i = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 20;

    for (;; i++) {
        struct overlay_block *b = &o->blocks[i & (uint64_t)(o->cap - 1)];
        if (!b->bytes || b->number == number)
            return b;
    }
}

/* Keeps at least half of the slots free. */
static void grow(struct file_overlay *o)
{
    struct overlay_block *old = o->blocks;
    int64_t cap = o->cap;

    if (2 * (o->n + 1) <= o->cap)
        return;
    o->cap = cap ? 2 * cap : 64;
    o->blocks = xcalloc((size_t)o->cap, sizeof *o->blocks);
    for (int64_t i = 0; i < cap; i++)
        if (old[i].bytes)
            *slot(o, old[i].number) = old[i];
    free(old);
}

static int read_below(const struct file_overlay *o, uint8_t *to, int64_t n, int64_t at, overlay_read_fn *read,
                      void *below)
{
    int64_t there = at < o->below_end ? o->below_end - at : 0;

    there = there < n ? there : n;
    memset(to + there, 0, (size_t)(n - there));
    return there ? read(below, to, there, at) : 0;
}

/* Number of the n bytes at `at` that lie in the first block. */
static int64_t within(int64_t n, int64_t at)
{
    int64_t left = BLOCK - at % BLOCK;
    return n < left ? n : left;
}

/* Reads n bytes at `at`, with zeros behind the end.  Returns 0 or the error of `read`. */
static int overlay_read(const struct file_overlay *o, void *to, int64_t n, int64_t at, overlay_read_fn *read,
                        void *below)
{
    uint8_t *p = to;

    for (int64_t k; n; p += k, at += k, n -= k) {
        const struct overlay_block *b = o->cap ? slot(o, at / BLOCK) : NULL;
        k = within(n, at);
        if (b && b->bytes) {
            memcpy(p, b->bytes + at % BLOCK, (size_t)k);
            continue;
        }
        int rc = read_below(o, p, k, at, read, below);
        if (rc)
            return rc;
    }
    return 0;
}

/* Finds the block, or copies it from the file below. */
static int take_block(struct file_overlay *o, uint8_t **bytes, int64_t number, int64_t max_bytes, overlay_read_fn *read,
                      void *below)
{
    grow(o);
    struct overlay_block *b = slot(o, number);
    if (!b->bytes) {
        if ((o->n + 1) * BLOCK > max_bytes)
            return 1;
        uint8_t *fresh = xmalloc(BLOCK);
        int rc = read_below(o, fresh, BLOCK, number * BLOCK, read, below);
        if (rc) {
            free(fresh);
            return rc;
        }
        *b = (struct overlay_block){ number, fresh };
        o->n++;
    }
    *bytes = b->bytes;
    return 0;
}

/* Returns 0, 1 if the changes would exceed max_bytes, or the error of `read`. */
static int overlay_write(struct file_overlay *o, const void *from, int64_t n, int64_t at, int64_t max_bytes,
                         overlay_read_fn *read, void *below)
{
    const uint8_t *p = from;
    int64_t end = at + n;

    for (int64_t k; n; p += k, at += k, n -= k) {
        uint8_t *bytes;
        int rc = take_block(o, &bytes, at / BLOCK, max_bytes, read, below);
        if (rc)
            return rc;
        k = within(n, at);
        memcpy(bytes + at % BLOCK, p, (size_t)k);
    }
    o->size = end > o->size ? end : o->size;
    return 0;
}

/* Shortens the file, or extends it by zeros. */
static void overlay_truncate(struct file_overlay *o, int64_t size)
{
    o->size = size;
    o->below_end = size < o->below_end ? size : o->below_end;
    for (int64_t i = 0; i < o->cap; i++) {
        struct overlay_block *b = &o->blocks[i];
        int64_t kept = b->bytes ? size - b->number * BLOCK : BLOCK;
        kept = kept < 0 ? 0 : kept;
        if (kept < BLOCK)
            memset(b->bytes + kept, 0, (size_t)(BLOCK - kept));
    }
}

static void overlay_release(struct file_overlay *o)
{
    for (int64_t i = 0; i < o->cap; i++)
        free(o->blocks[i].bytes);
    free(o->blocks);
    *o = (struct file_overlay){ 0 };
}

enum {
    VIEW_MAX_CHANGES = 128 << 20, /* bytes */
    VIEW_WAL_HEADER = 32
};

enum shm_kind { SHM_UNKNOWN, SHM_OF_OTHERS, SHM_OWN };

struct sqlite_view {
    sqlite3_vfs vfs;
    char name[32];
    bool alone;
    char *journal, *wal;              /* names of the files beside the database */
    bool journal_gone, wal_gone;      /* deleted within this view */
    bool wal_missing;                 /* there was no -wal file when it was opened */
    sqlite3_file *real_wal;           /* NULL: not open or missing */
    char wal_header[VIEW_WAL_HEADER]; /* header when the file was opened */
    unsigned notes;
    char trouble[640];
    /* the database file */
    sqlite3_file *real;
    int level;    /* lock level that SQLite assumes */
    bool resting; /* the real lock is released */
    struct file_overlay written;
    /* the index of the -wal file */
    enum shm_kind shm;
    void **regions; /* memory of SHM_OWN */
    int n_regions, region_bytes;
};

/* A file that SQLite has open in a view.  `real` is NULL if it does not exist on the disk. */
struct view_file {
    sqlite3_file base;
    struct sqlite_view *view;
    sqlite3_file *real;
    unsigned note; /* note to set when pages are read from the file */
};

static struct view_file *file_of(sqlite3_file *f)
{
    return (struct view_file *)f;
}

/* The index of the -wal file: either the -shm file that other programs maintain, or memory that SQLite fills from the
 * -wal file. */

enum { MAX_REGIONS = 4096 }; /* regions of 32 KiB, which index 64 GiB in pages of 4 KiB */

static struct sqlite_view *view_of(sqlite3_file *f)
{
    return file_of(f)->view;
}

static int map_own(struct sqlite_view *v, int region, int bytes, int extend, void volatile **at)
{
    *at = NULL;
    if (region >= MAX_REGIONS || (v->n_regions && bytes != v->region_bytes))
        return SQLITE_IOERR_SHMSIZE;
    if (region >= v->n_regions && !extend)
        return SQLITE_OK;
    v->region_bytes = bytes;
    while (v->n_regions <= region) {
        v->regions = xrealloc(v->regions, (size_t)(v->n_regions + 1) * sizeof *v->regions);
        v->regions[v->n_regions++] = xcalloc(1, (size_t)bytes);
    }
    *at = v->regions[region];
    return SQLITE_OK;
}

/* Maps the -shm file if it can be read, even if no program maintains it; SQLite detects that by its locks. */
static int view_shm_map(sqlite3_file *f, int region, int bytes, int extend, void volatile **at)
{
    struct sqlite_view *v = view_of(f);

    if (v->shm == SHM_UNKNOWN && v->alone)
        v->shm = SHM_OWN;
    if (v->shm == SHM_OWN)
        return map_own(v, region, bytes, extend, at);
    int rc = v->real->pMethods->xShmMap(v->real, region, bytes, 0, at);
    if (v->shm == SHM_UNKNOWN && (rc & 0xff) == SQLITE_CANTOPEN) {
        v->shm = SHM_OWN;
        return map_own(v, region, bytes, extend, at);
    }
    v->shm = SHM_OF_OTHERS;
    return rc;
}

static int view_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    struct sqlite_view *v = view_of(f);
    return v->shm == SHM_OWN ? SQLITE_OK : v->real->pMethods->xShmLock(v->real, offset, n, flags);
}

static void view_shm_barrier(sqlite3_file *f)
{
    struct sqlite_view *v = view_of(f);

    if (v->shm == SHM_OF_OTHERS)
        v->real->pMethods->xShmBarrier(v->real);
}

/* Never deletes the -shm file. */
static int view_shm_unmap(sqlite3_file *f, int delete)
{
    struct sqlite_view *v = view_of(f);
    int rc = v->shm == SHM_OF_OTHERS ? v->real->pMethods->xShmUnmap(v->real, 0) : SQLITE_OK;

    (void)delete;
    for (int i = 0; i < v->n_regions; i++)
        free(v->regions[i]);
    free(v->regions);
    v->regions = NULL;
    v->n_regions = 0;
    v->shm = SHM_UNKNOWN;
    return rc;
}

/* The database file.  Pages written in memory cover those on the disk.  Shared locks are real; the exclusive locks of a
 * recovery exist in the view only. */

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

/* Called before each change. */
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

/* A writer may have started after SQLite took the journal for one of a crash. */
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

static const sqlite3_io_methods view_main_methods = { .iVersion = 2,
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

/* Journals and -wal files, which are read-only. */

static sqlite3_file *real_of(sqlite3_file *f)
{
    return file_of(f)->real;
}

static int close_beside(sqlite3_file *f)
{
    struct sqlite_view *v = file_of(f)->view;
    sqlite3_file *real = real_of(f);

    if (real && real == v->real_wal)
        v->real_wal = NULL;
    return real ? real->pMethods->xClose(real) : SQLITE_OK;
}

/* SQLite reads whole frames of a -wal file to check them, and single pages of committed frames. */
static bool reads_page(int n, sqlite3_int64 at)
{
    enum { FIRST_PAGE = 32 + 24, SMALLEST = 512 };
    return at >= FIRST_PAGE && n >= SMALLEST && (n & (n - 1)) == 0;
}

static int read_beside(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(f);

    if (reads_page(n, at))
        file_of(f)->view->notes |= file_of(f)->note;
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

static const sqlite3_io_methods view_beside_methods = { .iVersion = 1,
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

/* The VFS, and the queries of a view. */

static struct sqlite_view *view_of_vfs(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

/* SQLite's own VFS, to which the view delegates. */
static sqlite3_vfs *real_vfs(void)
{
    return sqlite3_vfs_find("unix");
}

/* Returns -1 and sets `trouble` if the file cannot be read.  Only regular files are opened, since a pipe would
 * block. */
static int check_regular(struct sqlite_view *v, const char *path, const struct stat *st)
{
    if (S_ISREG(st->st_mode) && access(path, R_OK) == 0)
        return 0;
    snprintf(v->trouble, sizeof v->trouble, "%.400s: %s", path,
             S_ISREG(st->st_mode) ? strerror(errno) : "expected a regular file");
    return -1;
}

/* Opens the file on the disk read-only.  A missing file becomes an empty one if SQLite may create it. */
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

/* Reads the header; missing bytes are zeros. */
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

/* A super-journal lists the journals of other databases, by which SQLite decides when to delete it.  An empty one
 * suffices.  Temporary files are refused. */
static int open_in_view(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *got)
{
    struct sqlite_view *v = view_of_vfs(vfs);
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
    struct sqlite_view *v = view_of_vfs(vfs);

    (void)sync;
    if (v->journal && strcmp(path, v->journal) == 0)
        v->journal_gone = true;
    if (v->wal && strcmp(path, v->wal) == 0)
        v->wal_gone = true;
    return SQLITE_OK;
}

static int access_in_view(sqlite3_vfs *vfs, const char *path, int how, int *result)
{
    const struct sqlite_view *v = view_of_vfs(vfs);
    bool gone = (v->journal_gone && strcmp(path, v->journal) == 0) || (v->wal_gone && strcmp(path, v->wal) == 0);

    *result = 0;
    return gone ? SQLITE_OK : real_vfs()->xAccess(real_vfs(), path, how, result);
}

/* As root, SQLite would give a -shm file to the owner of the database. */
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
    v->vfs = *real; /* for the clock, random numbers and full path names */
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
