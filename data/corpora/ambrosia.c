#include "data/corpora/ambrosia.h"

#include "data/corpora/example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ambrosia_is_row(const json_t *record)
{
    return json_object_get(record, "gold_queries") != NULL;
}

/* Returns the question; an attachment question gets its standard last sentence. */
static json_t *question_json(const char *question, bool attachment)
{
    static const char sentence[] = " Show them in one table.";
    size_t n = strlen(question), tail = sizeof sentence - 1;
    char *text = NULL;
    bool there = n >= tail && strcmp(question + n - tail, sentence) == 0;
    int size = asprintf(&text, "%s%s", question, attachment && !there ? sentence : "");
    CHECK(size >= 0, "cannot format a question of %zu bytes", n);
    json_t *value = json_string(text);
    free(text);
    return value;
}

/* Returns the first question of the i-th interpretation. Returns NULL with an error if the row has interpretations, but
 * not that one. */
static const char *gold_text(const json_t *interpretations, size_t i, const char *where, struct error *err)
{
    char inner[640];
    snprintf(inner, sizeof inner, "%.500s, gold_interpretations %zu", where, i + 1);
    const json_t *o = json_array_get(interpretations, i);
    const json_t *questions = json_get_array(o, "questions", inner, err);
    const char *text = json_string_value(json_array_get(questions, 0));
    if (questions && !text)
        error_set(err, EXIT_CODE_DATA, "%s: field \"questions\": expected strings", inner);
    return text;
}

static int add_gold(json_t *golds, const json_t *row, const char *sql, bool attachment, const char *where,
                    struct error *err)
{
    const json_t *interpretations = json_object_get(row, "gold_interpretations");
    const char *text = interpretations ? gold_text(interpretations, json_array_size(golds), where, err) : NULL;
    if (interpretations && !text)
        return -1;
    json_t *gold = json_pack("{s:s}", "sql", sql);
    if (text)
        json_object_set_new(gold, "text", question_json(text, attachment));
    return json_array_append_new(golds, gold);
}

static int add_golds(json_t *golds, const json_t *row, const json_t *queries, bool attachment, const char *where,
                     struct error *err)
{
    for (size_t i = 0; i < json_array_size(queries); i++) {
        const char *sql = json_string_value(json_array_get(queries, i));
        if (!sql)
            return error_set(err, EXIT_CODE_DATA, "%s: field \"gold_queries\": entry %zu is not a string", where,
                             i + 1);
        if (add_gold(golds, row, sql, attachment, where, err))
            return -1;
    }
    return 0;
}

json_t *ambrosia_record(const json_t *row, int64_t number, const char *where, struct error *err)
{
    const char *db = json_get_string(row, "db", where, err), *question = NULL;
    const json_t *queries = NULL, *id = json_object_get(row, "id"), *type = json_object_get(row, "ambig_type");

    if (!db || !(question = json_get_string(row, "question", where, err)) ||
        !(queries = json_get_array(row, "gold_queries", where, err)))
        return NULL;
    bool attachment = json_is_string(type) && strcmp(json_string_value(type), "attachment") == 0;
    json_t *golds = json_array();
    if (add_golds(golds, row, queries, attachment, where, err)) {
        json_decref(golds);
        return NULL;
    }
    return json_pack("{s:o, s:s, s:o, s:o}", "id", id ? json_incref((json_t *)id) : json_integer(number), "db_id", db,
                     "question", question_json(question, attachment), "golds", golds);
}

json_t *ambrosia_label(const json_t *row, int64_t number, const char *where, struct error *err)
{
    bool ambiguous;
    json_t *record = ambrosia_record(row, number, where, err), *golds = json_object_get(record, "golds");
    const char *type = record ? json_get_string(row, "ambig_type", where, err) : NULL;

    if (!type || json_get_bool(row, "is_ambiguous", &ambiguous, where, err)) {
        json_decref(record);
        return NULL;
    }
    json_t *sql = json_array();
    for (size_t i = 0; i < json_array_size(golds) && i < EXAMPLE_MAX_SQL; i++)
        json_array_append(sql, json_object_get(json_array_get(golds, i), "sql"));
    json_object_set_new(record, "sql", sql);
    json_object_set_new(record, "ambiguous", json_boolean(ambiguous));
    json_object_set_new(record, "type", json_string(type));
    json_object_del(record, "golds");
    return record;
}
