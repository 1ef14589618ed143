#include "data/corpora/ambrosia.h"

#include "data/base/strings.h"
#include "data/corpora/example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ambrosia_is_row(const json_t *record)
{
    return json_object_get(record, "gold_queries") != NULL;
}

bool ambrosia_is_csv_row(const json_t *record)
{
    return json_is_string(json_object_get(record, "gold_queries")) && json_object_get(record, "ambig_question");
}

/* The end of a statement: an empty line, whose line ends may be those of Windows. */
static size_t statement_length(const char *text, size_t *blank)
{
    size_t n = 0;

    for (; text[n]; n++) {
        size_t second = text[n] == '\n' ? n + 1 + (text[n + 1] == '\r') : n;
        if (text[n] == '\n' && text[second] == '\n') {
            *blank = second + 1 - n;
            return n;
        }
    }
    *blank = 0;
    return n;
}

/* The statements of a text as a list; a new reference. */
static json_t *statements_json(const char *text)
{
    json_t *list = json_array();
    size_t blank, n;

    for (; *text; text += n + blank) {
        n = statement_length(text, &blank);
        if (strspn(text, " \t\r\n") < n)
            json_array_append_new(list, json_stringn(text, n - (n && text[n - 1] == '\r')));
    }
    return list;
}

/* The name of a file without folders and extension; a new reference. */
static json_t *name_json(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');

    return json_stringn(name, dot ? (size_t)(dot - name) : strlen(name));
}

/* 1 for True, 0 for False, -1 with err. */
static int read_truth(const json_t *record, const char *where, struct error *err)
{
    const char *text = json_get_string(record, "is_ambiguous", where, err);

    if (!text)
        return -1;
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
        return strcasecmp(text, "true") == 0;
    return error_set(err, EXIT_CODE_DATA, "%s: field \"is_ambiguous\": expected True or False, got %.40s", where, text);
}

json_t *ambrosia_csv_row(const json_t *record, const char *where, struct error *err)
{
    static const char *const fields[] = { "question", "ambig_question", "ambig_type" };
    const char *file = json_get_string(record, "db_file", where, err);
    int ambiguous = file ? read_truth(record, where, err) : -1;

    for (int i = 0; i < ARRAY_LEN(fields) && ambiguous >= 0; i++)
        if (!json_get_string(record, fields[i], where, err))
            ambiguous = -1;
    json_t *queries =
        ambiguous < 0 ? NULL : statements_json(json_string_value(json_object_get(record, "gold_queries")));
    if (queries && json_array_size(queries) == 0) {
        error_set(err, EXIT_CODE_DATA, "%s: field \"gold_queries\": expected SQL, got nothing", where);
        json_decref(queries);
        queries = NULL;
    }
    if (!queries)
        return NULL;
    return json_pack("{s:O*, s:o, s:O, s:b, s:O, s:O*, s:O, s:o}", "id", json_object_get(record, "id"), "db",
                     name_json(file), "question", json_object_get(record, "question"), "is_ambiguous", ambiguous,
                     "ambig_type", json_object_get(record, "ambig_type"), "split", json_object_get(record, "split"),
                     "ambig_question", json_object_get(record, "ambig_question"), "gold_queries", queries);
}

/* The number of the question of a row, or of the ambiguous question that it interprets, in its database. */
static int question_number(struct strings *questions, const json_t *row, const char *field)
{
    char *key = NULL;
    int n = asprintf(&key, "%s\x1f%s", json_string_value(json_object_get(row, "db")),
                     json_string_value(json_object_get(row, field)));

    CHECK(n >= 0, "cannot format a question");
    int number = strings_add(questions, key);
    free(key);
    return number;
}

/* The interpretation with this SQL, or NULL. Borrowed. */
static json_t *find_by_sql(const json_t *list, const char *sql)
{
    json_t *o;
    size_t i;

    json_array_foreach(list, i, o)
    {
        if (strcmp(json_string_value(json_object_get(o, "sql")), sql) == 0)
            return o;
    }
    return NULL;
}

/* The interpretations in the order of the queries, or in their own order; a new reference. */
static json_t *ordered(const json_t *list, const json_t *queries)
{
    json_t *found = json_array();

    for (size_t i = 0; i < json_array_size(queries); i++) {
        json_t *o = find_by_sql(list, json_string_value(json_array_get(queries, i)));
        if (o)
            json_array_append(found, o);
    }
    if (json_array_size(found) == json_array_size(list))
        return found;
    json_decref(found);
    return json_copy((json_t *)list);
}

/* Adds an unambiguous row to the interpretations of its question. */
static void add_interpretation(json_t *list, const json_t *row)
{
    json_array_append_new(list,
                          json_pack("{s:O, s:[O]}", "sql", json_array_get(json_object_get(row, "gold_queries"), 0),
                                    "questions", json_object_get(row, "question")));
}

void ambrosia_link(json_t *const *rows, int n)
{
    struct strings questions = { 0 };
    json_t *texts = json_array(); /* lists of interpretations by number */

    for (int i = 0; i < n; i++) {
        int k = question_number(&questions, rows[i], "ambig_question");
        if (k == (int)json_array_size(texts))
            json_array_append_new(texts, json_array());
        if (!json_is_true(json_object_get(rows[i], "is_ambiguous")))
            add_interpretation(json_array_get(texts, (size_t)k), rows[i]);
    }
    for (int i = 0; i < n; i++) {
        const json_t *queries = json_object_get(rows[i], "gold_queries");
        json_t *list = NULL;
        if (json_is_true(json_object_get(rows[i], "is_ambiguous")))
            list = json_array_get(texts, (size_t)question_number(&questions, rows[i], "ambig_question"));
        if (list && json_array_size(list) == json_array_size(queries))
            json_object_set_new(rows[i], "gold_interpretations", ordered(list, queries));
    }
    for (int i = 0; i < n; i++)
        json_object_del(rows[i], "ambig_question");
    strings_release(&questions);
    json_decref(texts);
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
