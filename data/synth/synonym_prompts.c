#include "data/synth/synonym_prompts.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/prompt/interpretation_sql.h"
#include "data/prompt/loose_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_NAME = 200 }; /* bytes of a name */

static const char columns_task[] =
    "You are a helpful assistant that assists the user in deciding alternate names for their tables' columns in an SQL "
    "database.";
static const char columns_example[] =
    "The database with database ID \"ship_mission\" has a table called \"mission\". This table has columns with the "
    "following names:\n"
    "\"Mission_ID\" , \"Ship_ID\" , \"Code\" , \"Launched_Year\" , \"Location\" , \"Speed_knots\" , \"Fate\"\n";
static const char columns_example_answer[] = "{\n"
                                             "    \"Mission_ID\": [\"Operation_ID\", \"Task_ID\"],\n"
                                             "    \"Ship_ID\": [\"Vessel_ID\", \"Craft_ID\"],\n"
                                             "    \"Code\": [\"Number\", \"Identifier\"],\n"
                                             "    \"Launched_Year\": [\"Inaugration_Year\", \"Start_Year\"],\n"
                                             "    \"Location\": [\"Position\", \"Place\"],\n"
                                             "    \"Speed_knots\": [\"Velocity_knots\", \"Movement_rate_knots\"],\n"
                                             "    \"Fate\": [\"Destiny\", \"Final_status\"]\n"
                                             "}";
static const char columns_request[] =
    "Give me two alternate names for each column. Format your output as a json snippet with keys corresponding to "
    "column names. Do not print any additional information, formatting, explanation or notes.";

static const char table_task[] =
    "You are a helpful assistant that assists the user in deciding alternate names for their tables in an SQL "
    "database.";
static const char table_example[] =
    "The database with database ID \"orchestra\" currently has tables with the names \"conductor\", \"orchestra\", "
    "\"performance\", \"show\". Give me two alternate names for the table \"conductor\".";
static const char table_example_answer[] = "[\"director\", \"maestro\"]";
static const char table_request[] =
    " Print your output as a python list. Do not print any additional information, formatting, explanation or notes.";

/* A prompt: one table of a schema, and whether its columns are asked for. */
struct synonym_prompt {
    const struct schema *schema;
    int table;
    bool columns;
};

/* The text that fn writes; the caller frees. */
static char *write_text(void (*fn)(FILE *f, const struct synonym_prompt *p), const struct synonym_prompt *p)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    CHECK(f, "no memory for a prompt");
    fn(f, p);
    CHECK(fclose(f) == 0, "no memory for a prompt");
    return text;
}

static void ask_columns(FILE *f, const struct synonym_prompt *p)
{
    const struct schema_table *table = &p->schema->tables[p->table];

    fprintf(f,
            "The database with database ID \"%s\" has a table called \"%s\". This table has columns with the following "
            "names:\n",
            p->schema->db_id, table->name);
    for (int i = 0; i < table->n_columns; i++)
        fprintf(f, "%s\"%s\"", i ? ", " : "", p->schema->columns[table->first_column + i].name);
    fprintf(f, "\n%s", columns_request);
}

static void ask_table(FILE *f, const struct synonym_prompt *p)
{
    const struct schema *s = p->schema;

    fprintf(f, "The database with database ID \"%s\" currently has tables with the names ", s->db_id);
    for (int t = 0; t < s->n_tables; t++)
        fprintf(f, "%s\"%s\"", t ? ", " : "", s->tables[t].name);
    fprintf(f, ". Give me two alternate names for the table \"%s\".%s", s->tables[p->table].name, table_request);
}

/* Two texts one after another; the caller frees. */
static char *joined(const char *a, const char *b)
{
    char *text = NULL;
    CHECK(asprintf(&text, "%s%s", a, b) >= 0, "no memory for a prompt");
    return text;
}

static json_t *prompt_id(const struct synonym_prompt *p)
{
    return json_sprintf("%s/%s/%s", p->schema->db_id, p->schema->tables[p->table].name,
                        p->columns ? "columns" : "table");
}

static json_t *prompt_json(const struct synonym_prompt *p)
{
    char *asked = write_text(p->columns ? ask_columns : ask_table, p);
    char *example = p->columns ? joined(columns_example, columns_request) : joined(table_example, table_request);
    json_t *o = json_pack("{s:o, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}", "id", prompt_id(p), "messages",
                          "role", "system", "content", p->columns ? columns_task : table_task, "role", "user",
                          "content", example, "role", "assistant", "content",
                          p->columns ? columns_example_answer : table_example_answer, "role", "user", "content", asked);

    free(example);
    free(asked);
    return o;
}

/* Calls `each` for the prompts of the scope. -1 ends it. */
typedef int prompt_fn(void *user, const struct synonym_prompt *p, struct error *err);

static int each_prompt(const struct synonym_scope *scope, prompt_fn *each, void *user, struct error *err)
{
    int rc = 0;

    for (int i = 0; i < scope->schemas->n; i++) {
        const struct schema *s = &scope->schemas->schemas[i];
        for (int t = 0; t < s->n_tables && scope->used[i] && rc == 0; t++) {
            if (!schema_table_is_stored(s, t) || s->tables[t].n_columns == 0)
                continue;
            if (scope->columns)
                rc = each(user, &(struct synonym_prompt){ s, t, true }, err);
            if (rc == 0 && scope->tables)
                rc = each(user, &(struct synonym_prompt){ s, t, false }, err);
        }
    }
    return rc;
}

struct prompt_file {
    struct out_file out;
    int64_t n;
};

static int write_prompt(void *user, const struct synonym_prompt *p, struct error *err)
{
    struct prompt_file *f = user;
    json_t *o = prompt_json(p);
    int rc = json_write_line(&f->out, o, err);

    json_decref(o);
    f->n++;
    return rc;
}

int synonym_prompts_write(const struct synonym_scope *scope, const char *out, int64_t *n, struct error *err)
{
    struct prompt_file f = { 0 };
    int rc = out_file_open(&f.out, out, err);

    if (rc == 0)
        rc = each_prompt(scope, write_prompt, &f, err);
    if (rc == 0)
        rc = out_file_commit(&f.out, err);
    out_file_abort(&f.out);
    *n = f.n;
    return rc;
}

/* The list or object of a completion, or NULL; a new reference. */
static json_t *answer_json(const char *answer, bool object)
{
    char *text = output_answer(answer);
    const char *at = strchr(text, object ? '{' : '[');
    struct statement_reader reader;
    json_t *value = NULL;
    size_t used;

    if (at) {
        statement_reader_init(&reader, text);
        value = loose_json(passage_of(at), &reader, &used);
        statement_reader_release(&reader);
    }
    free(text);
    if (value && (object ? json_is_object(value) : json_is_array(value)))
        return value;
    json_decref(value);
    return NULL;
}

static bool is_name(const json_t *value, const char *forbidden)
{
    const char *name = json_string_value(value);
    size_t n = json_string_length(value);

    if (!name || n == 0 || n > MAX_NAME || strlen(name) != n || name[strcspn(name, forbidden)])
        return false;
    for (; *name; name++)
        if ((unsigned char)*name < ' ')
            return false;
    return true;
}

/* Two good names for `old`, a new reference, or NULL. */
static json_t *pair_of(const json_t *list, const char *old, const char *forbidden)
{
    const json_t *a = json_array_get(list, 0), *b = json_array_get(list, 1);

    if (!is_name(a, forbidden) || !is_name(b, forbidden) ||
        strcasecmp(json_string_value(a), json_string_value(b)) == 0 || strcasecmp(json_string_value(a), old) == 0 ||
        strcasecmp(json_string_value(b), old) == 0)
        return NULL;
    return json_pack("[O, O]", a, b);
}

/* The names of all columns, or of the table, in one completion; NULL if the filter rejects it. */
static json_t *names_of(const struct synonym_prompt *p, const char *answer)
{
    const struct schema_table *table = &p->schema->tables[p->table];
    json_t *value = answer_json(answer, p->columns), *names = p->columns ? json_object() : NULL;

    if (!p->columns)
        names = pair_of(value, table->name, " '\"");
    for (int i = 0; i < table->n_columns && p->columns && names; i++) {
        const char *column = p->schema->columns[table->first_column + i].name;
        json_t *pair = pair_of(json_object_get(value, column), column, "");
        if (pair) {
            json_object_set_new(names, column, pair);
        } else {
            json_decref(names);
            names = NULL;
        }
    }
    json_decref(value);
    return names;
}

/* The dictionaries while they are read, in the form of AmbiQT's files. */
struct answer_file {
    struct query_answers answers;
    json_t *dictionaries[2]; /* of tables, of columns */
    struct strings used;     /* ids of prompts */
    struct synonym_counts *counts;
};

/* Sets all[db][table]; takes the value. */
static void set_names(json_t *all, const struct synonym_prompt *p, json_t *names)
{
    json_t *tables = json_object_get(all, p->schema->db_id);

    if (!tables) {
        tables = json_object();
        json_object_set_new(all, p->schema->db_id, tables);
    }
    json_object_set_new(tables, p->schema->tables[p->table].name, names);
}

static int read_prompt(void *user, const struct synonym_prompt *p, struct error *err)
{
    struct answer_file *f = user;
    json_t *key = json_pack("{s:o}", "id", prompt_id(p)), *names = NULL;
    const struct text_items *texts = query_answers_find(&f->answers, key);
    const char *id = json_string_value(json_object_get(key, "id"));

    (void)err;
    strings_add(&f->used, id);
    for (int i = 0; texts && i < texts->n && !names; i++)
        names = names_of(p, texts->items[i]);
    f->counts->prompts++;
    f->counts->unread += !names;
    if (names)
        set_names(f->dictionaries[p->columns], p, names);
    else
        log_warn("%s: %s", id, texts ? "no completion has two usable names for each name" : "no completion");
    json_decref(key);
    return 0;
}

/* Refuses completions of other prompts. */
static int check_ids(const struct answer_file *f, const char *path, struct error *err)
{
    for (int i = 0; i < f->answers.ids.n; i++)
        if (strings_find(&f->used, f->answers.ids.items[i]) < 0)
            return error_set(err, EXIT_CODE_DATA, "%s: field \"id\": expected the id of a prompt, got \"%.200s\"", path,
                             f->answers.ids.items[i]);
    return 0;
}

int synonym_answers_read(struct synonyms *columns, struct synonyms *tables, const struct synonym_scope *scope,
                         const char *path, struct synonym_counts *counts, struct error *err)
{
    struct answer_file f = { .dictionaries = { json_object(), json_object() }, .counts = counts };
    int rc = query_answers_open(&f.answers, path, err);

    *counts = (struct synonym_counts){ 0 };
    if (rc == 0)
        rc = each_prompt(scope, read_prompt, &f, err);
    if (rc == 0)
        rc = check_ids(&f, path, err);
    if (rc == 0)
        rc = synonyms_from_json(columns, f.dictionaries[1], path, err);
    if (rc == 0)
        rc = synonyms_from_json(tables, f.dictionaries[0], path, err);
    json_decref(f.dictionaries[0]);
    json_decref(f.dictionaries[1]);
    strings_release(&f.used);
    query_answers_release(&f.answers);
    return rc;
}
