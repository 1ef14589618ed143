/*
 * db_cache.h - a cache of database connections. The most recently used DB_CACHE_OPEN of them stay open.
 */
#ifndef DATA_DB_DB_CACHE_H
#define DATA_DB_DB_CACHE_H

#include "data/db/sqlite_exec.h"

enum { DB_CACHE_OPEN = 64 };

struct db_cache_entry {
    char *key; /* a path or a whole dump */
    struct exec_db *db;
    int64_t used;
};

struct db_cache {
    struct exec_limits limits;
    struct db_cache_entry items[DB_CACHE_OPEN];
    int n;
    int64_t clock;
};

/* Sets the default limits; the caller may then change them in the struct. */
void db_cache_init(struct db_cache *c);
/* Return a connection, valid until the next call. Return NULL with EXIT_CODE_DATA if the file cannot be opened or the
 * dump cannot be repaired. */
struct exec_db *db_cache_file(struct db_cache *c, const char *path, struct error *err);
struct exec_db *db_cache_dump(struct db_cache *c, const char *dump, struct error *err);
void db_cache_release(struct db_cache *c);

#endif
