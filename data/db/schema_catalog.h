/*
 * schema_catalog.h - schemas by db_id, from one tables.json or from the databases of --db (db_path.h), read on first
 * use.
 *
 * Within a turn, schemas and errors stay unchanged, so callers may borrow them. In the next turn, changed files are
 * read again, and changed schemas are replaced.
 */
#ifndef DATA_DB_SCHEMA_CATALOG_H
#define DATA_DB_SCHEMA_CATALOG_H

#include "data/base/strings.h"
#include "data/db/column_values.h"
#include "data/db/db_cache.h"
#include "data/schema/schema.h"
#include "data/sqlite/database_state.h"

struct catalog_entry {
    struct schema_set set;         /* empty if the file has an error */
    struct error *wrong;           /* the file's error, or NULL */
    struct column_samples samples; /* opened on first use */
    char *path;
    struct database_state state; /* when the file was read */
    int64_t turn, version;       /* turn of the last check; number of times the file was read */
};

struct schema_catalog {
    struct schema_set tables;      /* of tables.json */
    const char *db;                /* borrowed; NULL with tables.json */
    struct catalog_entry *entries; /* of the databases used so far */
    struct strings ids;            /* db_id to index of its entry */
    int64_t turn;
    struct schema_set own; /* schema of the latest record that has one */
    struct db_cache databases;
};

/* Opens a catalog of tables or db. If both are NULL, only records with their own schema have one. */
int schema_catalog_open(struct schema_catalog *s, const char *tables, const char *db, struct error *err);
/* Sets the db_id of a record without one, if there is only one database or only one schema. */
void schema_catalog_name(const struct schema_catalog *s, json_t *record);
/* Starts a turn. Borrowed schemas must not be used any more. */
void schema_catalog_turn(struct schema_catalog *s);
/* Returns the schema of a db_id, or NULL with EXIT_CODE_DATA; the message has the db_id. */
const struct schema *schema_catalog_find(struct schema_catalog *s, const char *db_id, const char *where,
                                         struct error *err);
/*
 * Returns the schema of a record. The databases of --db take precedence, with the record's db_id (db_path_name).
 * Otherwise the record's field "schema" is used, an entry of a tables.json; that schema is valid until the next call.
 */
const struct schema *schema_catalog_of(struct schema_catalog *s, const json_t *record, const char *where,
                                       struct error *err);
/* Returns sample values of the columns; NULL without databases, or if the file is gone. */
struct column_samples *schema_catalog_samples(struct schema_catalog *s, const char *db_id);
/* Connects to the database of a known db_id with exec_limits_preview. *db is valid until the next call; it is NULL
 * without databases. Returns -1 with EXIT_CODE_DATA. */
int schema_catalog_connect(struct exec_db **db, struct schema_catalog *s, const char *db_id, struct error *err);
/* Returns a number that changes whenever the database of a known db_id changes, rows included; 0 without databases. */
int64_t schema_catalog_version(const struct schema_catalog *s, const char *db_id);
void schema_catalog_close(struct schema_catalog *s);

#endif
