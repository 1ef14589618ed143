#include "data/corpora/triage.h"

#include "data/base/json.h"
#include "data/base/records.h"
#include "data/base/strings.h"
#include "data/corpora/dataset.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const class_names[] = { "answerable", "ambiguous", "unanswerable", "improper" };
static const char *const corpus_names[] = { "mmsql", "triagesql", "ehrsql", "mini-interact", "practiq" };

const char *triage_class_name(enum triage_class c)
{
    return class_names[c];
}

enum triage_class triage_class_of(const char *name)
{
    int c = 0;

    while (c < TRIAGE_CLASSES && strcmp(class_names[c], name) != 0)
        c++;
    return (enum triage_class)c;
}

static const struct {
    enum triage_class class;
    const char *name;
} kinds[TRIAGE_KINDS] = {
    [KIND_ANSWERABLE] = { TRIAGE_ANSWERABLE, "answerable" },
    [KIND_SCHEMA] = { TRIAGE_AMBIGUOUS, "schema" },
    [KIND_WORDING] = { TRIAGE_AMBIGUOUS, "wording" },
    [KIND_AMBIGUOUS_VALUE] = { TRIAGE_AMBIGUOUS, "value" },
    [KIND_TIME] = { TRIAGE_AMBIGUOUS, "time" },
    [KIND_AGGREGATE] = { TRIAGE_AMBIGUOUS, "aggregate" },
    [KIND_COLUMN] = { TRIAGE_UNANSWERABLE, "column" },
    [KIND_TABLE] = { TRIAGE_UNANSWERABLE, "table" },
    [KIND_MISSING_VALUE] = { TRIAGE_UNANSWERABLE, "value" },
    [KIND_KNOWLEDGE] = { TRIAGE_UNANSWERABLE, "knowledge" },
    [KIND_REQUEST] = { TRIAGE_UNANSWERABLE, "request" },
    [KIND_IMPROPER] = { TRIAGE_IMPROPER, "improper" },
};

const char *triage_kind_name(enum triage_kind k)
{
    return kinds[k].name;
}

enum triage_class triage_kind_class(enum triage_kind k)
{
    return kinds[k].class;
}

enum triage_kind triage_kind_of(enum triage_class c, const char *name)
{
    int k = 0;

    while (k < TRIAGE_KINDS && (kinds[k].class != c || strcmp(kinds[k].name, name) != 0))
        k++;
    return (enum triage_kind)k;
}

/* The names of the class's kinds, separated by commas. */
static void kind_names(char *text, size_t size, enum triage_class c)
{
    size_t n = 0;

    for (int k = 0; k < TRIAGE_KINDS && n < size; k++)
        if (kinds[k].class == c)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", kinds[k].name);
}

int triage_kind_read(enum triage_kind *k, enum triage_class c, const json_t *record, const char *where,
                     struct error *err)
{
    char expected[80];

    *k = TRIAGE_KINDS;
    if (!json_object_get(record, "kind"))
        return 0;
    const char *name = json_get_string(record, "kind", where, err);
    if (!name)
        return -1;
    *k = triage_kind_of(c, name);
    if (*k < TRIAGE_KINDS)
        return 0;
    kind_names(expected, sizeof expected, c);
    return error_set(err, EXIT_CODE_DATA, "%s: field \"kind\": expected %s for the class %s, got \"%.60s\"", where,
                     expected, class_names[c], name);
}

struct triage_conversion {
    const struct triage_request *q;
    struct triage_counts *counts;
    struct schema_set schemas;
    int n_given; /* schemas of --schema */
    /* TriageSQL's tables and PRACTIQ's edits as JSON: contents.items[i] made schemas.schemas[n_given + i]. */
    struct strings contents;
    struct out_file out;
    int64_t records;
};

/* Writes a question; takes `more`, an object of further fields, or NULL. */
static int write_question(struct triage_conversion *c, json_t *id, const char *db_id, const char *question,
                          enum triage_class class, const char *source_class, json_t *more, struct error *err)
{
    json_t *o = json_pack("{s:o, s:s, s:s, s:s, s:s, s:s}", "id", id, "db_id", db_id, "question", question, "class",
                          class_names[class], "source", corpus_names[c->q->corpus], "source_class", source_class);

    json_object_update(o, more);
    json_decref(more);
    c->counts->of_class[class]++;
    int rc = json_write_line(&c->out, o, err);
    json_decref(o);
    return rc;
}

/* Checks that the schemas of --schema, if any, have the database. */
static int check_db(const struct triage_conversion *c, const char *db_id, const char *where, struct error *err)
{
    if (!c->q->tables || schema_find(&c->schemas, db_id))
        return 0;
    return error_set(err, EXIT_CODE_DATA, "%s: expected a database of %s, got \"%.100s\"", where, c->q->tables, db_id);
}

/* MMSQL: dialogues {"db_name", "turns": [{"isuser", "text", "type", "query"}]}. */

/* Each question repeats the earlier ones of its dialogue, so the output grows with the square of the turns. */
enum { MAX_TURNS = 1000 };

static int mmsql_class(enum triage_class *class, const json_t *turn, const char *where, struct error *err)
{
    const char *type = json_get_string(turn, "type", where, err);

    if (!type)
        return -1;
    *class = triage_class_of(type);
    if (*class == TRIAGE_CLASSES)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: field \"type\": expected answerable, ambiguous, unanswerable or improper, got \"%.60s\"",
                         where, type);
    return 0;
}

/* The SQL of the system's turn that follows turn i, or NULL. */
static const char *mmsql_reply(const json_t *turns, size_t i)
{
    const json_t *reply = json_array_get(turns, i + 1);
    const char *sql =
        json_is_true(json_object_get(reply, "isuser")) ? NULL : json_string_value(json_object_get(reply, "query"));

    return sql && strncasecmp(sql, "select", strlen("select")) == 0 ? sql : NULL;
}

static int mmsql_turn(struct triage_conversion *c, const json_t *turns, size_t i, const char *db_id, json_t *context,
                      const char *where, struct error *err)
{
    const json_t *turn = json_array_get(turns, i);
    const char *text = json_get_string(turn, "text", where, err);
    const char *sql = mmsql_reply(turns, i);
    enum triage_class class = TRIAGE_CLASSES;

    if (!text || mmsql_class(&class, turn, where, err))
        return -1;
    json_t *more = json_pack("{s:s*}", "sql", class == TRIAGE_ANSWERABLE ? sql : NULL);
    if (json_array_size(context))
        json_object_set_new(more, "context", json_copy(context));
    json_t *id = json_sprintf("%lld-%zu", (long long)c->records, i + 1);
    int rc = write_question(c, id, db_id, text, class, class_names[class], more, err);
    json_array_append_new(context, json_string(text));
    return rc;
}

/* A record_fn. */
static int mmsql_dialogue(void *user, json_t *record, const char *where, struct error *err)
{
    struct triage_conversion *c = user;
    const char *db_id = json_get_string(record, "db_name", where, err);
    const json_t *turns = db_id ? json_get_array(record, "turns", where, err) : NULL;
    json_t *context = json_array();
    int rc = turns ? check_db(c, db_id, where, err) : -1;

    c->records++;
    if (json_array_size(turns) > MAX_TURNS)
        rc = error_set(err, EXIT_CODE_DATA, "%s: field \"turns\": expected at most %d turns, got %zu", where, MAX_TURNS,
                       json_array_size(turns));
    for (size_t i = 0; i < json_array_size(turns) && rc == 0; i++) {
        char place[400];
        bool is_user;
        snprintf(place, sizeof place, "%.300s: turns[%zu]", where, i);
        rc = json_get_bool(json_array_get(turns, i), "isuser", &is_user, place, err);
        if (rc == 0 && is_user)
            rc = mmsql_turn(c, turns, i, db_id, context, place, err);
    }
    json_decref(context);
    return rc;
}

/* TriageSQL: questions {"tables": {NAME: [COLUMN]}, "databaseid", "type", "question"}. */

static int triagesql_class(enum triage_class *class, const char *type, const char *where, struct error *err)
{
    static const struct {
        const char *type;
        enum triage_class class;
    } types[] = {
        { "answerable", TRIAGE_ANSWERABLE },  { "ambiguous", TRIAGE_AMBIGUOUS },
        { "lack data", TRIAGE_UNANSWERABLE }, { "unanswerable by sql", TRIAGE_UNANSWERABLE },
        { "small talk", TRIAGE_IMPROPER },
    };

    for (int i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(types[i].type, type) == 0) {
            *class = types[i].class;
            return 0;
        }
    return error_set(
        err, EXIT_CODE_DATA,
        "%s: field \"type\": expected answerable, ambiguous, lack data, unanswerable by sql or small talk, "
        "got \"%.60s\"",
        where, type);
}

static int add_table(struct schema_build *b, const char *name, const json_t *columns, const char *where,
                     struct error *err)
{
    int table = schema_build_table(b, name, NULL);

    if (!json_is_array(columns))
        return error_set(err, EXIT_CODE_DATA, "%s: field \"tables\": expected a list of columns in \"%.100s\", got %s",
                         where, name, json_type_name(columns));
    for (size_t i = 0; i < json_array_size(columns); i++) {
        const char *column = json_string_value(json_array_get(columns, i));
        if (!column)
            return error_set(err, EXIT_CODE_DATA,
                             "%s: field \"tables\": expected names of columns in \"%.100s\", got %s", where, name,
                             json_type_name(json_array_get(columns, i)));
        schema_build_column(b, table, column, NULL, COLUMN_TEXT);
    }
    return 0;
}

enum { DB_ID_BYTES = 300 };

/* Writes the name, with a number if a schema has the name already. */
static void new_db_id(char db_id[DB_ID_BYTES], const struct triage_conversion *c, const char *name)
{
    snprintf(db_id, DB_ID_BYTES, "%.200s", name);
    for (int n = 2; schema_find(&c->schemas, db_id); n++)
        snprintf(db_id, DB_ID_BYTES, "%.200s_%d", name, n);
}

static int add_schema(struct triage_conversion *c, const char *name, json_t *tables, const char *where,
                      struct error *err)
{
    struct schema_build b;
    struct schema s;
    const char *table;
    json_t *columns;
    char db_id[DB_ID_BYTES];
    int rc = 0;

    new_db_id(db_id, c, name);
    schema_build_init(&b, db_id);
    json_object_foreach(tables, table, columns) if ((rc = add_table(&b, table, columns, where, err))) break;
    if (rc == 0) {
        schema_build_finish(&b, &s);
        rc = schema_set_add(&c->schemas, &s, err);
    }
    schema_build_release(&b);
    return rc;
}

/* The db_id of the tables, which become a schema if they are new.  Returns NULL with err. */
static const char *schema_of_tables(struct triage_conversion *c, const json_t *record, const char *where,
                                    struct error *err)
{
    const char *name = json_get_string(record, "databaseid", where, err);
    json_t *tables = name ? json_get_object(record, "tables", where, err) : NULL;
    char *text = tables ? json_text(tables, JSON_EXACT) : NULL;
    int n = c->contents.n, at = text ? strings_add(&c->contents, text) : -1;

    free(text);
    if (at < 0 || (at == n && add_schema(c, name, tables, where, err)))
        return NULL;
    return c->schemas.schemas[c->n_given + at].db_id;
}

/* A record_fn. */
static int triagesql_question(void *user, json_t *record, const char *where, struct error *err)
{
    struct triage_conversion *c = user;
    const char *type = json_get_string(record, "type", where, err);
    const char *question = type ? json_get_string(record, "question", where, err) : NULL;
    enum triage_class class = TRIAGE_CLASSES;

    c->records++;
    if (!question || triagesql_class(&class, type, where, err))
        return -1;
    const char *db_id = schema_of_tables(c, record, where, err);
    return db_id ? write_question(c, json_integer(c->records), db_id, question, class, type, NULL, err) : -1;
}

/* EHRSQL: data.json {"data": [{"id", "question"}]} and label.json {ID: SQL}. */

static int ehrsql_question(struct triage_conversion *c, const json_t *item, const json_t *labels, const char *where,
                           struct error *err)
{
    const char *id = json_get_string(item, "id", where, err);
    const char *question = id ? json_get_string(item, "question", where, err) : NULL;
    const char *label = question ? json_string_value(json_object_get(labels, id)) : NULL;

    if (!question)
        return -1;
    if (!label)
        return error_set(err, EXIT_CODE_DATA,
                         "%s: expected a label of \"%.60s\" in label.json, a statement or \"null\"", where, id);
    bool unanswerable = strcmp(label, "null") == 0;
    json_t *more = json_pack("{s:s*}", "sql", unanswerable ? NULL : label);
    return write_question(c, json_string(id), c->schemas.schemas[0].db_id, question,
                          unanswerable ? TRIAGE_UNANSWERABLE : TRIAGE_ANSWERABLE,
                          unanswerable ? "unanswerable" : "answerable", more, err);
}

static int ehrsql_read(struct triage_conversion *c, struct error *err)
{
    char *data_path = path_in(c->q->in, "data.json"), *label_path = path_in(c->q->in, "label.json");
    json_t *data = json_read_file(data_path, err), *labels = data ? json_read_file(label_path, err) : NULL;
    const json_t *list = labels ? json_get_array(data, "data", data_path, err) : NULL;
    int rc = list ? 0 : -1;

    if (list && !json_is_object(labels))
        rc = error_set(err, EXIT_CODE_DATA, "%s: expected an object of labels, got %s", label_path,
                       json_type_name(labels));
    for (size_t i = 0; i < json_array_size(list) && rc == 0; i++) {
        char where[400];
        snprintf(where, sizeof where, "%.300s: data[%zu]", data_path, i);
        rc = ehrsql_question(c, json_array_get(list, i), labels, where, err);
    }
    json_decref(data);
    json_decref(labels);
    free(data_path);
    free(label_path);
    return rc;
}

/* Mini-Interact: {"instance_id", "selected_database", "amb_user_query", "query", "user_query_ambiguity"}. */

/* The ambiguities of a task, {"term", "type"} each; NULL with err. */
static json_t *mini_ambiguities(const json_t *record, const char *where, struct error *err)
{
    const json_t *all = json_get_object(record, "user_query_ambiguity", where, err);
    const json_t *list = all ? json_get_array(all, "critical_ambiguity", where, err) : NULL;
    json_t *out = list ? json_array() : NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *a = json_array_get(list, i);
        const char *term = json_get_string(a, "term", where, err);
        if (!term) {
            json_decref(out);
            return NULL;
        }
        json_array_append_new(
            out, json_pack("{s:s, s:s*}", "term", term, "type", json_string_value(json_object_get(a, "type"))));
    }
    return out;
}

/* The name of the kind of a task with these ambiguities; NULL if there are others than those of the schema. */
static const char *mini_kind(const json_t *ambiguities)
{
    for (size_t i = 0; i < json_array_size(ambiguities); i++) {
        const char *type = json_string_value(json_object_get(json_array_get(ambiguities, i), "type"));
        if (!type || strcmp(type, "schema_linking_ambiguity") != 0)
            return NULL;
    }
    return json_array_size(ambiguities) ? triage_kind_name(KIND_SCHEMA) : NULL;
}

/* A record_fn. */
static int mini_task(void *user, json_t *record, const char *where, struct error *err)
{
    struct triage_conversion *c = user;
    const char *id = json_get_string(record, "instance_id", where, err);
    const char *db_id = id ? json_get_string(record, "selected_database", where, err) : NULL;
    const char *question = db_id ? json_get_string(record, "amb_user_query", where, err) : NULL;
    const char *clear = NULL;

    if (!question || check_db(c, db_id, where, err) ||
        (json_object_get(record, "query") && !(clear = json_get_string(record, "query", where, err))))
        return -1;
    json_t *ambiguities = mini_ambiguities(record, where, err);
    if (!ambiguities)
        return -1;
    json_t *more = json_pack("{s:s*, s:o}", "kind", mini_kind(ambiguities), "ambiguities", ambiguities);
    int rc = write_question(c, json_string(id), db_id, question, TRIAGE_AMBIGUOUS, "amb_user_query", more, err);
    if (rc == 0 && clear)
        rc = write_question(c, json_sprintf("%s-clear", id), db_id, clear, TRIAGE_ANSWERABLE, "query",
                            json_pack("{s:s}", "kind", triage_kind_name(KIND_ANSWERABLE)), err);
    return rc;
}

/* PRACTIQ: {"db_id", "ambiguousUnanswerableCategory", "schemaModification", "finalConversation": [{"USER"}], "query"}.
 */

/* Class and kind of a category.  Versions of the released program name some categories differently.  A missing join has
 * no kind: tables and columns exist. */
static int practiq_class(enum triage_class *class, enum triage_kind *kind, const char *category, const char *where,
                         struct error *err)
{
    static const struct {
        const char *opening;
        enum triage_class class;
        enum triage_kind kind;
    } openings[] = {
        { "answerable", TRIAGE_ANSWERABLE, KIND_ANSWERABLE },
        { "ambiguous_select_column", TRIAGE_AMBIGUOUS, KIND_SCHEMA },
        { "ambiguous_where_column", TRIAGE_AMBIGUOUS, KIND_AMBIGUOUS_VALUE },
        { "ambiguous_values_", TRIAGE_AMBIGUOUS, KIND_AMBIGUOUS_VALUE },
        { "ambiguous_filter_", TRIAGE_AMBIGUOUS, KIND_AGGREGATE },
        { "ambiguous_", TRIAGE_AMBIGUOUS, TRIAGE_KINDS },
        { "nonexistent_select_column", TRIAGE_UNANSWERABLE, KIND_COLUMN },
        { "nonexistent_where_column", TRIAGE_UNANSWERABLE, KIND_COLUMN },
        { "nonexistent_value", TRIAGE_UNANSWERABLE, KIND_MISSING_VALUE },
        { "nonexistent_filter_value", TRIAGE_UNANSWERABLE, KIND_MISSING_VALUE },
        { "nonexistent_", TRIAGE_UNANSWERABLE, TRIAGE_KINDS },
        { "unsupported_", TRIAGE_UNANSWERABLE, TRIAGE_KINDS },
    };

    for (int i = 0; i < ARRAY_LEN(openings); i++)
        if (strncasecmp(category, openings[i].opening, strlen(openings[i].opening)) == 0) {
            *class = openings[i].class;
            *kind = openings[i].kind;
            return 0;
        }
    return error_set(err, EXIT_CODE_DATA,
                     "%s: field \"ambiguousUnanswerableCategory\": expected answerable, Ambiguous_..., Nonexistent_... "
                     "or Unsupported_..., got \"%.60s\"",
                     where, category);
}

/* An entry {"table", "column"} of the modification; table: its number, or -1 if the schema lacks it. */
static int practiq_place(int *table, const char **column, const struct schema *s, const json_t *entry,
                         const char *where, struct error *err)
{
    const char *name = json_get_string(entry, "table", where, err);

    if (!name || !(*column = json_get_string(entry, "column", where, err)))
        return -1;
    *table = schema_table_find(s, name);
    return 0;
}

/* The field, or NULL if it is missing or null. */
static json_t *practiq_field(const json_t *o, const char *name)
{
    json_t *field = json_object_get(o, name);
    return json_is_null(field) ? NULL : field;
}

/* The list of edits of that name, or NULL without edits; -1 if it is no list. */
static int practiq_list(const json_t **list, const json_t *edits, const char *name, const char *where,
                        struct error *err)
{
    *list = practiq_field(edits, name);
    return *list && !(*list = json_get_array(edits, name, where, err)) ? -1 : 0;
}

/* Sets dropped[column] for every removed column.  Names that the schema lacks are ignored, as in the published code. */
static int practiq_removals(bool *dropped, const struct schema *s, const json_t *edits, const char *where,
                            struct error *err)
{
    static const char *const lists[] = { "removeColumn", "removeColumnLexicallyRelated",
                                         "removeColumnSemanticallyRelated" };
    const json_t *entry;
    size_t k;

    for (int i = 0; i < ARRAY_LEN(lists); i++) {
        json_array_foreach(json_object_get(edits, lists[i]), k, entry)
        {
            const char *name;
            int table;
            if (practiq_place(&table, &name, s, entry, where, err))
                return -1;
            int column = table < 0 ? -1 : schema_column_find(s, table, name);
            if (column >= 0)
                dropped[column] = true;
        }
    }
    return 0;
}

static int practiq_additions(struct schema_build *b, const struct schema *s, const json_t *edits, const char *where,
                             struct error *err)
{
    const json_t *entry;
    size_t k;

    json_array_foreach(json_object_get(edits, "addColumn"), k, entry)
    {
        const char *name, *type = json_get_string(entry, "type", where, err);
        int table;
        if (!type || practiq_place(&table, &name, s, entry, where, err))
            return -1;
        if (table >= 0)
            schema_build_column(b, table, name, NULL, column_type_of(type));
    }
    return 0;
}

/* Copies all that is not dropped. */
static void practiq_copy(struct schema_build *b, const struct schema *s, const bool *dropped)
{
    int *number = xcalloc((size_t)s->n_columns + 1, sizeof *number);

    for (int t = 0; t < s->n_tables; t++)
        schema_build_table(b, s->tables[t].name, s->tables[t].text);
    for (int i = 0; i < s->n_columns; i++) {
        const struct schema_column *from = &s->columns[i];
        if (dropped[i])
            continue;
        number[i] = schema_build_column(b, from->table, from->name, from->text, from->type);
        if (from->primary)
            schema_build_primary(b, number[i]);
    }
    for (int i = 0; i < s->n_foreign_keys; i++) {
        const struct schema_foreign_key *k = &s->foreign_keys[i];
        if (!dropped[k->from] && !dropped[k->to])
            schema_build_foreign_key(b, number[k->from], number[k->to]);
    }
    free(number);
}

static int practiq_add_schema(struct triage_conversion *c, const struct schema *s, const json_t *edits,
                              const char *where, struct error *err)
{
    bool *dropped = xcalloc((size_t)s->n_columns + 1, sizeof *dropped);
    char db_id[DB_ID_BYTES];
    struct schema_build b;
    struct schema edited;

    new_db_id(db_id, c, s->db_id);
    schema_build_init(&b, db_id);
    int rc = practiq_removals(dropped, s, edits, where, err);
    if (rc == 0) {
        practiq_copy(&b, s, dropped);
        rc = practiq_additions(&b, s, edits, where, err);
    }
    if (rc == 0) {
        schema_build_finish(&b, &edited);
        rc = schema_set_add(&c->schemas, &edited, err);
    }
    schema_build_release(&b);
    free(dropped);
    return rc;
}

/* The db_id of the question's schema.  A schema is edited once for equal edits.  Cells are not edited, because the
 * output has no rows.  Returns NULL with err. */
static const char *practiq_schema(struct triage_conversion *c, const char *db_id, const json_t *edits,
                                  const char *where, struct error *err)
{
    static const char *const kept[] = { "removeColumn", "removeColumnLexicallyRelated",
                                        "removeColumnSemanticallyRelated", "addColumn" };
    json_t *columns = json_object();
    bool edited = false;

    for (int i = 0; i < ARRAY_LEN(kept); i++) {
        const json_t *list;
        if (practiq_list(&list, edits, kept[i], where, err)) {
            json_decref(columns);
            return NULL;
        }
        edited = edited || json_array_size(list);
        json_object_set(columns, kept[i], json_object_get(edits, kept[i]));
    }
    json_object_set_new(columns, "db_id", json_string(db_id));
    char *text = edited ? json_text(columns, JSON_EXACT) : NULL;
    json_decref(columns);
    if (!text)
        return schema_find(&c->schemas, db_id)->db_id;
    int n = c->contents.n, at = strings_add(&c->contents, text);
    free(text);
    if (at == n && practiq_add_schema(c, schema_find(&c->schemas, db_id), edits, where, err))
        return NULL;
    return c->schemas.schemas[c->n_given + at].db_id;
}

/* A record_fn. */
static int practiq_question(void *user, json_t *record, const char *where, struct error *err)
{
    struct triage_conversion *c = user;
    const char *db_id = json_get_string(record, "db_id", where, err);
    const char *category = db_id ? json_get_string(record, "ambiguousUnanswerableCategory", where, err) : NULL;
    const json_t *turns = category ? json_get_array(record, "finalConversation", where, err) : NULL;
    const char *question = turns ? json_get_string(json_array_get(turns, 0), "USER", where, err) : NULL;
    const char *sql = json_string_value(json_object_get(record, "query"));
    enum triage_class class = TRIAGE_CLASSES;
    enum triage_kind kind = TRIAGE_KINDS;

    c->records++;
    if (!question || practiq_class(&class, &kind, category, where, err) || check_db(c, db_id, where, err))
        return -1;
    const json_t *edits = practiq_field(record, "schemaModification");
    if (edits && !json_get_object(record, "schemaModification", where, err))
        return -1;
    db_id = practiq_schema(c, db_id, edits, where, err);
    json_t *more = json_pack("{s:s*, s:s*}", "sql", class == TRIAGE_ANSWERABLE ? sql : NULL, "kind",
                             kind < TRIAGE_KINDS ? triage_kind_name(kind) : NULL);
    if (db_id)
        return write_question(c, json_integer(c->records), db_id, question, class, category, more, err);
    json_decref(more);
    return -1;
}

static int read_corpus(struct triage_conversion *c, struct error *err)
{
    static record_fn *const readers[] = {
        [TRIAGE_MMSQL] = mmsql_dialogue,
        [TRIAGE_TRIAGESQL] = triagesql_question,
        [TRIAGE_MINI_INTERACT] = mini_task,
        [TRIAGE_PRACTIQ] = practiq_question,
    };

    if (c->q->corpus != TRIAGE_EHRSQL)
        return records_each_as_is(c->q->in, RECORDS_AUTO, readers[c->q->corpus], c, err);
    if (c->schemas.n != 1)
        return error_set(err, EXIT_CODE_DATA, "%s: expected one schema, the database of EHRSQL, got %d", c->q->tables,
                         c->schemas.n);
    return ehrsql_read(c, err);
}

static int write_tables(const struct triage_conversion *c, const char *dir, struct error *err)
{
    struct out_file o;
    char *path = path_in(dir, "tables.json");
    int rc = out_file_open(&o, path, err);

    if (rc == 0)
        rc = dataset_write_schemas(&c->schemas, &o, err) || out_file_commit(&o, err) ? -1 : 0;
    out_file_abort(&o);
    free(path);
    return rc;
}

static int write_folder(struct triage_conversion *c, const char *dir, struct error *err)
{
    char *path = path_in(dir, "questions.jsonl");
    int rc = out_file_open(&c->out, path, err);

    if (rc == 0)
        rc = read_corpus(c, err) || out_file_commit(&c->out, err) ? -1 : 0;
    if (rc == 0 && c->schemas.n)
        rc = write_tables(c, dir, err);
    out_file_abort(&c->out);
    free(path);
    return rc;
}

int triage_convert(const struct triage_request *q, struct triage_counts *n, struct error *err)
{
    struct triage_conversion c = { .q = q, .counts = n };
    struct out_folder folder = { 0 };
    int rc = q->tables ? schema_set_open(&c.schemas, q->tables, err) : 0;

    c.n_given = c.schemas.n;
    if (rc == 0)
        rc = out_folder_open(&folder, q->out, err) || write_folder(&c, folder.tmp, err) ||
                     out_folder_commit(&folder, q->force, err)
                 ? -1
                 : 0;
    out_folder_abort(&folder);
    strings_release(&c.contents);
    schema_set_close(&c.schemas);
    return rc;
}
