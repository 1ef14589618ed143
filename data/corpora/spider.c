#include "data/corpora/spider.h"

#include "data/base/json.h"
#include "data/base/records.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A record_fn. */
static int read_question(void *corpus, json_t *record, const char *where, struct error *err)
{
    struct spider_corpus *c = corpus;
    const char *db_id = json_get_string(record, "db_id", where, err);
    const char *question = db_id ? json_get_string(record, "question", where, err) : NULL;
    const char *query = question ? json_get_string(record, "query", where, err) : NULL;

    if (!query)
        return -1;
    GROW(c->items, c->n, c->cap);
    c->items[c->n++] = (struct spider_question){ strings_keep(&c->text, db_id), strings_keep(&c->text, question),
                                                 strings_keep(&c->text, query) };
    return 0;
}

int spider_read(struct spider_corpus *c, const char *path, struct error *err)
{
    *c = (struct spider_corpus){ 0 };
    return records_each_as_is(path, RECORDS_AUTO, read_question, c, err);
}

void spider_release(struct spider_corpus *c)
{
    free(c->items);
    strings_release(&c->text);
    *c = (struct spider_corpus){ 0 };
}

static void lower(char *s)
{
    for (; *s; s++)
        *s = (char)tolower((unsigned char)*s);
}

/* Joins the three names into a lower-case key; the caller frees it. */
static char *make_key(const char *db_id, const char *table, const char *column)
{
    char *key = NULL;
    int n = asprintf(&key, "%s\x1f%s\x1f%s", db_id, table, column ? column : "");
    CHECK(n >= 0, "cannot format %s", table);
    lower(key);
    return key;
}

static int add_pair(struct synonyms *s, const char *db_id, const char *table, const char *column, const json_t *pair,
                    const char *path, struct error *err)
{
    const char *names[2] = { json_string_value(json_array_get(pair, 0)), json_string_value(json_array_get(pair, 1)) };
    if (json_array_size(pair) != 2 || !names[0] || !names[1] || !names[0][0] || !names[1][0])
        return error_set(err, EXIT_CODE_DATA, "%s: %s: %s%s%s: expected an array of two words", path, db_id, table,
                         column ? "." : "", column ? column : "");
    char *key = make_key(db_id, table, column);
    int i = strings_add(&s->keys, key);
    free(key);
    while (i >= s->cap) {
        s->cap = s->cap ? 2 * s->cap : 256;
        s->pairs = xrealloc(s->pairs, (size_t)s->cap * sizeof *s->pairs);
        s->written = xrealloc(s->written, (size_t)s->cap * sizeof *s->written);
    }
    for (int k = 0; k < 2; k++) {
        char *name = xstrdup(names[k]);
        s->written[i][k] = strings_keep(&s->text, name);
        lower(name);
        s->pairs[i][k] = strings_keep(&s->text, name);
        free(name);
    }
    return 0;
}

static int add_table(struct synonyms *s, const char *db_id, const char *table, json_t *value, const char *path,
                     struct error *err)
{
    const char *column;
    json_t *pair;

    if (json_is_array(value))
        return add_pair(s, db_id, table, NULL, value, path, err);
    if (!json_is_object(value))
        return error_set(err, EXIT_CODE_DATA, "%s: %s: %s: expected an object or an array", path, db_id, table);
    json_object_foreach(value, column, pair) if (add_pair(s, db_id, table, column, pair, path, err)) return -1;
    return 0;
}

int synonyms_from_json(struct synonyms *s, const json_t *all, const char *path, struct error *err)
{
    const char *db_id, *table;
    json_t *tables, *value;
    int rc = 0;

    *s = (struct synonyms){ 0 };
    if (!json_is_object(all))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected an object of databases", path);
    json_object_foreach((json_t *)all, db_id, tables)
    {
        if (rc == 0 && !json_is_object(tables))
            rc = error_set(err, EXIT_CODE_DATA, "%s: %s: expected an object of tables", path, db_id);
        json_object_foreach(tables, table, value) rc = rc ? rc : add_table(s, db_id, table, value, path, err);
    }
    return rc;
}

int synonyms_read(struct synonyms *s, const char *path, struct error *err)
{
    *s = (struct synonyms){ 0 };
    json_t *all = json_read_file(path, err);
    int rc = all ? synonyms_from_json(s, all, path, err) : -1;
    json_decref(all);
    return rc;
}

static int find_key(const struct synonyms *s, const char *db_id, const char *table, const char *column)
{
    char *key = make_key(db_id, table, column);
    int i = strings_find(&s->keys, key);
    free(key);
    return i;
}

const char *const *synonyms_find(const struct synonyms *s, const char *db_id, const char *table, const char *column)
{
    int i = find_key(s, db_id, table, column);
    return i < 0 ? NULL : s->pairs[i];
}

const char *const *synonyms_written(const struct synonyms *s, const char *db_id, const char *table, const char *column)
{
    int i = find_key(s, db_id, table, column);
    return i < 0 ? NULL : s->written[i];
}

void synonyms_release(struct synonyms *s)
{
    strings_release(&s->keys);
    strings_release(&s->text);
    free(s->pairs);
    free(s->written);
    *s = (struct synonyms){ 0 };
}
