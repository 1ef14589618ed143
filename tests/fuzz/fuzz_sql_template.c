/* A schema's text, a newline, SQL: templates of both uses, plans written and read again, constraints of templates. */
#include "tests/support/fuzz.h"

#include "data/prompt/parser_text.h"
#include "data/prompt/template_constraint.h"
#include "data/schema/schema_build.h"

#include <stdlib.h>
#include <string.h>

static void check_template(const struct template_names *n, const char *sql)
{
    char *training = sql_template(n, sql, SQL_TEMPLATE_TRAINING), *use = sql_template(n, sql, SQL_TEMPLATE_INFERENCE);

    CHECK(sql_template_match(training, training) && sql_template_match(use, use), "no match with itself: %s", sql);
    free(training);
    free(use);
}

static void check_plan(const char *sql)
{
    struct sql_plan plan = sql_plan_of(sql), again, near[SQL_PLANS];
    char *text = sql_plan_text(plan);

    CHECK(plan.joins >= 0 && plan.selects >= 0, "a plan of %s for %s", text, sql);
    int n = sql_plan_neighbours(plan, near);
    CHECK(n <= SQL_PLANS && (plan.selects == 0 || n >= 3), "%d plans for %s", n, text);
    if (plan.selects > 0)
        CHECK(sql_plan_parse(&again, text, NULL, NULL) == 0 && again.joins == plan.joins &&
                  again.selects == plan.selects,
              "the plan %s is not read again", text);
    sql_plan_parse(&again, sql, NULL, NULL);
    free(text);
}

/* Boats and their crews, with a name that wants quotes. */
static void build_schema(struct schema *s)
{
    struct schema_build b;

    schema_build_init(&b, "boats");
    int boat = schema_build_table(&b, "boat", NULL), crew = schema_build_table(&b, "the {crew}", NULL);
    int id = schema_build_column(&b, boat, "id", NULL, COLUMN_NUMBER);
    schema_build_primary(&b, id);
    schema_build_column(&b, boat, "name", NULL, COLUMN_TEXT);
    schema_build_foreign_key(&b, schema_build_column(&b, crew, "boat", NULL, COLUMN_NUMBER), id);
    schema_build_finish(&b, s);
    schema_build_release(&b);
}

static void check_constraint(const struct schema *s, const char *question, const char *template)
{
    const struct template_question q = { s, question, NULL };
    struct error err = { 0 };
    json_t *c = template_constraint(&q, template, &err);

    CHECK(c || err.text[0], "refused without a word: %s", template);
    CHECK(!c || json_array_size(json_object_get(c, "alternatives")) > 0, "no alternatives: %s", template);
    json_decref(c);
}

/* SQL as a template, and the template that it has. */
static void check_constraints(const char *question, const char *sql)
{
    struct template_names names;
    struct schema s;

    build_schema(&s);
    template_names_of_schema(&names, &s);
    char *template = sql_template(&names, sql, SQL_TEMPLATE_INFERENCE), *normal = parser_normal_query(sql);
    check_constraint(&s, question, sql);
    check_constraint(&s, question, template);
    CHECK(strlen(normal) <= strlen(sql), "a longer query: %s", normal);
    free(normal);
    free(template);
    template_names_release(&names);
    schema_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *sql = fuzz_next_line(text);
    struct template_names names;
    struct error err = { 0 };

    int rc = template_names_of_text(&names, text, &err);
    CHECK(rc == 0 || err.text[0], "refused without a word: %s", text);
    check_template(&names, sql ? sql : text);
    check_plan(sql ? sql : text);
    check_constraints(text, sql ? sql : text);
    template_names_release(&names);
    free(text);
    return 0;
}
