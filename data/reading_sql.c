#include "data/reading_sql.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The database, and the text in lower case with single blanks and nothing but letters at its end. */
static char *make_key(const char *db_id, const char *text)
{
    size_t n = strlen(db_id), kept = n + 1;
    char *key = xmalloc(n + strlen(text) + 2);

    memcpy(key, db_id, n);
    key[n] = '\x1f';
    for (; *text; text++) {
        bool blank = isspace((unsigned char)*text);
        if (!blank || key[kept - 1] != ' ')
            key[kept++] = (char)(blank ? ' ' : tolower((unsigned char)*text));
        if (blank && kept == n + 2)
            kept--; /* at the beginning */
    }
    while (kept > n + 1 && strchr(" .?!\"'", key[kept - 1]))
        kept--;
    key[kept] = '\0';
    return key;
}

static int add(struct reading_sql *r, const char *db_id, const json_t *o, const char *where, struct error *err)
{
    const char *text = json_get_string(o, "text", where, err);
    json_t *sql = json_object_get(o, "sql");
    int n = r->keys.n;

    if (!text)
        return -1;
    if (!json_is_string(sql) && !json_is_array(sql))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"sql\", wanted a string or a list of strings", where);
    if (json_is_array(sql) && json_array_size(sql) == 0)
        return 0;
    char *key = make_key(db_id, text);
    int i = strings_add(&r->keys, key);
    free(key);
    if (i == n) {
        GROW(r->sql, i, r->cap);
        r->sql[i] = json_incref(sql);
    }
    return 0;
}

/* The entries of a list of a record that have a text. */
static int add_list(struct reading_sql *r, const char *db_id, const json_t *record, const char *field,
                    const char *where, struct error *err)
{
    char inner[640];
    const json_t *o;
    size_t i;

    if (!json_object_get(record, field))
        return 0;
    if (!json_get_array(record, field, where, err))
        return -1;
    json_array_foreach(json_object_get(record, field), i, o)
    {
        snprintf(inner, sizeof inner, "%.500s, %s %zu", where, field, i + 1);
        if (!json_is_string(json_object_get(o, "text"))) /* a gold may go without */
            continue;
        if (json_object_get(o, "sql") && add(r, db_id, o, inner, err))
            return -1;
    }
    return 0;
}

static int add_record(struct reading_sql *r, const json_t *record, const char *where, struct error *err)
{
    const char *db_id = json_get_string(record, "db_id", where, err);

    if (!db_id)
        return -1;
    if (json_object_get(record, "text"))
        return add(r, db_id, record, where, err);
    if (!json_object_get(record, "golds") && !json_object_get(record, "readings"))
        return error_set(err, EXIT_CODE_DATA, "%s: no \"text\" and \"sql\", and no \"golds\" or \"readings\"", where);
    return add_list(r, db_id, record, "golds", where, err) || add_list(r, db_id, record, "readings", where, err) ? -1
                                                                                                                 : 0;
}

int reading_sql_open(struct reading_sql *r, const char *path, struct error *err)
{
    struct json_reader *in = json_reader_open(path, err);
    json_t *record;
    int rc = -1;

    *r = (struct reading_sql){ 0 };
    while (in && (rc = json_reader_next(in, &record, err)) > 0) {
        rc = add_record(r, record, json_reader_where(in), err);
        json_decref(record);
        if (rc)
            break;
    }
    json_reader_close(in);
    return rc;
}

json_t *reading_sql_find(const struct reading_sql *r, const char *db_id, const char *text)
{
    char *key = make_key(db_id, text);
    int i = strings_find(&r->keys, key);

    free(key);
    return i < 0 ? NULL : r->sql[i];
}

void reading_sql_release(struct reading_sql *r)
{
    for (int i = 0; i < r->keys.n; i++)
        json_decref(r->sql[i]);
    free(r->sql);
    strings_release(&r->keys);
    *r = (struct reading_sql){ 0 };
}
