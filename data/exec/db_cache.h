/*
 * db_cache.h - connections to the databases of a file's examples, the newest of them kept open.
 */
#ifndef DATA_EXEC_DB_CACHE_H
#define DATA_EXEC_DB_CACHE_H

#include "data/exec/sqlite_exec.h"

enum { DB_CACHE_OPEN = 64 };

struct db_cache_entry {
    char *key; /* the path, or the whole dump */
    struct exec_db *db;
    int64_t used;
};

struct db_cache {
    struct exec_limits limits;
    struct db_cache_entry items[DB_CACHE_OPEN];
    int n;
    int64_t clock;
};

/* Other limits are set afterwards, in the struct. */
void db_cache_init(struct db_cache *c);
/* Good until the next call.  NULL with EXIT_CODE_DATA when the file cannot be opened or the dump not be rebuilt. */
struct exec_db *db_cache_file(struct db_cache *c, const char *path, struct error *err);
struct exec_db *db_cache_dump(struct db_cache *c, const char *dump, struct error *err);
void db_cache_release(struct db_cache *c);

#endif
