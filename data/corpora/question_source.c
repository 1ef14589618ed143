#include "data/corpora/question_source.h"

#include "data/corpora/ambrosia.h"

/* Takes the record. Returns NULL if one of Spider's three fields is not a string. */
static json_t *checked(json_t *record, const char *where, struct error *err)
{
    static const char *const fields[] = { "db_id", "question", "query" };

    for (int i = 0; i < ARRAY_LEN(fields); i++) {
        if (i == 2 && json_object_get(record, "golds"))
            continue;
        if (!json_get_string(record, fields[i], where, err)) {
            json_decref(record);
            return NULL;
        }
    }
    return record;
}

static json_t *from_bird(json_t *row, const char *where, struct error *err)
{
    if (!json_get_string(row, "SQL", where, err))
        return NULL;
    json_t *record = json_copy(row);
    json_object_set(record, "query", json_object_get(row, "SQL"));
    json_object_del(record, "SQL");
    json_object_set_new(record, "corpus", json_string("bird"));
    return checked(record, where, err);
}

static json_t *from_ambrosia(json_t *row, int64_t number, const char *where, struct error *err)
{
    json_t *record = ambrosia_record(row, number, where, err);
    json_t *golds = json_object_get(record, "golds"), *type = json_object_get(row, "ambig_type");

    if (!record)
        return NULL;
    if (!json_array_size(golds)) {
        json_decref(record);
        error_set(err, EXIT_CODE_DATA, "%s: field \"gold_queries\" is empty", where);
        return NULL;
    }
    json_object_set_new(record, "corpus", json_string("ambrosia"));
    if (type)
        json_object_set(record, "ambig_type", type);
    if (json_array_size(golds) == 1) {
        json_object_set(record, "query", json_object_get(json_array_get(golds, 0), "sql"));
        json_object_del(record, "golds");
    }
    return checked(record, where, err);
}

json_t *question_from_row(json_t *row, int64_t number, const char *where, struct error *err)
{
    if (ambrosia_is_row(row))
        return from_ambrosia(row, number, where, err);
    if (json_object_get(row, "query"))
        return checked(json_incref(row), where, err);
    if (json_object_get(row, "SQL"))
        return from_bird(row, where, err);
    error_set(err, EXIT_CODE_DATA,
              "%s: no gold SQL: expected field \"query\" (Spider), \"SQL\" (BIRD) or \"gold_queries\" (AMBROSIA)",
              where);
    return NULL;
}
