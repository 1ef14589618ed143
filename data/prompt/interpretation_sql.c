#include "data/prompt/interpretation_sql.h"

#include "data/base/record_reader.h"
#include "data/base/records.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The database, and the text in lower case with single blanks, cut after its last letter. */
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
            kept--; /* a leading blank */
    }
    while (kept > n + 1 && strchr(" .?!\"'", key[kept - 1]))
        kept--;
    key[kept] = '\0';
    return key;
}

static const char id_form[] = "sql-%016" PRIx64;

json_t *interpretation_sql_id(const char *db_id, const char *text)
{
    uint64_t sum = hash_bytes(HASH_START, db_id, strlen(db_id) + 1);
    return json_sprintf(id_form, hash_bytes(sum, text, strlen(text)));
}

/* A key that no text has, since no database has an empty name. */
static char *id_key(const char *id)
{
    return make_key("", id);
}

/* Keeps the first SQL of a key; takes both. */
static void keep(struct interpretation_sql *r, char *key, json_t *sql)
{
    int n = r->keys.n, i = strings_add(&r->keys, key);

    free(key);
    if (i < n) {
        json_decref(sql);
        return;
    }
    GROW(r->sql, i, r->cap);
    r->sql[i] = sql;
}

static int add(struct interpretation_sql *r, const char *db_id, const json_t *o, const char *where, struct error *err)
{
    const char *text = json_get_string(o, "text", where, err);
    json_t *sql = json_object_get(o, "sql");

    if (!text)
        return -1;
    if (!json_is_string(sql) && !json_is_array(sql))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"sql\": expected a string or a list of strings", where);
    if (json_is_array(sql) && json_array_size(sql) == 0)
        return 0;
    keep(r, make_key(db_id, text), json_incref(sql));
    return 0;
}

void interpretation_sql_add_answer(struct interpretation_sql *r, const char *id, const char *answer, bool published)
{
    struct text_items items = { 0 };
    json_t *list = json_array();

    output_sql(&items, answer, published);
    for (int i = 0; i < items.n; i++)
        json_array_append_new(list, json_string(items.items[i]));
    if (items.n == 0 && !published) {
        json_decref(list);
        list = json_pack("{s:o}", "completion", json_message(answer));
    }
    text_items_release(&items);
    keep(r, id_key(id), list);
}

const char *interpretation_sql_unread(const json_t *sql)
{
    return json_string_value(json_object_get(sql, "completion"));
}

static int add_answer(struct interpretation_sql *r, const json_t *record, bool published, const char *where,
                      struct error *err)
{
    const char *id, *answer;
    uint64_t sum;

    if (!(answer = json_get_string(record, "text", where, err)) || !(id = json_get_string(record, "id", where, err)))
        return -1;
    if (sscanf(id, "sql-%" SCNx64, &sum) != 1)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": \"%.100s\" is of no prompt for SQL (sql-...)", where,
                         id);
    interpretation_sql_add_answer(r, id, answer, published);
    return 0;
}

/* Adds the entries with a text from a list of a record. */
static int add_list(struct interpretation_sql *r, const char *db_id, const json_t *record, const char *field,
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
        if (!json_is_string(json_object_get(o, "text"))) /* the text of a gold is optional */
            continue;
        if (json_object_get(o, "sql") && add(r, db_id, o, inner, err))
            return -1;
    }
    return 0;
}

static int add_record(struct interpretation_sql *r, const json_t *record, bool published, const char *where,
                      struct error *err)
{
    bool text = json_object_get(record, "text"), listed = json_object_get(record, "golds");
    const char *db_id;

    if (json_object_get(record, "error") && !text && !listed && !json_object_get(record, "readings"))
        return 0;
    if (text && json_object_get(record, "id") && !json_object_get(record, "db_id") && !json_object_get(record, "sql"))
        return add_answer(r, record, published, where, err);
    if (!(db_id = json_get_string(record, "db_id", where, err)))
        return -1;
    if (text)
        return add(r, db_id, record, where, err);
    if (!listed && !json_object_get(record, "readings"))
        return error_set(err, EXIT_CODE_DATA, "%s: no \"text\" and \"sql\", and no \"golds\" or \"readings\"", where);
    return add_list(r, db_id, record, "golds", where, err) || add_list(r, db_id, record, "readings", where, err) ? -1
                                                                                                                 : 0;
}

int interpretation_sql_open(struct interpretation_sql *r, const char *path, bool published, struct error *err)
{
    struct record_reader *in = record_reader_open(path, RECORDS_AUTO, err);
    json_t *record;
    int rc = -1;

    *r = (struct interpretation_sql){ 0 };
    if (in)
        record_reader_leave_ids(in);
    while (in && (rc = record_reader_next(in, &record, err)) > 0) {
        rc = add_record(r, record, published, record_reader_where(in), err);
        json_decref(record);
        if (rc)
            break;
    }
    record_reader_close(in);
    return rc;
}

/* Takes the key. */
static json_t *find(const struct interpretation_sql *r, char *key)
{
    int i = strings_find(&r->keys, key);

    free(key);
    return i < 0 ? NULL : r->sql[i];
}

json_t *interpretation_sql_find(const struct interpretation_sql *r, const char *db_id, const char *text)
{
    json_t *id = interpretation_sql_id(db_id, text), *sql = find(r, id_key(json_string_value(id)));

    json_decref(id);
    return sql ? sql : find(r, make_key(db_id, text));
}

void interpretation_sql_release(struct interpretation_sql *r)
{
    for (int i = 0; i < r->keys.n; i++)
        json_decref(r->sql[i]);
    free(r->sql);
    strings_release(&r->keys);
    *r = (struct interpretation_sql){ 0 };
}

static int add_text(struct text_items *out, const json_t *answer, const char *where, struct error *err)
{
    const json_t *text = json_is_object(answer) ? json_object_get(answer, "text") : answer;

    if (!json_is_string(text))
        return error_set(err, EXIT_CODE_DATA, "%s: expected \"text\" or \"texts\", what was answered", where);
    text_items_add(out, json_string_value(text), json_string_length(text));
    return 0;
}

/* A record_fn. */
static int add_answers(void *answers, json_t *record, const char *where, struct error *err)
{
    const json_t *texts = json_object_get(record, "texts"), *text;
    struct query_answers *a = answers;
    char number[RECORD_ID_TEXT];
    const char *id = record_id_text(record, number);
    size_t i;
    int rc = 0;

    if (json_object_get(record, "error"))
        return 0;
    if (!*id)
        return error_set(err, EXIT_CODE_DATA, "%s: field \"id\" is missing or no string or integer", where);
    int n = a->ids.n, at = strings_add(&a->ids, id);
    GROW(a->texts, at, a->cap);
    if (at == n)
        a->texts[at] = (struct text_items){ 0 };
    if (!json_is_array(texts))
        return add_text(&a->texts[at], record, where, err);
    json_array_foreach(texts, i, text)
    {
        if (rc == 0)
            rc = add_text(&a->texts[at], text, where, err);
    }
    return rc;
}

int query_answers_open(struct query_answers *a, const char *path, struct error *err)
{
    *a = (struct query_answers){ 0 };
    return records_each_as_is(path, RECORDS_AUTO, add_answers, a, err);
}

const struct text_items *query_answers_find(const struct query_answers *a, const json_t *record)
{
    char number[RECORD_ID_TEXT];
    int at = strings_find(&a->ids, record_id_text(record, number));

    return at < 0 ? NULL : &a->texts[at];
}

void query_answers_release(struct query_answers *a)
{
    for (int i = 0; i < a->ids.n; i++)
        text_items_release(&a->texts[i]);
    free(a->texts);
    strings_release(&a->ids);
    *a = (struct query_answers){ 0 };
}
