/*
 * schema_catalog.h - schemas by db_id: of one tables.json, or of the databases that --db names (db_path.h), each read
 * when it is first asked for.
 *
 * What is found stays as it is for a turn, in which it may be borrowed: schema or what is wrong with the file.  In the
 * next turn a file that changed is read again, and a schema that is no longer the same one gives way.
 */
#ifndef DATA_EXEC_SCHEMA_CATALOG_H
#define DATA_EXEC_SCHEMA_CATALOG_H

#include "data/exec/column_values.h"
#include "data/exec/db_cache.h"
#include "data/schema/schema.h"
#include "data/sqlite/database_state.h"
#include "data/util/strings.h"

struct catalog_entry {
    struct schema_set set;         /* empty when the file is no good */
    struct error *wrong;           /* what is wrong with it; else NULL */
    struct column_samples samples; /* opened when first asked for */
    char *path;
    struct database_state state; /* when it was read, */
    int64_t turn, version;       /* and last looked at; how often it was read */
};

struct schema_catalog {
    struct schema_set tables;      /* of tables.json */
    const char *db;                /* borrowed; NULL with tables.json */
    struct catalog_entry *entries; /* of each database that was asked for */
    struct strings ids;            /* their numbers are those of the entries */
    int64_t turn;
    struct schema_set own; /* what the newest record brought along */
    struct db_cache databases;
};

/* One of the two, or neither: then only records that bring their schema along have one. */
int schema_catalog_open(struct schema_catalog *s, const char *tables, const char *db, struct error *err);
/* Begins a turn: nothing that was found before is in use any more. */
void schema_catalog_turn(struct schema_catalog *s);
/* NULL with EXIT_CODE_DATA naming the db_id. */
const struct schema *schema_catalog_find(struct schema_catalog *s, const char *db_id, const char *where,
                                         struct error *err);
/*
 * Of a record: what it brings along as "schema", an entry of a tables.json, good until the next call; else by its
 * db_id (db_path_name).  Databases go before what records bring.
 */
const struct schema *schema_catalog_of(struct schema_catalog *s, const json_t *record, const char *where,
                                       struct error *err);
/* A few values of each column; NULL without databases, or when the file is gone. */
struct column_samples *schema_catalog_samples(struct schema_catalog *s, const char *db_id);
/* A connection to the file of a db_id that was found, within exec_limits_preview, good until the next call; NULL in *db
 * without databases.  -1 with EXIT_CODE_DATA. */
int schema_catalog_connect(struct exec_db **db, struct schema_catalog *s, const char *db_id, struct error *err);
/* Another number whenever the database of a db_id that was found has changed, its rows included; 0 without databases.
 */
int64_t schema_catalog_version(const struct schema_catalog *s, const char *db_id);
void schema_catalog_close(struct schema_catalog *s);

#endif
