/*
 * tag_databases.h - the databases that questions are about, each read when it is first asked about, and again when it
 * has changed.
 *
 * Each index of values takes at most max_bytes.  Between two groups of questions the least recently used ones are let
 * go until all together take half of that; the newest stays.
 *
 * An index that takes more than half a second to make is kept ten times as long while only rows change, so that a
 * database that is written to all the time can be asked about.
 */
#ifndef INFER_TAG_TAG_DATABASES_H
#define INFER_TAG_TAG_DATABASES_H

#include "data/exec/schema_catalog.h"
#include "data/span/tag_source.h"

struct tag_database {
    const struct schema *schema;
    char *path;              /* NULL: the schema alone is known */
    uint64_t sum;            /* of the schema, and of the files' sizes and times */
    int64_t serial, version; /* of the schema; of the rows when they were read (schema_catalog.h) */
    struct tag_source source;
    bool open;
    int64_t used;            /* the clock when it was last asked for */
    double read_at, seconds; /* when it was opened, and how long that took */
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
/* Of a db_id, its values not read yet; NULL with err. */
struct tag_database *tag_databases_find(struct tag_databases *d, const char *db_id, const char *where,
                                        struct error *err);
/* Reads the values if that was not done.  NULL with err. */
struct tag_source *tag_database_source(struct tag_databases *d, struct tag_database *of, struct error *err);
/* To be called where no source is in use. */
void tag_databases_trim(struct tag_databases *d);
void tag_databases_close(struct tag_databases *d);

#endif
