/* sqlite_view_impl.h - a view, and what its parts share. */
#ifndef DATA_SQLITE_SQLITE_VIEW_IMPL_H
#define DATA_SQLITE_SQLITE_VIEW_IMPL_H

#include "data/sqlite/file_overlay.h"
#include "data/sqlite/sqlite_view.h"

#include <sqlite3.h>

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
    bool journal_gone, wal_gone;      /* deleted, as far as this view goes */
    bool wal_missing;                 /* there was none when it was opened */
    sqlite3_file *real_wal;           /* NULL: not open, or there is none */
    char wal_header[VIEW_WAL_HEADER]; /* when it was opened */
    unsigned notes;
    char trouble[640];
    /* the database */
    sqlite3_file *real;
    int level;    /* of the lock that SQLite believes to have */
    bool resting; /* the real lock was given back */
    struct file_overlay written;
    /* the index of the -wal file */
    enum shm_kind shm;
    void **regions; /* of SHM_OWN */
    int n_regions, region_bytes;
};

/* Any file that SQLite has open in a view.  `real` is NULL where nothing lies on the disk. */
struct view_file {
    sqlite3_file base;
    struct sqlite_view *view;
    sqlite3_file *real;
    unsigned note; /* what it is when pages are read from it */
};

/* The methods of the database, and of the files beside it. */
extern const sqlite3_io_methods view_main_methods, view_beside_methods;

int view_shm_map(sqlite3_file *f, int region, int bytes, int extend, void volatile **at);
int view_shm_lock(sqlite3_file *f, int offset, int n, int flags);
void view_shm_barrier(sqlite3_file *f);
int view_shm_unmap(sqlite3_file *f, int delete);

#endif
