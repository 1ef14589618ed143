/* Templates compiled for questions: what they allow, what SQLite says of it, and what is refused. */
#include "tests/support/explain.h"
#include "tests/support/hostile_schemas.h"
#include "tests/support/support.h"

#include "data/corpora/ambiqt_text.h"
#include "data/corpora/spider.h"
#include "data/prompt/sql_template.h"
#include "data/prompt/template_constraint.h"
#include "kernels/rng.h"
#include "models/engine/constraint_form.h"

#include <stdlib.h>
#include <string.h>

/* How many bytes of sql a text of a slot takes, 0 when it is another; strings may be in either quotes. */
static size_t takes(const struct slot_texts *l, const char *text, const char *sql)
{
    bool string = strcmp(l->name, "string") == 0 || strcmp(l->name, "pattern") == 0;
    size_t n = strlen(text);

    if (string && (*sql == '"' || *sql == '\''))
        return strncmp(text + 1, sql + 1, n - 2) == 0 && sql[n - 1] == *sql ? n : 0;
    return strncmp(text, sql, n) == 0 ? n : 0;
}

/* Whether the parts from i on can be the rest of a statement. */
static bool allows(const struct constraint_form *f, int i, const char *sql)
{
    bool end = i == f->n_parts || (i && f->parts[i].opens), found = false;

    if (end)
        return !*sql;
    const struct form_part *p = f->parts + i;
    if (p->list < 0)
        return strncmp(p->text, sql, p->length) == 0 && allows(f, i + 1, sql + p->length);
    const struct slot_texts *l = f->lists + p->list;
    for (int64_t k = 0; k < l->count && !found; k++) {
        size_t n = takes(l, json_string_value(json_array_get(l->texts, (size_t)k)), sql);
        found = n && allows(f, i + 1, sql + n);
    }
    return found;
}

static bool constraint_allows(const json_t *constraint, const char *sql)
{
    const json_t *alternative;
    bool found = false;
    size_t i;

    json_array_foreach(json_object_get(constraint, "alternatives"), i, alternative)
    {
        struct constraint_form f;
        struct error err = { 0 };
        if (constraint_form_read(&f, alternative, "alternative", &err))
            fail_msg("%s", err.text);
        found = found || allows(&f, 0, sql);
        constraint_form_release(&f);
    }
    return found;
}

/* A database in memory. */
struct world {
    char *dir;
    sqlite3 *db;
    struct schema_set schemas;
};

static void world_open(struct world *w, const char *script)
{
    w->dir = test_dir_new();
    w->db = explain_open(NULL, script);
    explain_schema(&w->schemas, w->db, w->dir);
}

static void world_close(struct world *w)
{
    schema_set_close(&w->schemas);
    sqlite3_close(w->db);
    test_dir_remove(w->dir);
}

static const char singers[] =
    "CREATE TABLE singer(id INTEGER PRIMARY KEY, name TEXT, age INT, country TEXT);"
    "CREATE TABLE concert(id INTEGER PRIMARY KEY, year INT, singer_id INT REFERENCES singer(id));"
    "CREATE TABLE ticket(concert_id INT REFERENCES concert(id), price INT);";

static json_t *compile(const struct world *w, const char *question, const char *template, struct error *err)
{
    const struct template_question q = { w->schemas.schemas, question, NULL };
    return template_constraint(&q, template, err);
}

/* The statements, parted by newlines, that a template allows and those that it does not. */
static void check(const struct world *w, const char *template, const char *const *allowed, const char *const * not )
{
    struct error err = { 0 };
    json_t *c = compile(w, "Which singers of 'Île de Ré' are older than twenty, 20, 3.5 or two?", template, &err);

    if (!c)
        fail_msg("%s", err.text);
    for (; *allowed; allowed++)
        if (!constraint_allows(c, *allowed))
            fail_msg("%s does not allow %s", template, *allowed);
    for (; *not ; not ++)
        if (constraint_allows(c, *not ))
            fail_msg("%s allows %s", template, *not );
    json_decref(c);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void columns_belong_to_their_tables(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w, singers);
    check(&w, "select column from table where column > number",
          LIST("select name from singer where age > 20", "select year from concert where id > 2",
               "select name from singer where age > 3.5"),
          LIST("select year from singer where age > 20", "select name from singer where age > 7",
               "select * from concert where id > 20 ", "select t1.name from singer where age > 20"));
    check(&w, "select column from table", LIST("select * from ticket"), LIST("select id from ticket"));
    check(&w, "select count(column), max(column) from table where column = string",
          LIST("select count(*), max(age) from singer where country = \"Île de Ré\"",
               "select count(id), max(age) from singer where country = 'singers of'"),
          LIST("select count(*), max(*) from singer where country = \"Ré\"",
               "select count(*), max(age) from singer where country = \"Rhône\""));
    check(&w, "select column from table where column like string limit number",
          LIST("select name from singer where name like '%older%' limit 3",
               "select name from singer where name like \"Older%\" limit 1"),
          LIST("select name from singer where name like '_older' limit 1"));
    world_close(&w);
}

/* Also where both tables refer to a third one. */
static void joins_go_along_whole_keys(void **state)
{
    static const char script[] =
        "CREATE TABLE section(course TEXT, term TEXT, room TEXT, PRIMARY KEY(course, term));"
        "CREATE TABLE takes(who TEXT, code TEXT, season TEXT, FOREIGN KEY(code, season) REFERENCES section);"
        "CREATE TABLE teaches(tutor TEXT, lesson TEXT, half TEXT, FOREIGN KEY(lesson, half) REFERENCES section);";
    struct world w = { 0 };

    (void)state;
    world_open(&w, script);
    check(&w, "select column from table join table on column = column",
          LIST("select room from takes join section on code = course and season = term",
               "select room from takes join section on course = code and term = season",
               "select who from takes join teaches on code = lesson and season = half"),
          LIST("select room from takes join section on code = course",
               "select room from takes join section on season = term",
               "select room from takes join section on code = term and season = course",
               "select who from takes join teaches on code = lesson"));
    check(&w, "select column from table as t1 join table as t2 on column = column and column = column",
          LIST("select room from takes as t1 join section as t2 on t1.code = t2.course and t1.season = t2.term"),
          LIST("select room from takes as t1 join section as t2 on t1.code = t2.term and t1.season = t2.term"));
    world_close(&w);
}

static void joins_go_along_keys(void **state)
{
    struct world w = { 0 };

    (void)state;
    world_open(&w, singers);
    check(&w, "select column, column from table as t1 join table as t2 on column = column",
          LIST("select t1.name, t2.year from singer as t1 join concert as t2 on t1.id = t2.singer_id",
               "select t2.price, t1.id from concert as t1 join ticket as t2 on t2.concert_id = t1.id"),
          LIST("select t1.name, t2.price from singer as t1 join ticket as t2 on t1.id = t2.concert_id",
               "select t1.name, t2.year from concert as t1 join singer as t2 on t1.singer_id = t2.id",
               "select t1.name, t2.year from singer as t1 join concert as t2 on t1.age = t2.year"));
    check(
        &w, "select column from table as t1 join table as t2 on column = column join table as t3 on column = column",
        LIST("select t1.name from singer as t1 join concert as t2 on t1.id = t2.singer_id join ticket as t3 on t2.id = "
             "t3.concert_id",
             "select t3.name from ticket as t1 join concert as t2 on t1.concert_id = t2.id join singer as t3 on "
             "t2.singer_id = t3.id"),
        LIST("select t1.name from singer as t1 join concert as t2 on t1.id = t2.singer_id join ticket as t3 on t3.id = "
             "t2.concert_id"));
    check(
        &w, "select column from table where column not in (select column from table) union select column from table",
        LIST("select name from singer where id not in (select singer_id from concert) union select price from ticket"),
        LIST("select name from singer where id not in (select * from concert) union select price from ticket",
             "select name from singer where id not in (select name from concert) union select price from ticket"));
    world_close(&w);
}

static void bad_templates_say_why(void **state)
{
    static const char *const bad[][2] = {
        { "", "expected a SELECT" },
        { "column", "\"column\" at byte 0 is outside a SELECT" },
        { "select table from table", "no columns of the schema fit" },
        { "from table", "\"table\" at byte 5 is outside a SELECT" },
        { "select column from", "SELECT 1 has no table" },
        { "select column from table where", "template, as" },
        { "select column from table where column =", "template, as" },
        { "select column from table where count(column) > number", "template, as" },
        { "select column from table union select column, column from table", "template, as" },
        { "select colum from table", "\"colum\" is neither SQL nor" },
        { "select boat.name from table", "\"boat.name\" is not a column" },
        { "select column from table where column = 'x'", "unexpected '" },
        { "select column from table; drop table", "unexpected ;" },
        { "select count(column from table", "parenthesis is not closed" },
        { "select column) from table", "unmatched )" },
        { "select column, column from (select column from table)", "belongs to a SELECT in FROM" },
        { "select column from table union select column from table order by column", "ORDER BY after" },
        { "select column from table as t1 join table as t2 on column = column join table as t3 on column = column join "
          "table as t4 on column = column join table as t5 on column = column join table as t6 on column = column join "
          "table as t7 on column = column join table as t8 on column = column join table as t9 on column = column",
          "at most 8 tables" },
    };
    struct world w = { 0 };

    (void)state;
    world_open(&w, singers);
    for (int i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = { 0 };
        if (compile(&w, "q", bad[i][0], &err))
            fail_msg("%s was taken", bad[i][0]);
        assert_int_equal(err.code, EXIT_CODE_DATA);
        assert_error(err, "template", bad[i][1]);
    }
    world_close(&w);
}

/* One of the statements that an alternative allows; the caller frees. */
static char *draw(const json_t *alternative, struct rng *rng)
{
    struct constraint_form f;
    struct error err = { 0 };
    char *sql = NULL;
    size_t size;
    FILE *out = open_memstream(&sql, &size);

    if (constraint_form_read(&f, alternative, "alternative", &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < f.n_parts; i++) {
        const struct form_part *p = f.parts + i;
        const struct slot_texts *l = f.lists + p->list;
        if (p->list < 0)
            fwrite(p->text, 1, p->length, out);
        else
            fputs(json_string_value(json_array_get(l->texts, rng_below(rng, (uint32_t)l->count))), out);
    }
    fclose(out);
    constraint_form_release(&f);
    return sql;
}

static void check_drawn(const struct world *w, const json_t *constraint, struct rng *rng)
{
    const json_t *alternative;
    size_t i;

    json_array_foreach(json_object_get(constraint, "alternatives"), i, alternative)
    {
        sqlite3_stmt *statement = NULL;
        char *sql = draw(alternative, rng);
        if (sqlite3_prepare_v2(w->db, sql, -1, &statement, NULL) != SQLITE_OK)
            fail_msg("%s: %s", sqlite3_errmsg(w->db), sql);
        sqlite3_finalize(statement);
        free(sql);
    }
}

static void hostile_schemas_give_statements(void **state)
{
    struct rng rng = { 7, 0 };
    int compiled = 0;

    (void)state;
    for (int i = 0; i < HOSTILE_SCHEMAS; i++) {
        char *script = hostile_script(i);
        struct world w = { 0 };
        world_open(&w, script);
        for (int k = 0; k < HOSTILE_TEMPLATES; k++) {
            struct error err = { 0 };
            json_t *c = compile(&w, hostile_question, hostile_templates[k], &err);
            if (!c && strncmp(err.text, "template: no tables of the schema fit", 37) != 0)
                fail_msg("schema %d, %s: %s", i, hostile_templates[k], err.text);
            compiled += c != NULL;
            for (int draws = 0; c && draws < 8; draws++)
                check_drawn(&w, c, &rng);
            json_decref(c);
        }
        world_close(&w);
        free(script);
    }
    assert_true(compiled >= 160); /* without keys nothing joins */
}

/* The best of many choices stay: tables that the question names. */
static void alternatives_are_bounded(void **state)
{
    char *script = NULL;
    size_t size;
    FILE *out = open_memstream(&script, &size);
    struct error err = { 0 };
    struct world w = { 0 };

    (void)state;
    for (int i = 0; i < 60; i++)
        fprintf(out, "CREATE TABLE box_%c%c(id INT);", 'a' + i % 26, 'a' + i / 26);
    fputs("CREATE TABLE pear(id INT);", out);
    fclose(out);
    world_open(&w, script);
    json_t *c =
        compile(&w, "How many pears?", "select column from table where column in (select column from table)", &err);
    assert_int_equal(json_array_size(json_object_get(c, "alternatives")), TEMPLATE_ALTERNATIVES);
    assert_true(constraint_allows(c, "select id from pear where id in (select id from box_ba)"));
    assert_true(constraint_allows(c, "select id from box_aa where id in (select id from pear)"));
    json_decref(c);
    world_close(&w);
    free(script);
}

/* How many statements of Spider's dev questions their own templates allow; values: of the databases. */
static int count_allowed(const struct schema_set *schemas, const struct spider_corpus *dev, bool with_values)
{
    struct column_values values = { 0 };
    const struct schema *have = NULL;
    struct error err = { 0 };
    int allowed = 0;

    for (int i = 0; i < dev->n; i++) {
        const struct schema *s = schema_find(schemas, dev->items[i].db_id);
        struct template_names names;
        if (with_values && s != have) {
            char name[256];
            snprintf(name, sizeof name, "data/spider/db/%s.sqlite", s->db_id);
            column_values_release(&values);
            assert_int_equal(column_values_read(&values, s, test_shared(name), &err), 0);
            have = s;
        }
        const struct template_question q = { s, dev->items[i].question, have ? &values : NULL };
        template_names_of_schema(&names, s);
        char *normal = ambiqt_normalize(dev->items[i].query), *sql = text_replace(normal, " in(", " in (");
        char *template = sql_template(&names, sql, SQL_TEMPLATE_INFERENCE);
        json_t *c = template_constraint(&q, template, &err);
        allowed += c && constraint_allows(c, sql);
        json_decref(c);
        free(template);
        free(sql);
        free(normal);
        template_names_release(&names);
    }
    column_values_release(&values);
    return allowed;
}

/* The lost statements hold strings and numbers that the question does not name; most are mistakes in the questions. */
static void gold_of_spider_is_allowed(void **state)
{
    const char *tables = test_shared("data/spider/tables.json");
    struct schema_set schemas = { 0 };
    struct spider_corpus dev;
    struct error err = { 0 };

    (void)state;
    if (!tables)
        skip();
    assert_int_equal(schema_set_open(&schemas, tables, &err), 0);
    assert_int_equal(spider_read(&dev, test_shared("data/spider/dev.json"), &err), 0);
    assert_int_equal(dev.n, 1034);
    assert_int_equal(count_allowed(&schemas, &dev, false), 976);
    assert_int_equal(count_allowed(&schemas, &dev, true), 1017);
    schema_set_close(&schemas);
    spider_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_belong_to_their_tables),  cmocka_unit_test(joins_go_along_keys),
        cmocka_unit_test(joins_go_along_whole_keys),       cmocka_unit_test(bad_templates_say_why),
        cmocka_unit_test(hostile_schemas_give_statements), cmocka_unit_test(alternatives_are_bounded),
        cmocka_unit_test(gold_of_spider_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
