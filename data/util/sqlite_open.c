#include "data/util/sqlite_open.h"

#include "data/util/whole_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The URI of a path: everything but plain characters escaped.  The caller frees it. */
static char *file_uri(const char *path)
{
    size_t n = strlen(path), used = 5;
    char *uri = xmalloc(3 * n + 64);

    memcpy(uri, "file:", 6);
    for (size_t i = 0; i < n; i++) {
        char c = path[i];
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || strchr("/._-", c);
        used += (size_t)snprintf(uri + used, 4, plain ? "%c" : "%%%02X", (unsigned char)c);
    }
    memcpy(uri + used, "?mode=ro&immutable=1", 21);
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

int sqlite_open_file(sqlite3 **db, const char *path, int max_bytes, struct error *err)
{
    *db = NULL;
    if (access(path, F_OK) == 0) { /* what is not there SQLite has words for */
        FILE *f = whole_file_open(path, DATABASE_MAX_BYTES, err);
        if (!f)
            return -1;
        fclose(f);
    }
    char *uri = file_uri(path);
    int rc = open_uri(db, uri, path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, max_bytes, err);
    free(uri);
    return rc;
}

int sqlite_open_memory(sqlite3 **db, int max_bytes, struct error *err)
{
    return open_uri(db, ":memory:", "a database in memory", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, max_bytes, err);
}
