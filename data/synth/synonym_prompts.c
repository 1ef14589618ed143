#include "data/synth/synonym_prompts.h"

#include "data/base/json.h"
#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/prompt/interpretation_sql.h"
#include "data/prompt/loose_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_NAME = 200 /* bytes of a name */, MAX_ANSWER_TOKENS = 2048 };

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

/* The dictionaries while they are filled, in the form of AmbiQT's files. */
struct synonym_draft {
    json_t *dictionaries[2]; /* of tables, of columns */
    struct synonym_counts *counts;
};

static struct synonym_draft draft_new(struct synonym_counts *counts)
{
    *counts = (struct synonym_counts){ 0 };
    return (struct synonym_draft){ { json_object(), json_object() }, counts };
}

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

/* Adds the names of a prompt, which it takes; NULL: none, and `why` is logged. */
static void add_names(struct synonym_draft *d, const struct synonym_prompt *p, json_t *names, const char *why)
{
    d->counts->prompts++;
    d->counts->unread += !names;
    if (names)
        set_names(d->dictionaries[p->columns], p, names);
    else
        log_warn("%s/%s/%s: %s", p->schema->db_id, p->schema->tables[p->table].name, p->columns ? "columns" : "table",
                 why);
}

/* Makes the dictionaries unless rc is -1. Frees the draft. */
static int finish_draft(struct synonym_draft *d, int rc, struct synonyms *columns, struct synonyms *tables,
                        const char *where, struct error *err)
{
    if (rc == 0)
        rc = synonyms_from_json(columns, d->dictionaries[1], where, err);
    if (rc == 0)
        rc = synonyms_from_json(tables, d->dictionaries[0], where, err);
    json_decref(d->dictionaries[0]);
    json_decref(d->dictionaries[1]);
    return rc;
}

/* Completions in a file. */

static const char unusable[] = "no completion has two usable names for each name";

struct answer_file {
    struct query_answers answers;
    struct strings used; /* ids of prompts */
    struct synonym_draft draft;
};

static int read_prompt(void *user, const struct synonym_prompt *p, struct error *err)
{
    struct answer_file *f = user;
    json_t *key = json_pack("{s:o}", "id", prompt_id(p)), *names = NULL;
    const struct text_items *texts = query_answers_find(&f->answers, key);

    (void)err;
    strings_add(&f->used, json_string_value(json_object_get(key, "id")));
    for (int i = 0; texts && i < texts->n && !names; i++)
        names = names_of(p, texts->items[i]);
    add_names(&f->draft, p, names, texts ? unusable : "no completion");
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
    struct answer_file f = { .draft = draft_new(counts) };
    int rc = query_answers_open(&f.answers, path, err);

    if (rc == 0)
        rc = each_prompt(scope, read_prompt, &f, err);
    if (rc == 0)
        rc = check_ids(&f, path, err);
    rc = finish_draft(&f.draft, rc, columns, tables, path, err);
    strings_release(&f.used);
    query_answers_release(&f.answers);
    return rc;
}

/* Completions of a server. */

struct asked_synonyms {
    struct synonym_prompt prompt;
    json_t *record; /* as synonym_prompts_write writes it */
    json_t *names;  /* NULL until a completion passes the filter */
    char *error;    /* reason why the server gave no completion, or NULL */
};

struct synonym_asker {
    struct asked_synonyms *list;
    int64_t n, cap;
};

static int list_prompt(void *user, const struct synonym_prompt *p, struct error *err)
{
    struct synonym_asker *a = user;

    (void)err;
    GROW(a->list, a->n, a->cap);
    a->list[a->n++] = (struct asked_synonyms){ .prompt = *p, .record = prompt_json(p) };
    return 0;
}

/* Takes the names or the error of a completion. */
static void take_answer(struct asked_synonyms *s, const struct endpoint_prompt *p)
{
    s->error = p->error ? xstrdup(p->error) : NULL;
    for (int i = 0; i < p->n && !s->names; i++)
        if (p->texts[i].text)
            s->names = names_of(&s->prompt, p->texts[i].text);
}

/* Whether the prompt is asked, or asked again. The client itself repeats requests that fail. */
static bool is_open(const struct asked_synonyms *s)
{
    return !s->names && !s->error;
}

/* Asks the open prompts; *left is the number of those that stay open. */
static int ask_round(struct synonym_asker *a, struct endpoint *server, int64_t seed, int64_t *left, struct error *err)
{
    const struct endpoint_sampling set = {
        .samples = 1, .max_new = MAX_ANSWER_TOKENS, .temperature = 1, .top_p = 1, .typical_p = 1, .seed = seed
    };
    struct endpoint_prompt *list = xcalloc((size_t)a->n + 1, sizeof *list);
    int64_t n = 0, at = 0;

    for (int64_t i = 0; i < a->n; i++)
        if (is_open(&a->list[i]))
            list[n++].record = a->list[i].record;
    int rc = endpoint_ask(server, &set, list, n, false, err);
    *left = 0;
    for (int64_t i = 0; i < a->n; i++)
        if (is_open(&a->list[i])) {
            take_answer(&a->list[i], &list[at]);
            endpoint_prompt_release(&list[at++]);
            *left += is_open(&a->list[i]);
        }
    free(list);
    return rc > 0 ? error_set(err, stop_exit_code(), "interrupted") : rc;
}

static int ask_all(struct synonym_asker *a, const struct endpoint_settings *settings, int64_t seed, struct error *err)
{
    struct endpoint *server = endpoint_open(settings, err);
    int rc = server ? 0 : -1;
    int64_t left = a->n;

    for (int i = 0; i < SYNONYM_TRIES && left && rc == 0; i++)
        rc = ask_round(a, server, seed + i, &left, err);
    if (server)
        endpoint_log(server);
    endpoint_close(server);
    return rc;
}

int synonym_answers_ask(struct synonyms *columns, struct synonyms *tables, const struct synonym_scope *scope,
                        const struct endpoint_settings *server, int64_t seed, struct synonym_counts *counts,
                        struct error *err)
{
    struct synonym_draft draft = draft_new(counts);
    struct synonym_asker a = { 0 };

    stop_install();
    each_prompt(scope, list_prompt, &a, err);
    int rc = ask_all(&a, server, seed, err);
    for (int64_t i = 0; i < a.n; i++) {
        struct asked_synonyms *s = &a.list[i];
        if (rc == 0)
            add_names(&draft, &s->prompt, json_incref(s->names), s->error ? s->error : unusable);
        json_decref(s->names);
        json_decref(s->record);
        free(s->error);
    }
    free(a.list);
    return finish_draft(&draft, rc, columns, tables, server->url, err);
}
