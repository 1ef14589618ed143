#include "data/score/annotate_readings.h"

#include "data/score/dfpl.h"
#include "data/util/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_key(const char *db, int db_length, const char *question)
{
    char *key = NULL;
    int n = asprintf(&key, "%.*s\x1f%s", db_length, db, question);
    CHECK(n >= 0, "cannot format %s", question);
    return key;
}

/* Takes the list.  -1 when the key came before. */
static int add(struct annotate_readings *r, char *key, json_t *list)
{
    int n = r->keys.n, i = strings_add(&r->keys, key);
    free(key);
    if (i < n) {
        json_decref(list);
        return -1;
    }
    GROW(r->lists, i, r->cap);
    r->lists[i] = list;
    return 0;
}

/* No database is called so.  A number that went through another program may come back as a string. */
static char *id_key(const json_t *id)
{
    char *text = json_is_string(id) ? xstrdup(json_string_value(id)) : json_dumps(id, JSON_ENCODE_ANY), *key = NULL;
    CHECK(text, "out of memory");
    key = make_key("\x1e", 1, text);
    free(text);
    return key;
}

static int add_answer(struct annotate_readings *r, const json_t *record, const char *where, struct error *err)
{
    const json_t *id = json_object_get(record, "id");

    if (!json_get_string(record, "text", where, err))
        return -1;
    if (!json_is_string(id) && !json_is_integer(id))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\" is missing or no string or integer", where);
    if (add(r, id_key(id), json_incref(json_object_get(record, "text"))))
        return error_set(err, EXIT_CODE_DATA, "%s: the answer of this id came before", where);
    return 0;
}

/* A record_fn. */
static int add_record(void *readings, json_t *record, const char *where, struct error *err)
{
    struct annotate_readings *r = readings;
    const char *db = NULL, *question = NULL;
    json_t *list = NULL;

    if (json_object_get(record, "text") && !json_object_get(record, "readings"))
        return add_answer(r, record, where, err);
    if (json_object_get(record, "error") && !json_object_get(record, "readings"))
        return 0;
    if (!(db = json_get_string(record, "db_id", where, err)) ||
        !(question = json_get_string(record, "question", where, err)) ||
        !(list = json_get_array(record, "readings", where, err)))
        return -1;
    if (add(r, make_key(db, (int)strlen(db), question), json_incref(list)))
        return error_set(err, EXIT_CODE_DATA, "%s: readings of this database and question came before", where);
    return 0;
}

static json_t *list_of(const struct dfpl_example *e)
{
    json_t *list = json_array();
    for (int i = 0; i < e->n_readings; i++) {
        json_t *sql = json_array();
        for (int k = 0; k < e->readings[i].n; k++)
            json_array_append_new(sql, json_string(e->sql.sql[e->readings[i].first + k]));
        json_array_append_new(list, json_pack("{s:s, s:o}", "text", e->readings[i].text, "sql", sql));
    }
    return list;
}

/* The file's name without folders and ending.  Of examples that repeat one the first counts. */
static int read_published(struct annotate_readings *r, const char *path, struct error *err)
{
    struct dfpl_file f;
    int rc = dfpl_read(&f, path, err);

    for (int i = 0; i < f.n && rc == 0; i++) {
        const char *slash = strrchr(f.items[i].db_file, '/'), *name = slash ? slash + 1 : f.items[i].db_file;
        const char *dot = strrchr(name, '.');
        int n = (int)(dot ? (size_t)(dot - name) : strlen(name));
        add(r, make_key(name, n, f.items[i].question), list_of(&f.items[i]));
    }
    dfpl_release(&f);
    return rc;
}

int annotate_readings_open(struct annotate_readings *r, const char *path, struct error *err)
{
    *r = (struct annotate_readings){ 0 };
    return dfpl_is_published(path) ? read_published(r, path, err)
                                   : records_each_as_is(path, RECORDS_AUTO, add_record, r, err);
}

json_t *annotate_readings_find(const struct annotate_readings *r, const char *db_id, const char *question)
{
    const char *name = strstr(db_id, "__");
    char *key = make_key(db_id, (int)strlen(db_id), question);
    int i = strings_find(&r->keys, key);
    free(key);
    if (i < 0 && name) {
        key = make_key(name + 2, (int)strlen(name + 2), question);
        i = strings_find(&r->keys, key);
        free(key);
    }
    return i < 0 ? NULL : r->lists[i];
}

const char *annotate_readings_answer(const struct annotate_readings *r, const json_t *id)
{
    char *key = id_key(id);
    int i = strings_find(&r->keys, key);
    free(key);
    return i < 0 ? NULL : json_string_value(r->lists[i]);
}

void annotate_readings_release(struct annotate_readings *r)
{
    for (int i = 0; i < r->keys.n; i++)
        json_decref(r->lists[i]);
    free(r->lists);
    strings_release(&r->keys);
    *r = (struct annotate_readings){ 0 };
}
