/* A schema's text, a newline, SQL: templates of both uses, plans written and read again. */
#include "tests/support/fuzz.h"

#include "data/plan/sql_template.h"

#include <stdlib.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *sql = fuzz_next_line(text);
    struct template_names names;
    struct error err = { 0 };

    int rc = template_names_of_text(&names, text, &err);
    CHECK(rc == 0 || err.text[0], "refused without a word: %s", text);
    check_template(&names, sql ? sql : text);
    check_plan(sql ? sql : text);
    template_names_release(&names);
    free(text);
    return 0;
}
