/*
 * tag_databases.h - the databases that questions are about, with indexes of their values.
 *
 * Each is read when a question first needs it, and again when it has changed.
 *
 * An index of values takes at most max_bytes.  Between two groups of questions the least recently used indexes are
 * dropped until all together take half of max_bytes; the newest one stays.  If an index takes more than half a second
 * to build and only rows change, it is kept for ten times its building time.  It thus stays useful while others write
 * to the database.
 */
#ifndef DATA_SPAN_TAG_DATABASES_H
#define DATA_SPAN_TAG_DATABASES_H

#include "data/db/schema_catalog.h"
#include "data/span/tag_source.h"

struct tag_database {
    const struct schema *schema;
    char *path;              /* NULL: only the schema is known */
    uint64_t hash;           /* hash of the schema and of the files' sizes and times */
    int64_t serial, version; /* of the schema and of the rows (schema_catalog.h) */
    struct tag_source source;
    bool open;
    int64_t used;            /* clock at the last use */
    double read_at, seconds; /* time at which it was opened, and seconds that it took */
};

struct tag_databases {
    struct schema_catalog schemas;
    struct strings db_ids;
    struct tag_database **items; /* [db_ids.n] */
    int cap;
    int64_t max_bytes, clock;
};

int tag_databases_open(struct tag_databases *d, const char *schema, const char *db, int64_t max_bytes,
                       struct error *err);
/* Returns the database of a db_id, without reading its values, or NULL with err. */
struct tag_database *tag_databases_find(struct tag_databases *d, const char *db_id, const char *where,
                                        struct error *err);
/* Returns the source of a database and reads its values if needed, or NULL with err. */
struct tag_source *tag_database_source(struct tag_databases *d, struct tag_database *of, struct error *err);
/* Drops indexes as described above.  No source may be in use. */
void tag_databases_trim(struct tag_databases *d);
void tag_databases_close(struct tag_databases *d);

#endif
