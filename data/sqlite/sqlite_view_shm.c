/* Part of sqlite_view.h: the index of a -wal file: the one in the -shm file that other programs keep up, or one in
 * memory, which SQLite makes from the -wal file. */
#include "data/sqlite/sqlite_view_impl.h"

#include <stdlib.h>

enum { MAX_REGIONS = 4096 }; /* of 32 KiB each, which index 64 GiB in pages of 4 KiB */

static struct sqlite_view *view_of(sqlite3_file *f)
{
    return ((struct view_file *)f)->view;
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

/* Others' index where the -shm file can be read, even if nobody keeps it up: SQLite sees that by its locks. */
int view_shm_map(sqlite3_file *f, int region, int bytes, int extend, void volatile **at)
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

int view_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    struct sqlite_view *v = view_of(f);
    return v->shm == SHM_OWN ? SQLITE_OK : v->real->pMethods->xShmLock(v->real, offset, n, flags);
}

void view_shm_barrier(sqlite3_file *f)
{
    struct sqlite_view *v = view_of(f);

    if (v->shm == SHM_OF_OTHERS)
        v->real->pMethods->xShmBarrier(v->real);
}

/* The -shm file stays, whatever SQLite says. */
int view_shm_unmap(sqlite3_file *f, int delete)
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
