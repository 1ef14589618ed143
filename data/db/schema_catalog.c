#include "data/db/schema_catalog.h"

#include "data/base/json.h"
#include "data/base/stop.h"
#include "data/db/db_path.h"
#include "data/db/schema_sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes a schema that was read. An unchanged schema keeps its address. */
static void take_schema(struct catalog_entry *e, struct schema_set *fresh)
{
    if (e->set.n && fresh->n && schema_equal(e->set.schemas, fresh->schemas)) {
        schema_set_close(fresh);
        return;
    }
    schema_set_close(&e->set);
    e->set = *fresh;
}

/* Reads a file and keeps its error in the entry. Returns -1 if the time of a request is over, which is not an error of
 * the file. */
static int read_file(struct catalog_entry *e, const char *where, struct error *err)
{
    struct database_state before = e->state;
    struct schema_set fresh;
    struct error wrong = { 0 };

    database_state_look(&e->state, e->path);
    bool other = e->state.file.inode != before.file.inode || e->state.file.device != before.file.device;
    int rc = schema_set_open_sqlite(&fresh, e->path, other, &wrong);
    if (rc && work_limit_ended()) {
        schema_set_close(&fresh);
        e->state = before;
        return error_set(err, EXIT_CODE_DATA, "%s: no time is left to read the database", where);
    }
    column_samples_close(&e->samples);
    free(e->wrong);
    e->wrong = NULL;
    e->version++;
    if (rc) {
        schema_set_close(&fresh);
        e->wrong = xmalloc(sizeof wrong);
        *e->wrong = wrong;
    }
    take_schema(e, &fresh);
    return 0;
}

/* Returns the index of the entry, or -1 if there is no file. */
static int open_file(struct schema_catalog *s, const char *db_id, const char *where, struct error *err)
{
    struct catalog_entry e = { .turn = s->turn };

    e.path = db_path(s->db, db_id, err);
    if (!e.path)
        return error_prefix(err, "%s: field \"db_id\"", where);
    if (read_file(&e, where, err)) {
        free(e.path);
        return -1;
    }
    int k = strings_add(&s->ids, db_id);
    s->entries = xrealloc(s->entries, (size_t)s->ids.n * sizeof *s->entries);
    s->entries[k] = e;
    return k;
}

/* Checks a file once per turn. Returns -1 if it is gone. */
static int recheck(struct schema_catalog *s, int k, const char *where, struct error *err)
{
    struct catalog_entry *e = &s->entries[k];
    struct database_state now;

    if (e->turn == s->turn)
        return k;
    char *path = db_path(s->db, s->ids.items[k], err);
    if (!path)
        return error_prefix(err, "%s: field \"db_id\"", where);
    bool same = strcmp(path, e->path) == 0;
    free(e->path);
    e->path = path;
    database_state_look(&now, path);
    if ((!same || !database_state_same(&e->state, &now)) && read_file(e, where, err))
        return -1;
    e->turn = s->turn;
    return k;
}

void schema_catalog_name(const struct schema_catalog *s, json_t *record)
{
    db_path_name(s->db, record);
    if (!s->db && s->tables.n == 1 && json_is_object(record) && !json_object_get(record, "db_id"))
        json_object_set_new(record, "db_id", json_string(s->tables.schemas->db_id));
}

void schema_catalog_turn(struct schema_catalog *s)
{
    s->turn++;
}

int64_t schema_catalog_version(const struct schema_catalog *s, const char *db_id)
{
    int k = s->db ? strings_find(&s->ids, db_id) : -1;
    return k < 0 ? 0 : s->entries[k].version;
}

const struct schema *schema_catalog_find(struct schema_catalog *s, const char *db_id, const char *where,
                                         struct error *err)
{
    if (!s->db) {
        const struct schema *found = schema_find(&s->tables, db_id);
        if (!found)
            error_set(err, EXIT_CODE_DATA, "%s: db_id: no schema \"%s\"", where, db_id);
        return found;
    }
    int k = strings_find(&s->ids, db_id);
    k = k < 0 ? open_file(s, db_id, where, err) : recheck(s, k, where, err);
    if (k >= 0 && s->entries[k].wrong && err)
        *err = *s->entries[k].wrong;
    return k < 0 || s->entries[k].wrong ? NULL : s->entries[k].set.schemas;
}

/* A single file is read immediately, because every record needs it. */
static int open_only(struct schema_catalog *s, struct error *err)
{
    if (!s->db || db_path_is_folder(s->db))
        return 0;
    char *db_id = schema_db_id(s->db);
    int rc = schema_catalog_find(s, db_id, s->db, err) ? 0 : -1;
    free(db_id);
    return rc;
}

int schema_catalog_open(struct schema_catalog *s, const char *tables, const char *db, struct error *err)
{
    *s = (struct schema_catalog){ .db = db };
    db_cache_init(&s->databases);
    s->databases.limits = exec_limits_preview;
    if (!db && tables)
        return schema_set_open(&s->tables, tables, err);
    return db_path_check(db, err) || open_only(s, err) ? -1 : 0;
}

struct column_samples *schema_catalog_samples(struct schema_catalog *s, const char *db_id)
{
    int k = s->db ? strings_find(&s->ids, db_id) : -1;

    if (k < 0)
        return NULL;
    struct catalog_entry *e = &s->entries[k];
    if (e->wrong || e->samples.db)
        return e->wrong ? NULL : &e->samples;
    return column_samples_open(&e->samples, e->set.schemas, e->path, NULL) == 0 ? &e->samples : NULL;
}

int schema_catalog_connect(struct exec_db **db, struct schema_catalog *s, const char *db_id, struct error *err)
{
    char *path = s->db ? db_path(s->db, db_id, NULL) : NULL;

    *db = path ? db_cache_file(&s->databases, path, err) : NULL;
    int rc = path && !*db ? -1 : 0;
    free(path);
    return rc;
}

const struct schema *schema_catalog_of(struct schema_catalog *s, const json_t *record, const char *where,
                                       struct error *err)
{
    json_t *own = s->db ? NULL : json_object_get(record, "schema");

    if (!own) {
        const char *db_id = json_get_string(record, "db_id", where, err);
        return db_id ? schema_catalog_find(s, db_id, where, err) : NULL;
    }
    char place[512];
    snprintf(place, sizeof place, "%.400s: field \"schema\"", where);
    schema_set_close(&s->own);
    json_t *list = json_pack("[O]", own);
    int rc = schema_set_from_json(&s->own, list, place, err);
    json_decref(list);
    return rc ? NULL : s->own.schemas;
}

void schema_catalog_close(struct schema_catalog *s)
{
    for (int i = 0; i < s->ids.n; i++) {
        column_samples_close(&s->entries[i].samples);
        schema_set_close(&s->entries[i].set);
        free(s->entries[i].wrong);
        free(s->entries[i].path);
    }
    free(s->entries);
    strings_release(&s->ids);
    schema_set_close(&s->own);
    schema_set_close(&s->tables);
    db_cache_release(&s->databases);
    *s = (struct schema_catalog){ 0 };
}
